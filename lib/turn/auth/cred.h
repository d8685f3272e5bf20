// SPDX-License-Identifier: BSD-3-Clause
// Who has signed a request, and whether the signature is right (RFC 8489 9.2, TURN REST API).
#pragma once

#include "stun.h"
#include "turn_config.h"

struct turn_policy;

// Who has signed a request, and with what.
struct turn_cred {
	struct stun_key key;
	uint8_t alg; // enum stun_algorithm of the key
	bool rest; // a REST name, not a configured user
	bool guess; // a password was tried, right or wrong, or there is nobody of that name
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t name_len;
	char name[TURN_NAME_LEN]; // for display, truncated; the configured name behind a USERHASH
	uint8_t mac[STUN_REST_MAC_LEN]; // rest: of which the password is the text
};

// Authenticates a request whose nonce is valid and which has MESSAGE-INTEGRITY or -SHA256, USERNAME
// or USERHASH, REALM and NONCE (RFC 8489 9.2.4, from "password algorithms" on). known is the cred
// of the allocation on the 5-tuple, or NULL: it spares a REST user the derivation of the key, never
// the expiry. Returns 0, 400 (bid-down: PASSWORD-ALGORITHMS differs from what we sent, only one of
// the pair, or an algorithm not in the list; USERNAME too long) or 401. REST: name is "expiry" or
// "expiry:id" (decimal seconds); at most nb_secrets derivations, none when expired. A configured
// user of that name is tried first.
unsigned int cred_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, const struct turn_cred *known,
	struct turn_cred *out);

// Who an allocation counts for: the ident, but for a REST name that of the id behind the expiry, so
// that new credentials are no new person. False when libcrypto fails.
bool cred_quota_ident(const struct turn_policy *p, struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *cred, uint8_t out[TURN_IDENT_LEN]);

// The PASSWORD-ALGORITHMS value we send: SHA-256, MD5 (8 bytes).
extern const uint8_t cred_algorithms[8];
