// SPDX-License-Identifier: BSD-3-Clause
// The self-contained access token of RFC 7635: an authorization server seals it for a TURN server,
// and a client presents it in ACCESS-TOKEN.
#pragma once

#include "stun.h"

#define STUN_TOKEN_KEY_MAX 32
#define STUN_TOKEN_LEN_MAX 76 // bytes of the longest valid token

// The ciphers that seal tokens, by their names in the RFC.
enum stun_token_alg { STUN_TOKEN_A256GCM, STUN_TOKEN_A128GCM };

// A key that an authorization server shares with this one.
struct stun_token_key {
	uint8_t bytes[STUN_TOKEN_KEY_MAX];
	uint8_t alg; // enum stun_token_alg
};

static inline size_t stun_token_key_len(uint8_t alg)
{
	return alg == STUN_TOKEN_A128GCM ? 16 : 32;
}

// Reads a key for out->alg from text: hexadecimal digits, or base64 (RFC 4648 section 4) with or
// without padding. Returns the number of bytes that the text encodes; out->bytes are set if that is
// stun_token_key_len. Returns -1 if the text is neither.
int stun_token_key_read(const char *text, struct stun_token_key *out);

// The contents of a token.
struct stun_token {
	struct stun_key mac; // signs the requests that present the token, and their answers
	uint64_t made_s; // seconds since 1970; the token's fraction is dropped
	uint32_t lifetime_s;
};

enum stun_token_state {
	STUN_TOKEN_GOOD,
	STUN_TOKEN_MALFORMED, // a length in it is not valid
	STUN_TOKEN_FORGED, // sealed with another key or for another server, or modified
	STUN_TOKEN_FAILED, // libcrypto has no AES-GCM
};

// Opens a token of len bytes, sealed with key for the server called name. The work is the same for
// all tokens of a valid length; others cost nothing. Allocates nothing. Runs in the thread of c.
// *out is zero unless the token is good. Does not check the token's time.
struct stun_token_sealed {
	const uint8_t *data;
	size_t len;
	const struct stun_token_key *key;
	const char *name;
};
enum stun_token_state stun_token_open(
	struct stun_crypto *c, const struct stun_token_sealed *t, struct stun_token *out);
