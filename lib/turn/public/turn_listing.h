// SPDX-License-Identifier: BSD-3-Clause
// Queries of an operator to a shard: list allocations, show one, end some. A call does bounded
// work, so that a million allocations are visited in many short calls.
#pragma once

#include "turn_shard.h"

struct stun_crypto;
struct turn_quota;

// Selects the allocations that match every criterion in `wants`.
#define TURN_FILTER_ID 1u
#define TURN_FILTER_USER 2u
#define TURN_FILTER_CLIENT 4u
#define TURN_FILTER_PEER 8u
#define TURN_FILTER_TRANSPORT 16u
#define TURN_FILTER_REALM 32u

struct turn_filter {
	unsigned int wants; // TURN_FILTER_ID and further bits; 0 = all allocations
	uint64_t id;
	uint64_t user[2]; // users as quota counts them: one of the two
	uint8_t ident[TURN_IDENT_LEN]; // or the users of tokens of the key with that name
	struct prefix client;
	// The allocation has a permission for this address, or a channel if the port is set.
	// Expired permissions and channels that are not yet freed count, too.
	struct endpoint peer;
	uint8_t transport; // enum turn_transport
	uint8_t realm; // its number
};

// A user by name, and the realm's name and number.
struct turn_listing_name {
	const char *realm, *user;
	uint8_t number;
};

// Makes a filter look for a user by name: a configured user, or a user of REST credentials. In a
// REST name with an expiry only the ID counts, as for limits. The name of a key of access tokens
// selects all users of that key. False if libcrypto fails.
bool turn_listing_user(struct turn_filter *f, const struct turn_quota *q, struct stun_crypto *c,
	const struct turn_listing_name *name);

// Position of a walk over the live allocations of a shard; all zero at its beginning. The walk
// visits every allocation once that lives during the whole walk.
struct turn_walk {
	uint32_t slot; // next one to check
	uint32_t skip; // matching allocations that are left out first
	bool end; // the walk is complete
};

// The sort keys of allocations.
enum turn_sort { TURN_SORT_AGE, TURN_SORT_DATAGRAMS, TURN_SORT_BYTES };

struct turn_key {
	uint64_t id;
	uint64_t value; // by enum turn_sort: seconds, datagrams or bytes of both legs
	uint64_t user; // equal for all allocations of a user, as quota counts
};

// Each function continues at *w and advances it. A call checks at most this many allocations (a
// filter by peer counts as 8, ending one as 8). Returns the number of rows written, or of
// allocations ended: at most max. Call turn_redirect_notes after turn_listing_kill.
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
	struct endpoint copy; // the peer of the line's copy; port 0 = no copy
	uint16_t copy_channel; // its channel; 0 = no channel
	uint8_t via; // worker that holds a redirect to it; or TURN_NO_WORKER
	uint8_t algorithm; // enum stun_algorithm of its requests; TURN_ALGORITHM_TOKEN
	bool rfc8489; // its client knows PASSWORD-ALGORITHMS
	bool token; // its answer carried a RESERVATION-TOKEN
	unsigned int nb_permissions, nb_channels; // number of rows below; info has the totals
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

// Writes the details of a live allocation, without the first skip permissions and channels. False
// if no allocation has that ID.
bool turn_listing_show(
	const struct turn_shard *s, uint64_t id, unsigned int skip, struct turn_detail *out);
// The worker in an allocation's ID.
static inline unsigned int turn_listing_worker(uint64_t id)
{
	return (unsigned int)(id >> 58);
}
