// SPDX-License-Identifier: BSD-3-Clause
// fragments.c: fragments received, and what they make together.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct dp;
struct net_frame;
struct rte_mbuf;
struct rte_mempool;
struct worker;

// Makes the pool of buffers for reassembled datagrams; *pool is NULL where fragments.flows is 0. 0
// or -ENOMEM.
int fragments_pool(const struct conf *c, int socket, struct rte_mempool **pool);
// Makes what a worker needs for reassembly, if there is such a pool. 0 or -ENOMEM.
int fragments_create(struct worker *w, int socket);
void fragments_free(struct worker *w);
// Bytes of memory that pool and workers take.
size_t fragments_bytes(const struct conf *c);
// Takes a frame about which net_frame_parse has said NET_DROP_FRAGMENT; f is as that has left it.
// Returns the frame that it has completed, of plain UDP, as if it had come so; the caller's. NULL:
// none.
struct rte_mbuf *fragments_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Once a millisecond.
void fragments_tick(struct worker *w);
// When fragments_tick has something to do next, as things are now; UINT64_MAX: never.
uint64_t fragments_next_ms(const struct worker *w);
// Fragments that wait for others.
uint32_t fragments_held(const struct worker *w);
// The worker has stopped: drops what it keeps.
void fragments_drain(struct worker *w);
