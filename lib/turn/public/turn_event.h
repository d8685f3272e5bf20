// SPDX-License-Identifier: BSD-3-Clause
// Events that a worker reports to management about its clients: allocations made, refreshed and
// ended, requests refused. They are small records of one size, passed to the callback of the shard.
#pragma once

#include <stdbool.h>

#include "turn_config.h"
#include "turn_usage.h"

#define TURN_EVENT_NAME_LEN 64 // bytes of a user name in an event

enum turn_event_kind {
	TURN_EVENT_MADE, // an allocation was made
	TURN_EVENT_INTERIM, // refreshed at least turn_config.interim_s after the last event
	TURN_EVENT_ENDED,
	TURN_EVENT_REFUSED, // a request was refused
	// A connection over TCP, TLS or DTLS was refused or closed before its first message. reason
	// is an enum stream_refusal; client.port and listener (255) may be unknown.
	TURN_EVENT_CONNECTION,
	TURN_EVENT_ROAMED, // its client has moved to another 5-tuple (RFC 8016)
	TURN_EVENT_MOVED, // a restart restored the allocation under another ID
	// A new permission, or a Connect (RFC 6062), which has a port; only with
	// turn_config.tells_peers.
	TURN_EVENT_PEER,
};

// True if an event of this kind is about a refusal, and not about an allocation. Anybody can cause
// refusals. Any thread.
static inline bool turn_event_refuses(unsigned int kind)
{
	return kind == TURN_EVENT_REFUSED || kind == TURN_EVENT_CONNECTION;
}

#define TURN_CONNECTION_REASONS 48 // reasons of TURN_EVENT_CONNECTION are below this

// Why an allocation ended: X(enum, name, meaning).
#define TURN_ENDS(X)                                                                      \
	X(TURN_END_CLIENT, "client", "the client ended it, by a Refresh with lifetime 0") \
	X(TURN_END_EXPIRED, "expired", "the client did not refresh it in time")           \
	X(TURN_END_CONNECTION, "connection",                                              \
		"the client's TCP, TLS or DTLS connection was closed")                    \
	X(TURN_END_KILLED, "killed", "an operator ended it")                              \
	X(TURN_END_USER, "user-gone", "a reload: its user is no longer configured")       \
	X(TURN_END_PEER, "peer-denied", "a reload: one of its peers is now denied")       \
	X(TURN_END_QUOTA, "quota-lowered", "a reload: above a limit that was lowered")    \
	X(TURN_END_STOPPED, "stopped", "the appliance was stopped")                       \
	X(TURN_END_RESTART, "restart", "a restart: it could not be restored")             \
	X(TURN_END_PORT, "tcp-port", "the kernel did not open its TCP port")              \
	X(TURN_END_ADDRESS, "address-gone", "the network replaced one of its addresses")  \
	X(TURN_END_DENIED, "client-denied", "a reload: its client's address is denied")   \
	X(TURN_END_BLOCKED, "blocked", "an operator blocked its user or its client")

enum turn_end {
#define X(id, name, text) id,
	TURN_ENDS(X)
#undef X
		TURN_END_END
};

// Name and meaning of an end reason: static text; NULL for an unknown number. Any thread.
const char *turn_end_name(unsigned int end);
const char *turn_end_text(unsigned int end);

struct turn_event {
	uint64_t at_ms; // the shard's clock; for a fold, the time of the last refusal
	uint64_t wall_s; // time of day
	uint64_t id; // ID of the allocation; 0 = no allocation
	struct endpoint client, relay; // relay: as the client was told it; :: = no address
	// REFUSED: the requested peer of a permission or channel, as the client wrote it. PEER: the
	// peer, in its public form. :: = no peer.
	struct endpoint peer;
	uint8_t kind; // enum turn_event_kind
	uint8_t worker, listener;
	bool proved; // the client has proved that it owns its address
	uint16_t method; // REFUSED: STUN method of the request
	uint16_t reason; // REFUSED: enum turn_refusal; ENDED: enum turn_end
	// REFUSED: 0 = this one request. Else a fold: this number of further refusals like it, from
	// one source, since the last event. The other members describe the last of them. client is
	// :: if more unproved sources were involved than the fold distinguishes.
	uint32_t more;
	uint32_t lifetime_s; // ENDED: time it has lived; other kinds: time until it expires
	union {
		struct turn_usage usage; // INTERIM, ENDED
		uint64_t was; // MOVED: its previous ID
		struct endpoint old_client; // ROAMED: the previous client
	};
	uint8_t realm; // number of the realm of the allocation, or in which the request was judged
	bool others; // REFUSED: `more` includes requests with other user names
	uint8_t name_len;
	// USERNAME as the client sent it, any bytes, truncated; for a USERHASH the configured name.
	// ENDED, MOVED, ROAMED, PEER: the TURN_NAME_LEN bytes that the allocation keeps.
	// CONNECTION: the offer of the ClientHello, as plain text.
	char name[TURN_EVENT_NAME_LEN];
};
