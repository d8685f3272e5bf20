// SPDX-License-Identifier: BSD-3-Clause
// The door to a client, whatever it speaks: UDP, a stream (TCP, TLS) or DTLS. What a worker has for
// a client goes through here, and here alone it is asked which of the three it is.
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
struct rewrite_way;
struct worker;

enum client_transport { CLIENT_UDP, CLIENT_STREAM, CLIENT_DTLS };

// What the clients of a listener speak.
static inline enum client_transport client_transport_of(const struct turn_listener *l)
{
	if (l->transport == TURN_OVER_DTLS)
		return CLIENT_DTLS;
	return turn_listener_is_stream(l) ? CLIENT_STREAM : CLIENT_UDP;
}

// Whether a view is of a client's message over a stream.
static inline bool client_is_stream(const struct turn_view *v)
{
	return (v->flags & DP_STREAM) != 0;
}

// Whether the client of a view has shown that it is there: it has a connection or a session.
static inline bool client_is_connected(const struct turn_view *v)
{
	return (v->flags & (DP_STREAM | DP_DTLS)) != 0;
}

// Whether client_take has to look at a datagram for which no line vouches.
static inline bool client_concerns(const struct worker *w, const struct turn_view *v)
{
	return sessions_concern(w, v);
}

// Takes a datagram for which client_concerns is true, if it is still to be decrypted. False: it is
// as its client has written it, and still the caller's. may_wait: unless it comes from the backlog.
static inline bool client_take(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, bool may_wait)
{
	return dtls_clients_take(w, m, v, may_wait);
}

// The datagram of a view as net_frame_parse would fill f; a message over a stream as if it had come
// in one. True for the latter, which has no old checksum to go by.
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

// Answers the client of v, whose request m was: len bytes, which do not lie in m. Takes the packet.
void client_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len);
// Sends a peer's datagram to the client of the allocation v->slot, which is alive: what r says of
// front, off, len and pad, along way->path where the client has no stream. Takes the packet.
void client_forward(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_way *route, struct rewrite *r);
// Sends a message of ours that answers nothing, of len bytes which do not lie in m, to the client
// of a live allocation, in the place of m. Takes the packet.
void client_indicate(
	struct worker *w, struct rte_mbuf *m, uint32_t slot, const uint8_t *message, uint16_t len);
// To be told that the client of an allocation has moved to the connection or session `stream`, or
// to UDP. turn_shard_params.moved.
void client_moved(void *worker, uint32_t slot, uint64_t stream);
// To be told that the client of v, whose request it is, has been redirected to another worker.
void client_went(struct worker *w, const struct turn_view *v, unsigned int dst);
