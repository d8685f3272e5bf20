// SPDX-License-Identifier: BSD-3-Clause
// Reassembles received fragments.
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

// Makes the pool of buffers for reassembled datagrams; *pool is NULL if fragments.flows is 0.
// Returns 0 or -ENOMEM.
int fragments_pool(const struct conf *c, int socket, struct rte_mempool **pool);
// Makes a worker's state for reassembly, if there is such a pool. Returns 0 or -ENOMEM.
int fragments_create(struct worker *w, int socket);
void fragments_free(struct worker *w);
// Bytes of memory for pool and workers.
size_t fragments_bytes(const struct conf *c);
// Consumes a frame for which net_frame_parse has returned NET_DROP_FRAGMENT and filled in f. If the
// fragment completes a datagram, returns the datagram as a plain UDP frame, as if it had come in
// whole; it belongs to the caller. Otherwise returns NULL.
struct rte_mbuf *fragments_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Call it once a millisecond.
void fragments_tick(struct worker *w);
// Next time at which fragments_tick has work, given the current state; UINT64_MAX: never.
uint64_t fragments_next_ms(const struct worker *w);
// Number of fragments that wait for others.
uint32_t fragments_held(const struct worker *w);
// Drops all kept fragments, after the worker has stopped.
void fragments_drain(struct worker *w);
