// SPDX-License-Identifier: BSD-3-Clause
// Functions for access tokens (RFC 7635) that other parts of lib/turn call at the points of
// lib/features/meson.build.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/cred.h"

struct oauth;
struct turn_cold;
struct turn_policy;
struct turn_request;

#define TOKENS_ACCESS_TOKEN 0x001B // wire type

// Makes the token keys of a realm: *out is NULL if it has no keys. Returns 0 or an errno value;
// tokens_free frees a partial result in either case.
int tokens_make(struct oauth **out, const struct turn_realm *realm, struct stun_crypto *crypto);
void tokens_free(struct oauth **o);
// The keys of a realm, each of which is one user.
uint32_t tokens_nb_keys(const struct turn_policy *p);
const uint8_t *tokens_ident(const struct turn_policy *p, uint32_t i);

// True if a realm accepts tokens.
bool tokens_accepted(const struct turn_policy *p);
// True if a request is judged by its token.
static inline bool tokens_signs(const struct turn_policy *p, const struct stun_msg *m)
{
	return stun_has(m, STUN_ACCESS_TOKEN) && tokens_accepted(p);
}

// Reads the key of the token that made an allocation, if a token made it.
void tokens_read(const struct turn_cold *c, struct turn_cred *out);
// False if the credentials are those of another token than made an allocation.
bool tokens_same(const struct turn_cold *c, const struct turn_cred *cred);

// ACCESS-TOKEN is an unknown attribute if no challenge has asked for it.
static inline bool tokens_unknown(const struct turn_policy *p, const struct stun_msg *m)
{
	return stun_has(m, STUN_ACCESS_TOKEN) && (m->method == STUN_BINDING || !tokens_accepted(p));
}
// Appends THIRD-PARTY-AUTHORIZATION if tokens are accepted.
void tokens_put(struct turn_request *r);
// Makes the token of a Refresh that of the allocation, and of its sibling. The allocation still
// counts for the user of the token that made it.
void tokens_refreshed(struct turn_request *r);
