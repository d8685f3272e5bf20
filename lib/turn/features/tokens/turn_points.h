// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for access tokens (RFC 7635) (lib/features/meson.build).
#pragma once

#include "features/tokens/oauth.h"
#include "features/tokens/tokens.h"

#define TOKENS_POLICY_REALM(X) X(struct oauth *, oauth, tokens_make, tokens_free)
#define TOKENS_IDENTS(X) X(tokens_nb_keys, tokens_ident)
#define TOKENS_SIGNATURES(X) X(tokens_signs, oauth_verify)
#define TOKENS_STORED(X) X(tokens_read, tokens_same, oauth_verify_known)
#define TOKENS_ATTRIBUTES(X) X(TOKENS_ACCESS_TOKEN, tokens_unknown)
#define TOKENS_CHALLENGE(X) X(tokens_put)
#define TOKENS_REFRESHED(X) X(tokens_refreshed)
