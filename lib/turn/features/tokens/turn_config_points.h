// SPDX-License-Identifier: BSD-3-Clause
// Additions to struct turn_config for access tokens (RFC 7635) (lib/features/meson.build).
#pragma once

#include <stdint.h>

// A key with which an authorization server seals access tokens for this server.
struct turn_oauth_key {
	char *kid; // its name, and the USERNAME of requests
	char *secret; // in hexadecimal or base64
	uint8_t algorithm; // enum stun_token_alg
};

#define TURN_OAUTH_KEYS_MAX 64
struct turn_oauth {
	char *server_name; // name for which tokens are made; NULL = the realm
	struct turn_oauth_key *keys;
	uint32_t nb_keys; // 0 = no tokens are accepted
};

#define TOKENS_REALM_FIELDS(X) X(struct turn_oauth, oauth)
#define TOKENS_CREDENTIALS(X) X(oauth.nb_keys)
