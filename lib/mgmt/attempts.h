// SPDX-License-Identifier: BSD-3-Clause
// The last attempts of users and addresses, for who asks why somebody cannot connect: what was
// asked, what was answered, when. A fixed store. It never grows, and nobody pushes out others:
//
// part     key                     who can fill it                   whom that costs
// users    name of a user          who has credentials, or guesses   other users: the one that was
//                                  at the password of a user         not seen for longest
// names    name that is no user's  anybody with an address           names from the same network
// sources  address (IPv6: /64)     who has shown that it is his      addresses near it: of the /24
//          that is proved                                            or /48, by a hash
// others   address that is not     anybody, in any name              other such addresses
//
// Pure; one thread at a time. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "turn_event.h"
#include "turn_usage.h"

#define ATTEMPTS_EACH 8 // refusals that are kept of a key
#define ATTEMPTS_LIVES 4 // and what was made or has ended: that pushes out no refusal

// One attempt: the event's fields that explain it.
struct attempt {
	uint64_t wall_ms, id;
	uint32_t order; // among those of one time: grows with every note
	struct endpoint client, peer;
	uint8_t kind, listener, worker, realm; // as turn_event's
	bool proved;
	bool relayed; // what has ended: datagrams both ways
	uint16_t method, reason;
	uint32_t more; // 0 = once; else so many times since the attempt before
	uint8_t held; // rates that have held back datagrams of the allocation: attempts_held
	bool others; // not all of them in that name
	uint8_t name_len;
	char name[TURN_EVENT_NAME_LEN];
};

struct attempts;

// The event of an attempt, as far as the store keeps it: the rest is 0.
struct turn_event attempts_event(const struct attempt *a);
// The user of a name: of a REST name what stands behind its time and colon, else all of it.
const char *attempts_user(const char *name, size_t *len);

// A store for 4,096 users and as many proved addresses, and 1,024 other names and addresses. key is
// secret. NULL without memory.
struct attempts *attempts_create(const struct hash_key *key);
void attempts_free(struct attempts *a); // NULL is fine
// Whether a rate (TURN_LOSS_KEPT to TURN_LOSS_END - 1) has held back datagrams of what an attempt
// has made or ended, as far as its last event tells.
static inline bool attempts_held(const struct attempt *a, unsigned int loss)
{
	return (a->held >> (loss - TURN_LOSS_KEPT) & 1) != 0;
}

// Notes an event. TURN_EVENT_INTERIM only adds to what is known of the allocation's making, and
// TURN_EVENT_MOVED is not kept.
void attempts_note(struct attempts *a, const struct turn_event *e, uint64_t wall_ms);
// A user: the name, as the client sends it, and the number of the realm.
struct attempts_who {
	const char *name;
	size_t len;
	uint8_t realm;
};

// Writes up to max attempts of a user to out, the newest first, and returns how many. With time and
// colon in front (REST) or without, all attempts of the user behind them are found.
unsigned int attempts_of_user(const struct attempts *a, const struct attempts_who *identity,
	struct attempt *out, unsigned int max);
// The same for a client's address; of IPv6 the attempts of its /64.
unsigned int attempts_of_source(
	const struct attempts *a, const struct addr *source, struct attempt *out, unsigned int max);
