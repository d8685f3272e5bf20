// SPDX-License-Identifier: BSD-3-Clause
// Third-party authorization (RFC 7635): the keys that authorization servers share with this server,
// and requests that are signed with the MAC key of an access token.
#pragma once

#include "auth/cred.h"
#include "features/tokens/token.h"

// Tolerated difference of clocks in seconds (RFC 7635; known from its notes and from coturn).
#define OAUTH_DELTA_S 5
// An allocation stores 20 bytes of a token's key in mac, and 12 more bytes behind the name, if the
// name has at most this number of bytes.
#define OAUTH_NAME_SHORT 8

struct oauth_key {
	char *kid; // USERNAME of the requests whose tokens this key seals
	uint8_t ident[TURN_IDENT_LEN]; // that of a user with this name
	struct stun_token_key key;
};

// The part of a realm's policy for access tokens; immutable.
struct oauth {
	char *name; // of this server: used in challenges, and sealed into every token
	struct oauth_key *keys; // nb_keys, at least one
	uint32_t nb_keys;
};

// Makes the token keys of the realm with this name: *out is NULL if it has no keys. Returns 0 or an
// errno value; oauth_free frees a partial result in either case.
int oauth_make(struct oauth **out, const struct turn_oauth *src, const char *realm,
	struct stun_crypto *crypto);
void oauth_free(struct oauth *o); // wipes the keys; accepts NULL

// Verifies a request with ACCESS-TOKEN in a realm that has keys (p->oauth). Its REALM is that of p.
// Any token costs the same: one AES-GCM of at most 46 bytes, two HMACs of the request. out->guess
// is set unless only the token's time is wrong, or nothing. wall_s is the time of day.
// TURN_GRANTED: out->key signs the answer, and out->expiry_s, at least wall_s, is when the token
// ends.
enum turn_refusal oauth_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, struct turn_cred *out);
// Verifies a request without a token, by the key of the token of its 5-tuple's allocation. Such a
// request cannot extend anything: out->expiry_s is 0.
enum turn_refusal oauth_verify_known(struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *known, struct turn_cred *out);
