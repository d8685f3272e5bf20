// SPDX-License-Identifier: BSD-3-Clause
// The last attempts of each user and address, to explain why a client cannot connect: its request,
// the answer, and the time. The store has a fixed size, and no client can push out
// entries of the others:
// - users: key is the name of a user. Clients with credentials, or that guess a user's password,
//   fill it. They evict the user not seen for the longest time.
// - names: key is a name that no user has. Anybody with an address can fill it. This evicts names
//   from the same network.
// - sources: key is an address (IPv6: its /64) that its client has proved. This evicts addresses
//   near it: in a hashed group of a /24 or /48.
// - others: key is an address that is not proved. Anybody can fill it, and evicts other such
//   addresses.
// Pure; one thread at a time. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "turn_event.h"
#include "turn_usage.h"

#define ATTEMPTS_EACH 8 // refusals kept for each key
#define ATTEMPTS_LIVES 4 // allocations made and ended kept for each key; these never evict refusals

// One attempt: the fields of an event that explain it.
struct attempt {
	uint64_t wall_ms, id;
	uint32_t order; // orders attempts with equal times; grows with every note
	struct endpoint client, peer;
	uint8_t kind, listener, worker, realm; // like those of turn_event
	bool proved;
	bool relayed; // for an ended allocation: datagrams were relayed both ways
	uint16_t method, reason;
	uint32_t more; // 0 = once; else the number of repetitions since the attempt before
	uint8_t held; // rates that held back datagrams of the allocation: see attempts_held
	bool others; // some of the repetitions had other names
	uint8_t name_len;
	char name[TURN_EVENT_NAME_LEN];
};

struct attempts;

// Rebuilds the event of an attempt. Fields that the store does not keep are 0.
struct turn_event attempts_event(const struct attempt *a);
// The user that a name stands for: the part of a REST name after time and colon, else the whole
// name. *len is the length of the name, and becomes that of the result.
const char *attempts_user(const char *name, size_t *len);

// Creates a store for 4,096 users, as many proved addresses, and 1,024 unknown names and unproved
// addresses each. key is secret. NULL without memory.
struct attempts *attempts_create(const struct hash_key *key);
void attempts_free(struct attempts *a); // NULL is fine
// True if a rate (TURN_LOSS_KEPT to TURN_LOSS_END - 1) held back datagrams of the attempt's
// allocation, as far as its last event reports.
static inline bool attempts_held(const struct attempt *a, unsigned int loss)
{
	return (a->held >> (loss - TURN_LOSS_KEPT) & 1) != 0;
}

// Stores an event. TURN_EVENT_INTERIM only updates the attempt that made the allocation, and
// TURN_EVENT_MOVED and TURN_EVENT_PEER are ignored.
void attempts_note(struct attempts *a, const struct turn_event *e, uint64_t wall_ms);
// Identifies a user: the name as the client sends it, and the number of the realm.
struct attempts_who {
	const char *name;
	size_t len;
	uint8_t realm;
};

// Writes up to max attempts of a user to out, the newest first, and returns how many. A REST name
// finds all attempts of its user, with or without the time and colon.
unsigned int attempts_of_user(const struct attempts *a, const struct attempts_who *identity,
	struct attempt *out, unsigned int max);
// Like attempts_of_user(), for a client's address. An IPv6 address finds the attempts of its /64.
unsigned int attempts_of_source(
	const struct attempts *a, const struct addr *source, struct attempt *out, unsigned int max);
