// SPDX-License-Identifier: BSD-3-Clause
// The policy as lib/turn reads it; turn_policy.h is its public part.
#pragma once

#include "feature_names.h"
#include "hash.h"
#include "tables/prefixes.h"
#include "relayed/external.h"
#include "relayed/relay_pools.h"
#include "stun.h"
#include "tables/table.h"
#include "turn_config.h"
#include "turn_features.h"
#include "turn_policy.h"

// A configured user with keys ready for use.
struct policy_user {
	uint8_t userhash[32]; // its first TURN_IDENT_LEN bytes are the user's ident
	struct stun_key md5, sha256; // len 0 = no such key
	char *name;
};

// Origin of a rule. If two rules have the same prefix, the origin listed first here wins.
enum policy_origin { POLICY_DENY, POLICY_ALLOW, POLICY_BUILTIN_DENY };

// The policy of a realm. A shard has that of the first realm, and finds the others through it.
struct turn_policy {
	char *realm;
	uint8_t number; // number of the realm: 0 is the first
#define X(type, field, make, move, free) type field;
	TURN_POLICY_LAST(X)
#undef X
	struct policy_user *users; // nb_users
	uint32_t nb_users;
	// Hash indices into users: by name, and by userhash (its first 16 bytes are hashed).
	struct table by_name, by_hash;
	void *table_mem;
	struct hash_key key; // of both tables
	char **secrets;
	uint32_t nb_secrets;
	// Some realm has secrets, or credentials of a feature: their clients must send USERNAME.
	bool needs_names;
	uint8_t nonce_key[32];
	bool nonces_shared; // by the servers of a fleet
#define X(type, field, make) type field;
	TURN_POLICY_KEYS(X)
#undef X
#define X(type, field, value) type field;
	TURN_POLICY_VALUES(X)
#undef X
	uint8_t rest_expiry; // enum turn_rest_expiry
	uint32_t nonce_lifetime_s;
	struct turn_limits limits;
	bool hairpin, rfc5766_channels, tells_peers;
	uint8_t icmp_tell; // enum turn_icmp_tell
	uint8_t default_family; // enum turn_family
	uint32_t quarantine_s, interim_s;
	struct prefixes *rules; // of all realms; values are enum policy_origin
	struct prefixes *own_rules; // additional rules of the realm; NULL = no rules
	// Rules for clients' addresses; values are enum policy_origin; NULL = all are served.
	struct prefixes *clients;
	struct addr *relay, *local; // sorted by addr_cmp
	struct addr *beside; // the part of local at which local programs may be peers; sorted
	// [over_tcp], sorted. Never peers, whatever is allowed.
	struct endpoint *listener[2];
	// The relay ports, [over_tcp]; 1 to 0 means no port.
	uint16_t port_lo[2], port_hi[2];
	struct external external;
	struct relay_pools relay_pools;
#define X(type, field, make, free) type field;
	TURN_POLICY_ADDRESSES(X)
	TURN_POLICY_REALM(X)
#undef X
	struct addr *broadcasts; // of our IPv4 subnets, in both forms (RFC 1122 3.3.6), sorted
	struct turn_local *local_ports; // our addresses with their ports, sorted by address
	struct route *routes; // sorted; NULL = reachability of peers is not checked
	struct prefix *nat64; // of translators: a peer behind one is judged by its IPv4 address
	uint32_t nb_relay, nb_local, nb_beside, nb_listener[2], nb_own, nb_routes, nb_broadcasts,
		nb_nat64;
};

// True if another program knows users of the realm.
static inline bool policy_looks_up(const struct turn_policy *p)
{
#ifdef FEATURE_LOOKUP
	return p->looked_up != 0;
#else
	return false;
#endif
}

// True if clients of the realm may sign with SHA-256 keys: not if the program that looks up its
// users has MD5 keys only.
static inline bool policy_has_sha256(const struct turn_policy *p)
{
#ifdef FEATURE_LOOKUP
	return !policy_looks_up(p) || p->lookup_sha256;
#else
	return true;
#endif
}

// The user with this USERNAME or USERHASH; NULL if there is no such user.
const struct policy_user *policy_user_by_name(
	const struct turn_policy *p, const void *name, size_t len);
const struct policy_user *policy_user_by_hash(const struct turn_policy *p, const uint8_t hash[32]);
// True if there is a user with this ident.
bool policy_has_ident(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN]);
// True if a feature has a user with this ident (TURN_IDENTS).
bool policy_has_key(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN]);

// Makes the parts of a policy that belong to one realm: its name and number, its limits, users,
// secrets and own_rules. p->limits are those of all realms, and p->key is made. Returns 0 or an
// errno value; policy_free_realm frees a partial result in either case.
int policy_make_realm(
	struct turn_policy *p, const struct turn_realm *realm, struct stun_crypto *crypto);
// Frees these parts, and p itself.
void policy_free_realm(struct turn_policy *p);

// Makes the parts of a policy that depend on the box's addresses and on the rules for peers: the
// fields from rules to routes, except nat64. Returns 0 or an errno value; policy_free_addresses
// frees a partial result in either case.
int policy_make_addresses(struct turn_policy *p, const struct turn_config *c);
void policy_free_addresses(struct turn_policy *p);
// A copy of a policy with the addresses and rules of src, which both share. NULL without memory.
// secret_free frees it.
struct turn_policy *policy_copy(const struct turn_policy *p, const struct turn_policy *src);

// True if local programs are peers at one of our addresses: they can be reached there, and an entry
// of peers.allow is exactly that address.
bool policy_beside(const struct turn_policy *p, const struct addr *local);
// True if an address is common: one of our external addresses that other hosts behind the same
// translation share, because an entry of peers.allow is exactly that address. Those hosts are peers
// at all its ports that are not ours.
bool policy_is_common(const struct turn_policy *p, const struct addr *a);
// Converts the peer address that a client named to its internal form, which is the address itself
// for other hosts' ports of a common address.
struct endpoint policy_meant(
	const struct turn_policy *p, const struct endpoint *named, bool over_tcp);
// True if an address belongs to this box, so that it is a peer only by hairpin, policy_beside or
// policy_is_common.
bool policy_is_own(const struct turn_policy *p, const struct addr *a);
// True if there is a route to a peer from a relay address (its index).
bool policy_reaches(const struct turn_policy *p, uint32_t relay, const struct addr *peer);
// Percentage of a shared resource that one user may have: `given` if not 0; else 100 if there can
// only be one user, `several` if there can be more.
static inline uint32_t policy_percent(const struct turn_config *c, uint32_t given, uint32_t several)
{
	if (given != 0)
		return given;
	return turn_config_one_user(c) ? 100 : several;
}

// --- the realms of a policy, which is that of the first ------------------------------------------

// Number of realms, and the policy of the realm at an index below it: 0 is the first.
static inline uint32_t policy_nb_realms(const struct turn_policy *p)
{
#define X(nb, nth, numbered, serves, choose) +nb(p)
	return 1 TURN_REALMS(X);
#undef X
}

static inline const struct turn_policy *policy_nth_realm(const struct turn_policy *p, uint32_t i)
{
#define X(nb, nth, numbered, serves, choose) \
	if (i > 0)                           \
		return nth(p, i - 1);
	TURN_REALMS(X)
#undef X
	return p;
}

// The policy of the realm with this number: p itself if there is one realm, or the number is
// unused.
static inline const struct turn_policy *policy_realm(const struct turn_policy *p, uint8_t number)
{
#define X(nb, nth, numbered, serves, choose) return numbered(p, number);
	TURN_REALMS(X)
#undef X
	return p;
}

// True if clients of a listener are served in the realm with this number.
static inline bool policy_serves(const struct turn_policy *p, uint8_t listener, uint8_t number)
{
#define X(nb, nth, numbered, serves, choose) return serves(p, listener, number);
	TURN_REALMS(X)
#undef X
	return number == 0;
}
