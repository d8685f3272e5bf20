// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams, in bits and in datagrams a second, for each way of an allocation, of
// a user and of a realm (limits.rates, doc/decisions/0039). Beside every slot of a shard
// there is a meter, in memory of its own that is there only where rates are configured.
//
// Whoever relays a datagram takes its cost first: by turn_meter_take, and where that says no, by
// turn_meter_ask.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_key;
struct turn_accounts;
struct turn_rates;
struct turn_shard;

// A number of datagrams and their bytes in one word: datagrams from bit 40 on, bytes below bit 39.
// The top bit of each is free. A subtraction sets it where there was less than was taken.
#define TURN_METER_DATAGRAMS 40
#define TURN_METER_BELOW_0 (UINT64_C(1) << 63 | UINT64_C(1) << 39)

// What a user or a realm may still relay on this worker, before it has to draw more.
struct turn_party {
	uint64_t left[2]; // by enum turn_leg
	uint64_t party_hash; // keyed hash of the user or realm
	uint32_t account; // where it draws from
	uint32_t meters; // how many meters name it; 0 = the record is free
	uint32_t next; // free record behind it
	uint16_t serial; // of turn_meters when it drew what is left
	uint8_t scope; // enum turn_rate_of
} __attribute__((aligned(64)));

// The meter of a slot. Zeroed: it belongs to nobody yet, and turn_meter_ask sets it up.
struct turn_meter {
	uint64_t left[2]; // what the allocation may still relay; by enum turn_leg
	uint64_t due[2][2]; // its account: see account.h
	uint32_t user, realm; // parties
	uint16_t serial; // of turn_meters when it was set up
	// Datagrams dropped by its own rate, its user's, its realm's; each stops at 65,535.
	uint16_t lost[3];
};
_Static_assert(sizeof(struct turn_meter) == 64, "one cache line");

// All meters of a shard; the worker's lcore only.
struct turn_meters {
	struct turn_meter *meter; // by slot
	struct turn_party *party; // party 0 never has anything left
	uint32_t nb_slots;
	uint16_t serial; // changes with the rates; never 0
	bool wide; // there are rates of users or realms
	bool on; // there are rates
	// limits/meters.c's
	struct turn_accounts *accounts; // shared with other workers
	uint32_t nb_parties, head, fresh;
};

// --- limits/accounts.c: what workers share; management thread ------------------------------------

// Makes accounts for the users of up to capacity allocations and for realms. *key is copied. NULL
// without memory.
struct turn_accounts *turn_accounts_create(uint32_t capacity, const struct hash_key *key);
void turn_accounts_free(struct turn_accounts *a); // NULL is fine

// --- limits/meters.c -----------------------------------------------------------------------------

// Whether any rate is limited. Any thread.
bool turn_rates_any(const struct turn_rates *r);
// Bytes of memory that the meters of so many slots take. Any thread.
size_t turn_meters_size(uint32_t slots);
// Makes meters in mem: turn_meters_size() bytes, 64-byte aligned, zeroed. The memory stays the
// caller's, and outlives the shard. Any thread.
struct turn_meters *turn_meters_create(void *mem, uint32_t slots, struct turn_accounts *a);
// Gives a shard meters; it may have them already. From then on its policy's rates hold. Worker's
// lcore, between rounds.
void turn_shard_set_meters(struct turn_shard *s, struct turn_meters *t);
// The meters of a shard; NULL where it has none, or its policy limits no rate.
struct turn_meters *turn_shard_meters(const struct turn_shard *s);

// What so many datagrams cost that have so many bytes of data together. At most 128 datagrams of 64
// KiB.
static inline uint64_t turn_meter_cost(uint32_t datagrams, uint32_t bytes)
{
	return (uint64_t)datagrams << TURN_METER_DATAGRAMS | bytes;
}

// Takes the cost of what a live allocation is about to relay. False, and nothing is taken:
// turn_meter_ask knows more. Worker's lcore, as the following ones.
static inline bool turn_meter_take(
	struct turn_meters *t, uint32_t slot, unsigned int leg, uint64_t cost)
{
	struct turn_meter *m = &t->meter[slot];
	const uint64_t of_alloc = m->left[leg] - cost;

	if (t->wide) {
		struct turn_party *user = &t->party[m->user], *realm = &t->party[m->realm];
		const uint64_t of_user = user->left[leg] - cost;
		const uint64_t of_realm = realm->left[leg] - cost;

		if (__builtin_expect(((of_alloc | of_user | of_realm) & TURN_METER_BELOW_0) != 0 ||
				    m->serial != t->serial,
			    0))
			return false;
		user->left[leg] = of_user;
		realm->left[leg] = of_realm;
	} else if (__builtin_expect(
			   (of_alloc & TURN_METER_BELOW_0) != 0 || m->serial != t->serial, 0)) {
		return false;
	}
	m->left[leg] = of_alloc;
	return true;
}

// The same after turn_meter_take has failed: draws what is missing from the accounts of the
// allocation, its user and its realm. TURN_OK: the cost is taken. Else nothing is, and the result
// (enum turn_drop) says whose rate it was; nothing is counted.
unsigned int turn_meter_ask(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t cost);
// Gives back what was taken and not relayed, in the same round.
void turn_meter_give(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t cost);
