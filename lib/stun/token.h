// SPDX-License-Identifier: BSD-3-Clause
// The self-contained access token of RFC 7635: what an authorization server seals for a TURN
// server, and a client carries there in ACCESS-TOKEN.
#pragma once

#include "stun.h"

#define STUN_TOKEN_KEY_MAX 32
#define STUN_TOKEN_LEN_MAX 76 // bytes of the longest token that can be right

// The ciphers that seal tokens; both names are those of the RFC.
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

// Reads a key of out->alg from text: hexadecimal digits, or base64 (RFC 4648 section 4) with or
// without its padding. Returns how many bytes the text stands for; out->bytes are set if that is
// stun_token_key_len. -1: it is neither.
int stun_token_key_read(const char *text, struct stun_token_key *out);

// What a token says.
struct stun_token {
	struct stun_key mac; // signs the requests that it comes with, and their answers
	uint64_t made_s; // seconds since 1970; the fraction behind it is left out
	uint32_t lifetime_s;
};

enum stun_token_state {
	STUN_TOKEN_GOOD,
	STUN_TOKEN_MALFORMED, // no token: a length in it is not what it can be
	STUN_TOKEN_FORGED, // not sealed with this key, or for another server, or changed since
	STUN_TOKEN_FAILED, // libcrypto has no AES-GCM
};

// Opens a token of len bytes, sealed with key for the server that is called name. The work is the
// same for all tokens that have a length that can be right; others cost nothing. Allocates nothing.
// The thread of c. *out is zero unless the token is good. Says nothing about its time.
struct stun_token_sealed {
	const uint8_t *data;
	size_t len;
	const struct stun_token_key *key;
	const char *name;
};
enum stun_token_state stun_token_open(
	struct stun_crypto *c, const struct stun_token_sealed *t, struct stun_token *out);
