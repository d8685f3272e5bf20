// SPDX-License-Identifier: BSD-3-Clause
// What an operator asks a shard: which allocations it has, all about one, to end some. A call does
// bounded work, so that a million of them are gone through in many short calls.
#pragma once

#include "turn_shard.h"

struct stun_crypto;
struct turn_quota;

// The allocations that are meant: those of which all that wants names is true.
#define TURN_FILTER_ID 1u
#define TURN_FILTER_USER 2u
#define TURN_FILTER_CLIENT 4u
#define TURN_FILTER_PEER 8u
#define TURN_FILTER_TRANSPORT 16u
#define TURN_FILTER_REALM 32u

struct turn_filter {
	unsigned int wants; // TURN_FILTER_*; 0 = all allocations
	uint64_t id;
	uint64_t user[2]; // users as quota counts them: either
	uint8_t ident[TURN_IDENT_LEN]; // or who has come by tokens of the key with that name
	struct prefix client;
	struct endpoint peer; // has a permission, with a port a channel; live or not yet removed
	uint8_t transport; // enum turn_transport
	uint8_t realm; // its number
};

// A user by name, of the realm with this name and number.
struct turn_listing_name {
	const char *realm, *user;
	uint8_t number;
};

// Makes a filter look for a user by name: a configured one, or who has REST credentials. Of a REST
// name with its expiry the id behind it counts, as for limits. The name of a key of access tokens
// means all who have come by it. False when libcrypto fails.
bool turn_listing_user(struct turn_filter *f, const struct turn_quota *q, struct stun_crypto *c,
	const struct turn_listing_name *name);

// Where a walk over the live allocations of a shard stands; all zero at its beginning. It meets
// every allocation once that lives from its beginning to its end.
struct turn_walk {
	uint32_t slot; // next to be looked at
	uint32_t skip; // so many that the filter lets through are passed over
	bool end; // there is no more
};

// What allocations are sorted by.
enum turn_sort { TURN_SORT_AGE, TURN_SORT_DATAGRAMS, TURN_SORT_BYTES };

struct turn_key {
	uint64_t id;
	uint64_t value; // by enum turn_sort: seconds, datagrams or bytes of both legs
	uint64_t user; // the same for all allocations of a user, as quota counts
};

// Each looks at so many allocations at most (a filter by peer counts for 8, an end for 8), begins
// where *w says and moves it on. Returns how many rows were written, or allocations ended: max at
// most. Call turn_redirect_notes after turn_listing_kill.
#define TURN_WALK_BUDGET 512
unsigned int turn_listing_rows(const struct turn_shard *s, const struct turn_filter *f,
	struct turn_walk *w, struct turn_info *out, unsigned int max);
struct turn_listing_keys {
	enum turn_sort sort;
	unsigned int max;
	struct turn_key *out;
};
unsigned int turn_listing_keys(const struct turn_shard *s, const struct turn_filter *f,
	struct turn_walk *w, const struct turn_listing_keys *keys);
unsigned int turn_listing_kill(
	struct turn_shard *s, const struct turn_filter *f, struct turn_walk *w, unsigned int max);

#define TURN_ALGORITHM_TOKEN 3 // signed with the key of an access token

// Permissions and channels of one allocation.
#define TURN_DETAIL_ROWS 64
struct turn_detail {
	struct turn_info info;
	struct endpoint copy; // the peer that the line has a copy of; port 0 = none
	uint16_t copy_channel; // by this channel; 0 = without one
	uint8_t via; // worker that holds a redirect to it; TURN_NO_WORKER
	uint8_t algorithm; // enum stun_algorithm of its requests; TURN_ALGORITHM_TOKEN
	bool rfc8489; // its client knows PASSWORD-ALGORITHMS
	bool token; // a RESERVATION-TOKEN was given with it
	unsigned int nb_permissions, nb_channels; // rows below; info has how many there are
	struct turn_permission_info {
		struct addr peer;
		uint32_t left_s; // 0 = expired, and kept for its channels
	} permission[TURN_DETAIL_ROWS];
	struct turn_channel_info {
		struct endpoint peer;
		uint32_t left_s;
		uint16_t number;
	} channel[TURN_DETAIL_ROWS];
};

// Writes all about a live allocation, without the first skip permissions and channels. False when
// there is none of that id.
bool turn_listing_show(
	const struct turn_shard *s, uint64_t id, unsigned int skip, struct turn_detail *out);
// Worker that an allocation's id names.
static inline unsigned int turn_listing_worker(uint64_t id)
{
	return (unsigned int)(id >> 58);
}
