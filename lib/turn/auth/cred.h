// SPDX-License-Identifier: BSD-3-Clause
// Who has signed a request, and whether the signature is right (RFC 8489 9.2, TURN REST API).
#pragma once

#include "stun.h"
#include "turn_config.h"
#include "turn_refusal.h"

struct turn_policy;

// What turn_cred.alg says beside enum stun_algorithm: the key is that of an access token.
#define CRED_TOKEN 3
// What an allocation keeps of such a key are 20 bytes in the place of mac, and behind the name, if
// that has no more than so many bytes, 12 more.
#define CRED_NAME_SHORT 8

// Who has signed a request, and with what.
struct turn_cred {
	struct stun_key key;
	uint8_t alg; // enum stun_algorithm of the key, or CRED_TOKEN
	bool rest; // a REST name, not a configured user
	bool rfc8489; // the request had PASSWORD-ALGORITHMS, which older clients do not send
	bool guess; // a password was tried, right or wrong, or no user has that name
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t name_len;
	char name[TURN_NAME_LEN]; // for display, truncated; the configured name behind a USERHASH
	// Rest: the time of day that the name has. Token: that at which it ends, 0 = the request
	// has none, and is signed with the key of the allocation's.
	uint64_t expiry_s;
	// Rest: the password is its base64 text. Token: part of its key, see CRED_NAME_SHORT.
	uint8_t mac[STUN_REST_MAC_LEN];
};

static inline bool cred_is_token(const struct turn_cred *c)
{
	return c->alg == CRED_TOKEN;
}

// Sets the name for display.
void cred_name_set(struct turn_cred *c, const void *name, size_t len);
// Makes *c, whose name is set, the credentials of a token with this MAC key: a key of 32 bytes
// shortens the name.
void cred_token_set(struct turn_cred *c, const struct stun_key *mac);
// The key that is in what is kept of such credentials: mac and name of the allocation. One of 32
// bytes that ends in 12 zeros is the same to HMAC as one of 20 (RFC 2104).
struct stun_key cred_token_key(
	const uint8_t mac[STUN_REST_MAC_LEN], const char name[TURN_NAME_LEN], uint8_t name_len);

// Authenticates a request whose nonce is valid and which has MESSAGE-INTEGRITY or -SHA256, USERNAME
// or USERHASH, REALM and NONCE (RFC 8489 9.2.4, from "password algorithms" on). known is the cred
// of the allocation on the 5-tuple, or NULL: it spares a REST user the derivation of the MAC from
// the secrets. wall_s is the time of day in seconds. Returns
// TURN_GRANTED or why not. TURN_REFUSED_ALGORITHMS is a bid-down: PASSWORD-ALGORITHMS differs from
// what we sent, only one of the pair is there, or the algorithm is not in the list. A configured
// user of the name is tried first. A REST name is "expiry" or "expiry:id" (decimal seconds): it
// costs at most nb_secrets derivations. One that has expired is refused before that; where the
// policy ignores the expiry, only in an Allocate. Where the realm has keys of tokens,
// a request with ACCESS-TOKEN is judged by that alone (oauth.h). Without one, on the 5-tuple of an
// allocation that was made by a token, its key is known.
enum turn_refusal cred_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, const struct turn_cred *known,
	struct turn_cred *out);

// The ident that an allocation counts for. It is that of the user, except that a REST name counts
// by the id behind its expiry: new credentials are no new person. An access token is a user of its
// own, because many share the name of its key. False when libcrypto fails.
bool cred_quota_ident(const struct turn_policy *p, struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *cred, uint8_t out[TURN_IDENT_LEN]);

// The value of PASSWORD-ALGORITHMS that we send: SHA-256, MD5 (8 bytes).
extern const uint8_t cred_algorithms[8];
