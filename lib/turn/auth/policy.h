// SPDX-License-Identifier: BSD-3-Clause
// The policy as lib/turn reads it; turn_policy.h has what others may know.
#pragma once

#include "hash.h"
#include "mobile/ticket.h"
#include "prefixes.h"
#include "relayed/external.h"
#include "relayed/relay_pools.h"
#include "requests/discovery.h"
#include "stun.h"
#include "table.h"
#include "turn_config.h"
#include "turn_policy.h"

// A configured user with keys ready for use.
struct policy_user {
	uint8_t userhash[32]; // its first TURN_IDENT_LEN bytes are the user's ident
	struct stun_key md5, sha256; // len 0 = there is no such key
	char *name;
};

// Where a rule comes from. If two are on the same prefix, the origin named first here wins.
enum policy_origin { POLICY_DENY, POLICY_ALLOW, POLICY_BUILTIN_DENY };

struct realms;
struct oauth;

// The policy of a realm. That of the first realm stands for all: a shard has it, and finds the
// others by it (realms.h).
struct turn_policy {
	char *realm;
	uint8_t number; // of the realm: 0 is the first
	struct realms *realms; // of the first realm's; NULL = there are no others
	// The first realm's, where this is another one's. That one owns all but users, secrets,
	// own_rules and relay_pools.rule.
	const struct turn_policy *first;
	struct policy_user *users; // nb_users
	uint32_t nb_users;
	// Hash indices into users: by name, and by userhash (its first 16 bytes are hashed).
	struct table by_name, by_hash;
	void *table_mem;
	struct hash_key key; // of both tables
	char **secrets;
	uint32_t nb_secrets;
	struct oauth *oauth; // keys of access tokens; NULL = there are none
	// Some realm has secrets, or keys of tokens: their clients have to send USERNAME.
	bool needs_names;
	uint8_t nonce_key[32];
	bool nonces_shared; // by the servers of a fleet
	struct ticket_keys ticket;
	uint8_t rest_expiry; // enum turn_rest_expiry
	uint32_t nonce_lifetime_s;
	struct turn_limits limits;
	bool hairpin, rfc5766_channels;
	uint8_t icmp_tell; // enum turn_icmp_tell
	uint8_t default_family; // enum turn_family
	uint32_t quarantine_s, interim_s, grace_s;
	struct prefixes *rules; // of all realms, with enum policy_origin
	struct prefixes *own_rules; // what the realm adds to them; NULL = nothing
	struct addr *relay, *local; // sorted by addr_cmp
	struct addr
		*beside; // those of local at which programs of this machine may be peers; sorted
	// By whether they are over TCP and TLS, sorted: no peers, whatever is allowed.
	struct endpoint *listener[2];
	// The relay ports, in the same way; there is no port from 1 to 0.
	uint16_t port_lo[2], port_hi[2];
	struct external external;
	struct relay_pools relay_pools;
	struct discovery discovery;
	struct addr *broadcasts; // of our IPv4 subnets, in both forms (RFC 1122 3.3.6), sorted
	struct turn_local *local_ports; // own addresses with their ports, sorted by address
	struct route *routes; // sorted; NULL = nobody asks whether peers can be reached
	struct prefix *nat64; // of translators: a peer behind one is judged by its IPv4 address
	uint32_t nb_relay, nb_local, nb_beside, nb_listener[2], nb_own, nb_routes, nb_broadcasts,
		nb_nat64;
};

// The user with this USERNAME or USERHASH; NULL when there is none.
const struct policy_user *policy_user_by_name(
	const struct turn_policy *p, const void *name, size_t len);
const struct policy_user *policy_user_by_hash(const struct turn_policy *p, const uint8_t hash[32]);
// Whether there is a user with this ident.
bool policy_has_ident(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN]);

// Makes the users and secrets of *c, of the realm p->realm. 0 or an errno value; turn_policy_free
// frees what was made in either case.
int policy_make_users(
	struct turn_policy *p, const struct turn_config *c, struct stun_crypto *crypto);

// Makes what a policy has of the box's addresses and of the rules of peers: all from rules to
// routes below limits, but nat64. 0 or an errno value; policy_free_addresses frees what was made in
// either case.
int policy_make_addresses(struct turn_policy *p, const struct turn_config *c);
void policy_free_addresses(struct turn_policy *p);

// Whether programs of this machine are peers at an own address: they can be reached there, and an
// entry of peers.allow is that one address.
bool policy_beside(const struct turn_policy *p, const struct addr *local);
// Whether an address is common: an external one of ours that others behind the same translation
// have, too, because an entry of peers.allow is that one address. They are peers at its ports that
// are none of ours.
bool policy_is_common(const struct turn_policy *p, const struct addr *a);
// What a client means by a peer: its address has the form that everything inside has, which is
// itself at others' ports of a common address.
struct endpoint policy_meant(
	const struct turn_policy *p, const struct endpoint *named, bool over_tcp);
// Whether an address is one of this box, and no peer but by hairpin, policy_beside or
// policy_is_common.
bool policy_is_own(const struct turn_policy *p, const struct addr *a);
// Whether there is a route to a peer for what a relay address (its index) sends to it.
bool policy_reaches(const struct turn_policy *p, uint32_t relay, const struct addr *peer);
// How much one user may have of what users share, in percent: `given` if not 0; else 100 when there
// can only be one user, `several` when there can be more.
uint32_t policy_percent(const struct turn_config *c, uint32_t given, uint32_t several);
