// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations (RFC 6062) between the shards, which decide, and the stream threads, which own
// the sockets: orders go down, reports about peers go up.
#pragma once

#include "stream.h"

struct conf;
struct rte_mbuf;
struct turn_side;
struct turn_view;
struct worker;

// Gives the order of a request, and its answers, to the thread of the client of v, whose request is
// in m. Consumes the packet.
void relay_tcp_order(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct turn_side *side);
// Handles a message from a thread: MBUF_META_ATTEMPT or MBUF_META_UNOPENED. Consumes the packet.
void relay_tcp_from_thread(struct worker *w, struct rte_mbuf *m);

// Configuration of lib/stream for TCP allocations.
struct stream_relay relay_tcp_config(const struct conf *c);

// Callbacks of struct stream_ops.
void relay_tcp_attempt(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_attempt *a);
void relay_tcp_unopened(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_place *p);
void relay_tcp_device(void *ctx, const struct addr *a, char name[STREAM_DEVICE_LEN]);
bool relay_tcp_lives(void *ctx, unsigned int w, const struct stream_place *p);
bool relay_tcp_may_be_peer(void *ctx, uint8_t realm, const struct endpoint *peer);
uint32_t relay_tcp_allow(void *ctx, const struct stream_flow *f, uint32_t want);
bool relay_tcp_relayed(void *ctx, const struct stream_flow *f, uint32_t allowed, uint32_t bytes);
void relay_tcp_counted(void *ctx, unsigned int w, const struct stream_place *p, uint32_t n);
