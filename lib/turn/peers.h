// SPDX-License-Identifier: BSD-3-Clause
// Permissions and channels of an allocation (RFC 8656 9 and 12).
#pragma once

#include "trie.h"
#include "turn.h"

#define TURN_PERMISSION_MS (300 * 1000) // RFC 8656 9: exactly 300 seconds
#define TURN_CHANNEL_MS (600 * 1000) // RFC 8656 12

// A permission: an address, whatever the port (RFC 8656 9). Outlives its time while channels name
// it.
struct turn_permission {
	struct addr peer;
	uint32_t until;
	struct trie_links links; // in the allocation's tree, by address
	uint32_t channels; // root of the tree of those that name it, by port
};
_Static_assert(sizeof(struct turn_permission) == 32, "two a cache line");

struct turn_channel {
	uint32_t until;
	uint32_t permission; // of its peer: holds the address
	uint32_t slot;
	uint16_t port, number;
	struct trie_links by_number; // in the allocation's tree
	struct trie_links by_port; // in the permission's
};
_Static_assert(sizeof(struct turn_channel) == 32, "two a cache line");

// Permission for an address, whether or not its time has passed; TURN_NONE.
uint32_t permission_find(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
bool permission_live(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Channel by number, or by peer; expired ones too; TURN_NONE.
uint32_t channel_by_number(const struct turn_shard *s, uint32_t slot, uint16_t number);
uint32_t channel_by_peer(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Milliseconds until the permission of an address has passed; 0 when there is none.
uint32_t permission_time(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Milliseconds until a channel or its permission has passed.
uint32_t peers_left(const struct turn_shard *s, uint32_t channel);
// A channel whose own time has not passed.
bool channel_bound(const struct turn_shard *s, uint32_t channel);
// A channel whose own time and whose permission's time have not passed.
bool channel_live(const struct turn_shard *s, uint32_t channel);
// Whether nb more permissions fit the allocation and its user's share of the pool; a share that is
// used up is counted.
bool permissions_fit(struct turn_shard *s, uint32_t slot, uint32_t nb);
// Installs or refreshes; the caller has made sure that it fits. Returns the record.
uint32_t permission_set(struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Binds or refreshes a channel and its permission: 0 or 508.
unsigned int channel_set(
	struct turn_shard *s, uint32_t slot, uint16_t number, const struct endpoint *peer);
// Frees what has expired; returns the milliseconds to the earliest expiry left (UINT32_MAX: none).
uint32_t peers_purge(struct turn_shard *s, uint32_t slot);
// Frees what has expired, if anything can have; for requests.
void peers_settle(struct turn_shard *s, uint32_t slot);
void peers_end(struct turn_shard *s, uint32_t slot);
