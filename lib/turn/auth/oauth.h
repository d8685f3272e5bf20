// SPDX-License-Identifier: BSD-3-Clause
// Third-party authorization (RFC 7635): the keys that authorization servers share with this one,
// and requests that are signed with the MAC key of an access token.
#pragma once

#include "auth/cred.h"
#include "token.h"

// So far may clocks be apart (RFC 7635; known from its notes and from coturn).
#define OAUTH_DELTA_S 5

struct oauth_key {
	char *kid; // USERNAME of the requests whose tokens it has sealed
	uint8_t ident[TURN_IDENT_LEN]; // as of a user with that name
	struct stun_token_key key;
	uint64_t until_s; // time of day from which it opens no token any more
};

// What the policy of a realm has of it; immutable.
struct oauth {
	char *name; // of this server: in challenges, and sealed into every token
	struct oauth_key *keys; // nb_keys, at least one
	uint32_t nb_keys;
};

// Makes what the realm called realm has of it: *out is NULL where there are no keys. 0 or an errno
// value; oauth_free frees what was made in either case.
int oauth_make(struct oauth **out, const struct turn_oauth *src, const char *realm,
	struct stun_crypto *crypto);
void oauth_free(struct oauth *o); // wipes the keys; NULL is fine
// Whether a policy has a key with this ident.
bool oauth_has_ident(const struct turn_policy *p, const uint8_t ident[TURN_IDENT_LEN]);

// Verifies a request with ACCESS-TOKEN in a realm that has keys (p->oauth). Its REALM is that of p.
// The token is opened whether or not it is any good: one AES-GCM of 46 bytes at most, two HMACs of
// the request. out->guess is set unless the token is good for its time alone. wall_s is the time of
// day. TURN_GRANTED: out->key signs, and out->expiry_s, wall_s at least, is when the token ends.
enum turn_refusal oauth_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, struct turn_cred *out);
// Verifies a request without one by the key of the token that the allocation of its 5-tuple has.
// Such a request can prolong nothing: out->expiry_s is 0.
enum turn_refusal oauth_verify_known(struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *known, struct turn_cred *out);
