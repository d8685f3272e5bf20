// SPDX-License-Identifier: BSD-3-Clause
// Metadata of a packet in the private area of its mbuf, between workers and between workers and
// stream threads.
#pragma once

#include <rte_mbuf.h>

#include "dp_features.h"
#include "see/losses.h"
#include "exception/exception_note.h"
#include "ip/icmp_errors.h"
#include "net.h"
#include "turn.h"
#include "turn_shard.h"

enum mbuf_meta_kind {
	MBUF_META_DATAGRAM, // as if just received by its owner, the other worker
	MBUF_META_FRAME, // finished: for a port whose queue the other worker owns
	MBUF_META_ICMP, // an ICMP error about a packet of the other worker: the whole frame
	MBUF_META_SEAL, // to a DTLS client of the other worker: only the message
	MBUF_META_NEIGHBOUR, // message: content of an ARP or ND packet
	MBUF_META_REDIRECT, // message: a redirect is extended or ends
	MBUF_META_CLIENT_ENDED, // message: the session of a DTLS client has ended
	// On the rings of stream threads only.
	MBUF_META_STREAM, // from or to a client over a stream: only the message
	MBUF_META_STREAM_ENDED, // message: the client's connection has been closed
	MBUF_META_BUFFER, // an empty buffer is returned
	MBUF_META_DTLS, // a datagram of a DTLS client whose handshake the thread runs
	MBUF_META_DTLS_NOTE, // message: state of such a handshake or session
#define X(kind, type, field, take) kind,
	DP_UP(X)
#undef X
};

// Kinds of messages to a stream thread.
enum mbuf_meta_down {
	MBUF_META_ANSWER,
	MBUF_META_MEDIA,
#define X(kind, message, room) kind,
	DP_DOWN(X)
#undef X
};

// A message to a client on its way to a stream thread, as in struct stream_message.
struct stream_down {
	uint64_t conn;
	uint32_t lease_s;
	uint8_t kind; // enum mbuf_meta_down
};

// True for packets on the rings between workers, which are counted; the other kinds are messages.
static inline bool mbuf_meta_is_packet(uint8_t kind)
{
	return kind <= MBUF_META_SEAL;
}

// Saves the receiver from parsing or checking anything twice. The sending side writes it, the
// receiving side reads it.
struct mbuf_meta {
	uint8_t kind; // enum mbuf_meta_kind
	uint8_t port; // FRAME, NEIGHBOUR, and packets that a neighbour entry holds
	bool from_ask; // NEIGHBOUR
	union { // by kind
		struct turn_view datagram; // DATAGRAM
		struct icmp_note icmp; // ICMP
		struct net_neigh_msg neighbour; // NEIGHBOUR
		struct turn_redirect_note redirect; // REDIRECT
		struct exception_note exception; // on its way to or from the kernel
		struct losses_held held; // for packets that a neighbour entry holds
		struct stream_down to_stream; // STREAM on its way to a thread
#define X(kind, type, field, take) type field;
		DP_UP(X)
#undef X
		struct {
			uint64_t conn;
			struct dtls_session *session;
			struct addr source;
			uint8_t kind; // enum stream_kind
			uint8_t listener;
		} dtls; // DTLS, DTLS_NOTE: as in struct stream_message
		struct {
			struct addr client;
			uint64_t conn;
			uint32_t lease_s;
			uint16_t port;
			uint8_t listener;
			uint8_t owner; // worker that owns the allocation
			bool media;
		} seal; // SEAL
	};
};

#define DP_PRIV_SIZE RTE_ALIGN_CEIL(sizeof(struct mbuf_meta), RTE_MBUF_PRIV_ALIGN)

static inline struct mbuf_meta *mbuf_meta_of(struct rte_mbuf *m)
{
	return rte_mbuf_to_priv(m);
}
