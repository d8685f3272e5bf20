// SPDX-License-Identifier: BSD-3-Clause
// What a worker tells management of its clients: allocations made, refreshed and ended, requests
// refused. Small records of one size, handed to whoever the shard was made for.
#pragma once

#include <stdbool.h>

#include "turn_config.h"
#include "turn_usage.h"

#define TURN_EVENT_NAME_LEN 64 // bytes of a user name that an event has

enum turn_event_kind {
	TURN_EVENT_MADE, // an allocation
	TURN_EVENT_INTERIM, // it was refreshed turn_config.interim_s after the last one, or later
	TURN_EVENT_ENDED,
	TURN_EVENT_REFUSED, // a request
	// A connection over TCP, TLS or DTLS was refused or ended before its first message: why is
	// an enum stream_refusal, client.port and listener (255) may be unknown.
	TURN_EVENT_CONNECTION,
	TURN_EVENT_ROAMED, // its client has moved to another 5-tuple (RFC 8016)
	TURN_EVENT_MOVED, // a restart has taken the allocation up under another id
};

// Whether an event of this kind tells of what was refused, and not of an allocation. Anybody can
// cause those. Any thread.
static inline bool turn_event_refuses(unsigned int kind)
{
	return kind == TURN_EVENT_REFUSED || kind == TURN_EVENT_CONNECTION;
}

#define TURN_CONNECTION_REASONS 48 // reasons of TURN_EVENT_CONNECTION are below this

// Why an allocation has ended: X(enum, name, meaning).
#define TURN_ENDS(X)                                                                           \
	X(TURN_END_CLIENT, "client", "the client has ended it, by a Refresh with lifetime 0")  \
	X(TURN_END_EXPIRED, "expired", "the client has not refreshed it in time")              \
	X(TURN_END_CONNECTION, "connection", "the client's TCP, TLS or DTLS connection ended") \
	X(TURN_END_KILLED, "killed", "an operator has ended it")                               \
	X(TURN_END_USER, "user-gone", "a reload: its user is configured no longer")            \
	X(TURN_END_PEER, "peer-denied", "a reload: one of its peers is denied now")            \
	X(TURN_END_QUOTA, "quota-lowered", "a reload: past a limit that is lower now")         \
	X(TURN_END_STOPPED, "stopped", "the appliance was stopped")                            \
	X(TURN_END_RESTART, "restart", "a restart: it has no place any longer")                \
	X(TURN_END_PORT, "tcp-port", "the kernel did not open its TCP port")                   \
	X(TURN_END_ADDRESS, "address-gone", "the network has replaced an address that it was on")

enum turn_end {
#define X(id, name, text) id,
	TURN_ENDS(X)
#undef X
		TURN_END_END
};

// Name and meaning of a reason to end: static text; NULL for a number that is none. Any thread.
const char *turn_end_name(unsigned int end);
const char *turn_end_text(unsigned int end);

struct turn_event {
	uint64_t at_ms; // the shard's clock; of a fold, when the last of them came
	uint64_t wall_s; // time of day
	uint64_t id; // of the allocation; 0 = there is none
	struct endpoint client, relay; // relay: as the client was told it; :: = there is none
	struct endpoint peer; // that a permission or channel was asked for, as named; :: = none
	uint8_t kind; // enum turn_event_kind
	uint8_t worker, listener;
	bool proved; // the client has shown that its address is its own
	uint16_t method; // REFUSED: of the request (STUN)
	uint16_t reason; // REFUSED: enum turn_refusal; ENDED: enum turn_end
	// REFUSED: 0 = this one request. Else a fold: so many more like it, from one source, have
	// come since the last event, and the other members are those of the last of them. client is
	// :: where they came from more unproved sources than are told apart.
	uint32_t more;
	uint32_t lifetime_s; // ENDED: how long it has lived; of others: until it expires
	union {
		struct turn_usage usage; // INTERIM, ENDED
		uint64_t was; // MOVED: the id that it had
		struct endpoint old_client; // ROAMED: the client before
	};
	uint8_t realm; // number of the allocation's, or of that in which the request was judged
	bool others; // REFUSED: not all that more counts were in this name
	uint8_t name_len;
	// USERNAME as the client sent it, any bytes, truncated; behind a USERHASH the configured
	// name. ENDED, MOVED, ROAMED: what the allocation keeps of it, TURN_NAME_LEN bytes.
	// CONNECTION: what its ClientHello has offered, as plain text.
	char name[TURN_EVENT_NAME_LEN];
};
