// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations (RFC 6062) between the shards, which decide, and the stream threads, which own
// the sockets: orders go down, reports about peers go up.
#pragma once

#include "stream.h"

#define RELAY_TCP_ADMITS 64 // in a ring down, in addition to media: orders to admit a peer

struct conf;
struct rte_mbuf;
struct turn_side;
struct turn_view;
struct worker;

// Gives the order of a request, and its answers, to the thread of the client of v, whose request is
// in m. Consumes the packet.
void relay_tcp_order(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct turn_side *side);
// Handle a message from a thread: MBUF_META_ATTEMPT, MBUF_META_UNOPENED. Both consume the packet.
void relay_tcp_attempted(struct worker *w, struct rte_mbuf *m);
void relay_tcp_not_opened(struct worker *w, struct rte_mbuf *m);

// Configuration of lib/stream for TCP allocations.
struct stream_relay relay_tcp_config(const struct conf *c);
extern const struct stream_relay_ops relay_tcp_ops; // ctx is the struct dp
// Gives an order to admit a peer to the thread of a connection. False if there is no room; the
// caller keeps the packet.
bool relay_tcp_admit(struct worker *w, struct rte_mbuf *m, uint64_t conn);
