// SPDX-License-Identifier: BSD-3-Clause
// The policy as lib/turn reads it; turn_policy.h has what others may know.
#pragma once

#include "hash.h"
#include "stun.h"
#include "table.h"
#include "turn_config.h"
#include "turn_policy.h"

// A configured user, keys ready.
struct policy_user {
	uint8_t userhash[32]; // its first TURN_IDENT_LEN bytes are the user's ident
	struct stun_key md5, sha256; // len 0 = not to be had
	char *name;
};

// Who made a rule: of two on the same prefix the one named first here wins.
enum policy_origin { POLICY_DENY, POLICY_ALLOW, POLICY_BUILTIN_DENY };

struct policy_rule {
	struct prefix prefix;
	uint8_t origin; // enum policy_origin
};

struct turn_policy {
	char *realm;
	struct policy_user *users; // nb_users
	uint32_t nb_users;
	// Two hash indices into users, by name and by userhash (hash of its first 16 bytes).
	struct table by_name, by_hash;
	void *table_mem;
	struct hash_key key; // of both tables
	char **secrets;
	uint32_t nb_secrets;
	uint8_t nonce_key[32];
	uint32_t nonce_lifetime_s;
	struct turn_limits limits;
	bool hairpin, rfc5766_channels;
	uint32_t quarantine_s;
	// One rule a prefix, by length and then address; those of length len are at
	// [rule_from[len], rule_from[len + 1]).
	struct policy_rule *rules;
	uint32_t nb_rules, rule_from[130];
	struct addr *relay, *local; // sorted by addr_cmp
	struct addr *broadcasts; // of our IPv4 subnets, in both forms (RFC 1122 3.3.6), sorted
	struct prefix *nat64; // of translators: who is behind one is judged by his IPv4 address
	uint32_t nb_relay, nb_local, nb_broadcasts, nb_nat64;
};

// User of a USERNAME or a USERHASH; NULL when there is none.
const struct policy_user *policy_user_by_name(
	const struct turn_policy *p, const void *name, size_t len);
const struct policy_user *policy_user_by_hash(const struct turn_policy *p, const uint8_t hash[32]);

// How much one user may have of what users share, in percent: as given, else all for the only user
// that there can be, and so much where there are several.
uint32_t policy_percent(const struct turn_config *c, uint32_t given, uint32_t several);
