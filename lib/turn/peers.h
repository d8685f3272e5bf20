// SPDX-License-Identifier: BSD-3-Clause
// Permissions and channels of an allocation (RFC 8656 9 and 12).
#pragma once

#include "tables/trie.h"
#include "turn.h"
#include "turn_refusal.h"

#define TURN_PERMISSION_S 300 // RFC 8656 9; limits.lifetime.permission
#define TURN_CHANNEL_S 600 // RFC 8656 12; limits.lifetime.channel

// A permission: a peer's address with any port (RFC 8656 9). It lives at least as long as each of
// its channels.
struct turn_permission {
	struct addr peer;
	uint32_t until;
	struct trie_links links; // node in the allocation's tree, by address
	uint32_t channels; // root of the tree of channels that refer to it, by port
};
_Static_assert(sizeof(struct turn_permission) == 32, "two a cache line");

struct turn_channel {
	uint32_t until;
	uint32_t permission; // the permission of its peer, which has the address
	uint32_t slot;
	uint16_t port, number;
	struct trie_links by_number; // node in the allocation's tree
	struct trie_links by_port; // node in the permission's tree
};
_Static_assert(sizeof(struct turn_channel) == 32, "two a cache line");

// Index of the permission for an address, expired or not; TURN_NONE if there is no such permission.
uint32_t peers_permission_find(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// True if the address has a permission that has not expired.
bool peers_permission_live(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Index of a channel, found by its number or by its peer, expired or not; TURN_NONE if there is no
// such channel.
uint32_t peers_channel_by_number(const struct turn_shard *s, uint32_t slot, uint16_t number);
uint32_t peers_channel_by_peer(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Milliseconds until the permission of an address expires; 0 if it has expired or does not exist.
uint32_t peers_permission_time(const struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Milliseconds until a channel expires.
uint32_t peers_channel_time(const struct turn_shard *s, uint32_t channel);
// True if a channel has not expired; its permission has not expired either, then.
bool peers_channel_live(const struct turn_shard *s, uint32_t channel);
// True if nb more permissions fit the allocation's limit and its user's share of the pool. A
// refusal because of the share is counted in the statistics.
bool peers_permissions_fit(struct turn_shard *s, uint32_t slot, uint32_t nb);
// Like peers_permissions_fit(), for an allocation and its sibling at once: nb[0] more for the
// first, nb[1] for the sibling; nb[1] is 0 if there is no sibling.
bool peers_permissions_fit_both(struct turn_shard *s, uint32_t slot, const uint32_t nb[2]);
// Installs or refreshes a permission; the caller has called peers_permissions_fit. Returns its
// index, or TURN_NONE if the pool is empty. A permission never gets shorter.
uint32_t peers_permission_set(struct turn_shard *s, uint32_t slot, const struct addr *peer);
// Installs or refreshes a permission that lives for at least left_ms; a new one with 0 is expired.
uint32_t peers_permission_put(
	struct turn_shard *s, uint32_t slot, const struct addr *peer, uint32_t left_ms);
// Installs or refreshes a permission that lives as long as a channel bound now.
uint32_t peers_permission_bind(struct turn_shard *s, uint32_t slot, const struct addr *peer);

// A requested channel, and the form in which the client wrote its peer (external_form).
struct peers_channel {
	struct endpoint peer;
	uint16_t number;
	uint8_t form;
};
// Binds or refreshes a channel, and extends its permission to at least the same time. Returns
// TURN_REFUSED_PERMISSIONS or TURN_REFUSED_CHANNELS if there is no room. The caller has checked
// that number and peer do not clash with another binding.
enum turn_refusal peers_channel_set(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want);
// Like peers_channel_set(), with the channel's remaining time. Its permission exists.
enum turn_refusal peers_channel_put(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want, uint32_t left_ms);
// Frees expired channels and permissions. Returns the milliseconds until the next one expires, or
// UINT32_MAX if nothing is left.
uint32_t peers_purge(struct turn_shard *s, uint32_t slot);
// peers_purge() for requests: does nothing while the slot's timer shows that nothing can have
// expired.
void peers_settle(struct turn_shard *s, uint32_t slot);
// Frees all permissions and channels of an allocation.
void peers_end(struct turn_shard *s, uint32_t slot);
