// SPDX-License-Identifier: BSD-3-Clause
// All state of one worker. Only the worker's own lcore reads and writes it.
#pragma once

#include "alloc.h"
#include "auth/policy.h"
#include "tables/bitset.h"
#include "events/sums.h"
#include "limits/pool.h"
#include "limits/refusals.h"
#include "limits/share.h"
#include "rates/limiter.h"
#include "line.h"
#include "peers.h"
#include "redirect.h"
#include "state/record.h"
#include "turn_features.h"
#include "turn_line.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "usage.h"
#include "wheel.h"

// Limits with one bucket per key (limiter.h), and the key of each.
enum turn_limiter {
	TURN_LIMIT_STRANGERS, // answers to requests without a proof: by source and network
	TURN_LIMIT_BINDING, // answers to Binding requests: by source and network
	TURN_LIMIT_GUESSES, // failed verifications: by source and network
	TURN_LIMIT_GUESSES_NAME, // by user name
	TURN_LIMIT_GUESSES_PAIR, // by user name and source
	TURN_LIMIT_STALE, // answers to stale nonces: by 5-tuple
	TURN_LIMIT_ICMP, // ICMP errors: by allocation
	TURN_LIMIT_PEERS, // events about peers: by user
	TURN_LIMIT_END
};

struct relay_ports;

struct turn_shard {
	uint64_t now_ms, wall_s;
	struct turn_line *alloc; // nb_slots + nb_redirects
	struct turn_cold *cold; // nb_slots
	struct usage *usage; // nb_slots
	struct turn_permission *permission;
	struct turn_channel *channel;
	// By channel: the form in which the client wrote the peer (external_form). Allocated even
	// if no address has several forms, because a reload may add one.
	uint8_t *channel_form;
#define X(type, field, enabled) type *field;
	TURN_ARRAYS(X)
#undef X
	uint32_t nb_slots, nb_redirects, nb_permissions, nb_channels;
	struct table clients; // (client, port, listener) -> slot or redirect
	// Trees: of permissions by address, of channels by number, of channels by port.
	struct trie by_address, by_number, by_port;
	struct hash_key key; // for the hashes of trees and limiters
	struct hash_key client_key; // for the hashes of the table of clients
	struct turn_tids tids; // of Data indications
	uint32_t epoch; // grows with every insert into clients
	uint32_t tick; // now_ms in units of TURN_LINE_MS, as lines count
	uint32_t passed_over; // datagrams whose line has a copy of another channel or peer
	uint32_t sibling_hits; // datagrams of dual allocations whose look-up found the sibling
	const struct turn_policy *policy; // that of the first realm
	const struct turn_blocks *blocks; // NULL = none
	const struct turn_relay_map *map;
	struct turn_quota *quota;
#define X(type, field) type field;
	TURN_CONFIG_SHARD_PARAMS(X)
#undef X
	struct stun_crypto *crypto;
	struct csprng *rng;
	struct relay_ports *ports;
	struct limiter limiter[TURN_LIMIT_END];
	// Pairs of user name and source with a recent correct signature (stranger.c). One half of a
	// pair's hash is stored; the other half is its index.
	uint32_t *proven_pairs;
	struct refusals *refusals; // refusals that are combined into one event
	struct wheel wheel; // node = slot or redirect
	struct turn_pool permissions, channels, redirects;
	struct share permission_share, channel_share;
	struct share port_share[2]; // relay ports by [is_v4]; in mode shared [0] counts slots
	struct share redirect_share[REDIRECT_KINDS];
	struct bitset live; // slots of live allocations
	struct turn_listener *listener;
#define X(type, field, size, init, round, check) type field;
	TURN_PARTS(X)
#undef X
	struct turn_stats stats;
	struct sums_ahead ahead; // amounts by which stats.sums is ahead
	struct state_writer state; // the records that survive the process
	void (*line_made)(void *ctx, uint32_t slot);
	void (*moved)(void *ctx, uint32_t slot, uint64_t stream);
	void (*event)(void *ctx, const struct turn_event *e);
	void *ctx;
	struct turn_intake intake;
	// True if peers' datagrams need more checks than that of the permission, because relay
	// ports are shared or realms have relay pools.
	bool peers_asked;
	uint8_t worker, workers, nb_listeners;
	uint8_t percent; // percent of a pool that one user may hold
	unsigned int nb_notes;
	struct turn_redirect_note note[TURN_NOTES_MAX];
};

static inline struct turn_line *alloc_at(const struct turn_shard *s, uint32_t slot)
{
	return &s->alloc[slot];
}

static inline struct turn_cold *cold_at(const struct turn_shard *s, uint32_t slot)
{
	return &s->cold[slot];
}

// True if allocations share relay ports: slots then have no port of their own.
static inline bool shard_shares_ports(const struct turn_shard *s)
{
#ifdef FEATURE_SHARED
	return s->shared.nb > 0;
#else
	return false;
#endif
}

// The number of the realm of an allocation or reservation.
static inline uint8_t alloc_realm(const struct turn_shard *s, uint32_t slot)
{
	return quota_realm(cold_at(s, slot)->quota_user);
}

// The policy of that realm. After a reload has removed the realm, it is that of the first realm
// until the allocations have ended.
static inline const struct turn_policy *alloc_policy(const struct turn_shard *s, uint32_t slot)
{
	return policy_realm(s->policy, alloc_realm(s, slot));
}

// True if there is room for the notes about the end of a client's allocations, of which a dual
// allocation has two. If not, a caller that ends many allocations must continue after the data path
// has taken the notes.
static inline bool shard_has_notes(const struct turn_shard *s)
{
	return s->nb_notes + 2 <= TURN_NOTES_MAX;
}

// True if an allocation that has `has` records of a share may have nb more. A refusal is counted.
static inline bool share_allows(
	struct turn_shard *s, const struct share *h, uint32_t slot, uint32_t has, uint32_t nb)
{
	const bool fits = share_fits(h, cold_at(s, slot)->quota_user, has, nb);

	s->stats.pool_refused += !fits;
	return fits;
}

// Index of the relay address of an allocation. The line instead has the source address that the
// peer in its copy sees: with relay pools that may be the pool's address (relay_pools.h).
static inline uint32_t alloc_relay_index(const struct turn_shard *s, uint32_t slot)
{
	const uint32_t source = turn_mark_from(alloc_at(s, slot)->mark[TURN_FROM_PEER]);
	const struct relay_pools *p = &s->policy->relay_pools;

	return p->nb_pools == 0 ? source : source % p->nb_relay;
}

// True if the relayed transport address is IPv4.
static inline bool alloc_is_v4(const struct turn_shard *s, uint32_t slot)
{
	const struct addr a = turn_relay_map_addr(s->map, alloc_relay_index(s, slot));

	return addr_is_v4(&a);
}

// The relayed transport address of an allocation that is live or has ended in this round.
static inline struct endpoint alloc_relay(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_line *l = alloc_at(s, slot);

	return (struct endpoint){turn_relay_map_addr(s->map, alloc_relay_index(s, slot)),
		__builtin_bswap16(l->relay_port)};
}

// The relayed transport address that a peer sees.
static inline struct endpoint alloc_source(
	const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	const struct relay_pools *p = &s->policy->relay_pools;
	struct endpoint e = alloc_relay(s, slot);

	if (p->nb_pools > 0) {
		p = &alloc_policy(s, slot)->relay_pools;
		e.addr = p->addr[relay_pools_source(p, alloc_relay_index(s, slot), peer)];
	}
	return e;
}

// Milliseconds until an allocation expires; 0 if it has expired, ended or not.
static inline uint32_t alloc_left(const struct turn_shard *s, uint32_t slot)
{
	return ms_left(cold_at(s, slot)->expires, s->now_ms);
}

// True if the transport of a listener has a handshake (all except UDP), so that its clients have
// proved that they own their address.
static inline bool shard_handshakes(const struct turn_shard *s, uint8_t listener)
{
	return listener < s->nb_listeners && s->listener[listener].transport != TURN_OVER_UDP;
}

// Slot of the other half of a dual allocation; TURN_NONE if the allocation is not dual.
static inline uint32_t alloc_sibling(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);

	return c->is_dual ? c->sibling : TURN_NONE;
}

// Slot of the client's allocation that has this family, expired or not; TURN_NONE if there is no
// such allocation.
static inline uint32_t alloc_of_family(const struct turn_shard *s, uint32_t slot, bool is_v4)
{
	return alloc_is_v4(s, slot) == is_v4 ? slot : alloc_sibling(s, slot);
}

// This allocation or its sibling, whichever has not expired; TURN_NONE if both have.
static inline uint32_t alloc_living(const struct turn_shard *s, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(s, slot);

	if (alloc_left(s, slot) > 0)
		return slot;
	return sibling != TURN_NONE && alloc_left(s, sibling) > 0 ? sibling : TURN_NONE;
}

// True for a TCP allocation (RFC 6062): always false if the feature is not built.
static inline bool alloc_is_tcp(const struct turn_shard *s, uint32_t slot)
{
#ifdef FEATURE_TCP
	return line_state(alloc_at(s, slot)) == ALLOC_TCP;
#else
	return false;
#endif
}

// True if a slot has an allocation of any kind.
static inline bool alloc_is_live(const struct turn_shard *s, uint32_t slot)
{
	return line_state(alloc_at(s, slot)) == ALLOC_LIVE || alloc_is_tcp(s, slot);
}

// Hash of a client's 5-tuple (the listener represents server address and protocol).
static inline uint64_t shard_client_hash(
	const struct turn_shard *s, const struct addr *client, uint16_t port, uint8_t listener)
{
	return turn_client_hash(&s->client_key, client, turn_mark_client(port, listener));
}
