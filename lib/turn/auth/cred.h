// SPDX-License-Identifier: BSD-3-Clause
// Identifies who has signed a request, and verifies the signature (RFC 8489 9.2, TURN REST API).
#pragma once

#include "feature_names.h"
#include "stun.h"
#include "turn_config.h"
#include "turn_refusal.h"

struct turn_policy;

// Values of turn_cred.alg in addition to those of enum stun_algorithm: an MD5 key that is stored
// itself, because nothing shorter would give it again, and the key of an access token.
#define CRED_KEY 0
#define CRED_TOKEN 3

// The user who has signed a request, and the key.
struct turn_cred {
	struct stun_key key;
	uint8_t alg; // enum stun_algorithm of the key, CRED_KEY or CRED_TOKEN
	bool rest; // a REST name, not a configured user
	bool rfc8489; // the request had PASSWORD-ALGORITHMS, which older clients do not send
	bool guess; // a password was tried, right or wrong, or no user has that name
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t name_len;
	char name[TURN_NAME_LEN]; // for display, truncated; for a USERHASH the configured name
	// REST: the time of day in the name. Token: the time of day when it ends, or 0 if the
	// request has no token and is signed with the key of the allocation's token.
	uint64_t expiry_s;
	// REST: the password is its base64 text; all zero if that was made with SHA-256. CRED_KEY:
	// the key. Token: part of the key (oauth.h).
	uint8_t mac[STUN_REST_MAC_LEN];
};

// True if alg is that of an access token. No credential has such a key if the feature is not built.
static inline bool cred_alg_is_token(uint8_t alg)
{
#ifdef FEATURE_TOKENS
	return alg == CRED_TOKEN;
#else
	return false;
#endif
}

static inline bool cred_is_token(const struct turn_cred *c)
{
	return cred_alg_is_token(c->alg);
}

// Sets the name for display.
void cred_name_set(struct turn_cred *c, const void *name, size_t len);

// Authenticates a request whose nonce is valid and which has MESSAGE-INTEGRITY or -SHA256, USERNAME
// or USERHASH, REALM and NONCE (RFC 8489 9.2.4, from "password algorithms" on). known is the cred
// of the allocation on the 5-tuple, or NULL: it saves deriving a REST user's MAC from the secrets.
// wall_s is the time of day in seconds. Returns TURN_GRANTED or the reason for a refusal.
// TURN_REFUSED_ALGORITHMS is a bid-down: PASSWORD-ALGORITHMS differs from the value we sent, only
// one of the pair is present, or the algorithm is not in the list. A configured user of that name
// is tried first. A REST name is "expiry" or "expiry:id" (decimal seconds): it costs at most two
// derivations for each secret, by SHA-1 and by SHA-256. An expired one is refused before that; if
// the policy ignores the expiry, only in an Allocate. A feature may take a request instead
// (TURN_SIGNATURES).
enum turn_refusal cred_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, const struct turn_cred *known,
	struct turn_cred *out);

// The ident for which an allocation counts. It is that of the user, except that a REST name counts
// by its ID without the expiry: new credentials do not make a new user. Each access token counts as
// a user, because many share the name of its key. False if libcrypto fails.
bool cred_quota_ident(const struct turn_policy *p, struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *cred, uint8_t out[TURN_IDENT_LEN]);

// The value of PASSWORD-ALGORITHMS that a realm offers: SHA-256 and MD5, or MD5 alone if the realm
// has no SHA-256 keys. Returns its length.
size_t cred_algorithms(const struct turn_policy *p, const uint8_t **list);
// The algorithm of the key that a request is signed with. False for a bid-down: see cred_verify.
bool cred_algorithm(
	const struct turn_policy *p, const struct stun_msg *m, enum stun_algorithm *alg);

// REST secrets, and the arguments of cred_verify of the same names.
struct cred_rest {
	const char *const *secrets;
	uint32_t nb_secrets;
	uint64_t wall_s;
	const struct turn_cred *known;
};

// Like cred_verify, but only for REST names of these secrets, of a request of which cred_verify has
// checked everything that does not depend on the user. TURN_REFUSED_USER_UNKNOWN: it has another
// name.
enum turn_refusal cred_verify_rest(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, const struct cred_rest *rest, struct turn_cred *out);
