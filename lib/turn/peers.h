// SPDX-License-Identifier: BSD-3-Clause
// Permissions and channels of an allocation (RFC 8656 9 and 12).
#pragma once

#include "trie.h"
#include "turn.h"
#include "turn_refusal.h"

#define TURN_PERMISSION_S 300 // RFC 8656 9; limits.lifetime.permission
#define TURN_CHANNEL_S 600 // RFC 8656 12; limits.lifetime.channel

// A permission: a peer's address, whatever the port (RFC 8656 9). It lives as long as each of its
// channels, or longer.
struct turn_permission {
	struct addr peer;
	uint32_t until;
	struct trie_links links; // its place in the allocation's tree, by address
	uint32_t channels; // root of the tree of channels that name it, by port
};
_Static_assert(sizeof(struct turn_permission) == 32, "two a cache line");

struct turn_channel {
	uint32_t until;
	uint32_t permission; // the permission of its peer, which has the address
	uint32_t slot;
	uint16_t port, number;
	struct trie_links by_number; // its place in the allocation's tree
	struct trie_links by_port; // its place in the permission's tree
};
_Static_assert(sizeof(struct turn_channel) == 32, "two a cache line");

// Index of the permission for an address, whether or not its time has passed; TURN_NONE when there
// is none.
uint32_t peers_permission_find(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Whether an address has a permission whose time has not passed.
bool peers_permission_live(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Index of a channel, found by its number or by its peer. Expired channels are found too; TURN_NONE
// when there is none.
uint32_t peers_channel_by_number(const struct turn_shard *s, uint32_t slot, uint16_t number);
uint32_t peers_channel_by_peer(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Milliseconds until the permission of an address expires; 0 when there is none or it has expired.
uint32_t peers_permission_time(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Milliseconds until a channel expires.
uint32_t peers_channel_time(const struct turn_shard *s, uint32_t channel);
// Whether a channel's time has not passed; its permission's has not, then.
bool peers_channel_live(const struct turn_shard *s, uint32_t channel);
// Whether nb more permissions fit the allocation's limit and the share of the pool that its user
// may have. A refusal for want of share is counted in the statistics.
bool peers_permissions_fit(struct turn_shard *s, uint32_t slot, uint32_t nb);
// The same for an allocation and its sibling at once: nb[0] more for the one, nb[1] for the other,
// which is 0 where there is none.
bool peers_permissions_fit_both(struct turn_shard *s, uint32_t slot, const uint32_t nb[2]);
// Installs or refreshes a permission; the caller has asked peers_permissions_fit. Returns its
// index, or TURN_NONE when the pool is empty. One that has more time left keeps it.
uint32_t peers_permission_set(struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Installs or refreshes a permission that lives left_ms at least; a new one with 0 has expired.
uint32_t peers_permission_put(
	struct turn_shard *s, uint32_t slot, const struct addr *peer, uint32_t left_ms);
// Installs or refreshes a permission that lives as long as a channel bound now.
uint32_t peers_permission_bind(struct turn_shard *s, uint32_t slot, const struct addr *peer);

// A channel that is asked for, and the form in which the client has named its peer (external_form).
struct peers_channel {
	struct endpoint peer;
	uint16_t number;
	uint8_t form;
};
// Binds or refreshes a channel, and its permission for as long at least.
// TURN_REFUSED_PERMISSIONS or TURN_REFUSED_CHANNELS when there is no room; the caller has checked
// that number and peer do not clash with another binding.
enum turn_refusal peers_channel_set(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want);
// The same with the time that the channel has left. Its permission is there.
enum turn_refusal peers_channel_put(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want, uint32_t left_ms);
// Frees expired channels and permissions. Returns the milliseconds to the earliest expiry that is
// left (UINT32_MAX: none).
uint32_t peers_purge(struct turn_shard *s, uint32_t slot);
// The same for requests: does nothing while the slot's timer shows that nothing can have expired.
void peers_settle(struct turn_shard *s, uint32_t slot);
// Frees all permissions and channels of an allocation.
void peers_end(struct turn_shard *s, uint32_t slot);
