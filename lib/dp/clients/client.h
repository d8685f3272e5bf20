// SPDX-License-Identifier: BSD-3-Clause
// Access to a client of any transport: UDP, a stream (TCP, TLS) or DTLS. Everything that a worker
// sends to a client goes through here, and only here its transport is looked up.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "clients/dtls_clients.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "dp_view.h"
#include "net.h"
#include "turn.h"
#include "turn_config.h"

struct rewrite;
struct rewrite_route;
struct worker;

enum client_transport { CLIENT_UDP, CLIENT_STREAM, CLIENT_DTLS };

// Transport of the clients of a listener.
static inline enum client_transport client_transport_of(const struct turn_listener *l)
{
	if (l->transport == TURN_OVER_DTLS)
		return CLIENT_DTLS;
	return turn_listener_is_stream(l) ? CLIENT_STREAM : CLIENT_UDP;
}

// True for the view of a client's message over a stream.
static inline bool client_is_stream(const struct turn_view *v)
{
	return (v->flags & DP_STREAM) != 0;
}

// True if the client of a view has proved its address: it has a connection or a session.
static inline bool client_is_connected(const struct turn_view *v)
{
	return (v->flags & (DP_STREAM | DP_DTLS)) != 0;
}

// True if client_take has to look at a datagram that no line vouches for.
static inline bool client_concerns(const struct worker *w, const struct turn_view *v)
{
	return sessions_concern(w, v);
}

// Consumes a datagram for which client_concerns is true, if it must be decrypted. False if it is
// not encrypted; the caller keeps it. may_wait: false for datagrams from the backlog.
static inline bool client_take(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, bool may_wait)
{
	return dtls_clients_take(w, m, v, may_wait);
}

// Fills f for the datagram of a view as net_frame_parse would; a message over a stream is described
// as if it had come in one. True for a message over a stream, which has no old checksum to update.
static inline bool client_describe(
	const struct rte_mbuf *m, const struct turn_view *v, struct net_frame *f)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	if (unlikely(client_is_stream(v)))
		streams_describe(m, v, f);
	else
		net_frame_describe(data, (uint16_t)(v->data - data), v->len, f);
	return client_is_stream(v);
}

// Answers request m of the client of v with len bytes, which are outside m. Consumes the packet.
void client_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len);
// Sends a peer's datagram to the client of the live allocation v->slot: front, off, len and pad of
// r. If the client has no stream it goes along route->path. Consumes the packet.
void client_forward(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_route *route, struct rewrite *r);
// Sends a message of len bytes, which are outside m and answer no request, to the client of a live
// allocation. It takes the place of m. Consumes the packet.
void client_indicate(
	struct worker *w, struct rte_mbuf *m, uint32_t slot, const uint8_t *message, uint16_t len);
// Call it when the client of an allocation has moved to the connection or session `stream`, or to
// UDP (0). Callback turn_shard_params.moved.
void client_moved(void *worker, uint32_t slot, uint64_t stream);
// Call it when a client has been redirected to worker dst; v is the view of its request.
void client_redirected(struct worker *w, const struct turn_view *v, unsigned int dst);
