// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams, in bits and in datagrams per second, for each direction of an
// allocation, of a user and of a realm (limits.rates, doc/decisions/0039). Every slot of a shard
// has a meter, in separate memory that exists only if rates are configured.
//
// Before relaying a datagram, take its cost: with turn_meter_take, and if that fails, with
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
// The top bit of each is spare. A subtraction sets it if the balance was too small.
#define TURN_METER_DATAGRAMS 40
#define TURN_METER_BELOW_0 (UINT64_C(1) << 63 | UINT64_C(1) << 39)

// Remaining credit of a user or a realm on this worker.
struct turn_party {
	uint64_t left[2]; // by enum turn_leg
	uint64_t party_hash; // keyed hash of the user or realm
	uint32_t account; // account from which it draws credit
	uint32_t meters; // number of meters that refer to it; 0 = the record is free
	uint32_t next; // next free record
	uint16_t serial; // serial of turn_meters when it last drew credit
	uint8_t scope; // enum turn_rate_of
} __attribute__((aligned(64)));

// The meter of a slot. Zeroed, it belongs to no allocation yet, and turn_meter_ask sets it up.
struct turn_meter {
	uint64_t left[2]; // remaining credit of the allocation; by enum turn_leg
	uint64_t due[2][2]; // the allocation's account (account.h), by leg and kind
	uint32_t user, realm; // parties
	uint16_t serial; // serial of turn_meters when it was set up
	// Datagrams dropped by the rate of the allocation, the user, the realm; each stops at
	// 65,535.
	uint16_t lost[3];
};
_Static_assert(sizeof(struct turn_meter) == 64, "one cache line");

// All meters of a shard; worker's lcore only.
struct turn_meters {
	struct turn_meter *meter; // by slot
	struct turn_party *party; // party 0 never has credit
	uint32_t nb_slots;
	uint16_t serial; // changes with the rates; never 0
	bool wide; // rates of users or realms are limited
	bool on; // any rate is limited
	// Used by features/rates/meters.c only:
	struct turn_accounts *accounts; // shared with other workers
	uint32_t nb_parties, head, fresh;
};

// --- accounts.c: state that workers share; management thread -------------------------------------

// Makes accounts for the users of up to capacity allocations and for realms. *key is copied. NULL
// without memory.
struct turn_accounts *turn_accounts_create(uint32_t capacity, const struct hash_key *key);
void turn_accounts_free(struct turn_accounts *a); // accepts NULL

// --- meters.c ------------------------------------------------------------------------------------

// True if any rate is limited. Any thread.
bool turn_rates_any(const struct turn_rates *r);
// Bytes of memory for the meters of this number of slots. Any thread.
size_t turn_meters_size(uint32_t slots);
// Makes meters in mem: turn_meters_size() bytes, 64-byte aligned, zeroed. The memory belongs to the
// caller, and outlives the shard. Any thread.
struct turn_meters *turn_meters_create(void *mem, uint32_t slots, struct turn_accounts *a);
// Gives a shard its meters, or the same ones again. From then on it enforces the rates of its
// policy. Worker's lcore, between rounds.
void turn_shard_set_meters(struct turn_shard *s, struct turn_meters *t);
// The meters of a shard; NULL if it has no meters, or its policy limits no rate.
struct turn_meters *turn_shard_meters(const struct turn_shard *s);

// Cost of a number of datagrams with `bytes` bytes of data in total. At most 128 datagrams of 64
// KiB.
static inline uint64_t turn_meter_cost(uint32_t datagrams, uint32_t bytes)
{
	return (uint64_t)datagrams << TURN_METER_DATAGRAMS | bytes;
}

// Takes the cost of datagrams that a live allocation is about to relay. If false, nothing was
// taken: call turn_meter_ask. Worker's lcore, as for the following functions.
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

// Called after turn_meter_take has failed: draws the missing credit from the accounts of the
// allocation, its user and its realm. TURN_OK: the cost is taken. Else nothing is taken, and the
// result (enum turn_drop) names the exceeded rate. No drop is counted.
unsigned int turn_meter_ask(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t cost);
// Returns credit that was taken but not used, in the same round.
void turn_meter_give(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t cost);
