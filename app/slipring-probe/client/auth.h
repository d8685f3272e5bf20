// SPDX-License-Identifier: BSD-3-Clause
// The long-term credential of a client (RFC 8489 9.2): its key, made from the server's challenge.
// PURE (+libcrypto).
#pragma once

#include "result.h"

#define AUTH_ALGORITHMS_MAX 64 // bytes of PASSWORD-ALGORITHMS

struct auth {
	struct stun_crypto *crypto;
	char user[USER_MAX + 1]; // "" = no credentials
	char password[USER_MAX + 1];
	bool from_secret;
	// of the last challenge
	bool challenged;
	enum stun_algorithm alg;
	struct stun_key key;
	char realm[STUN_TEXT_MAX + 1];
	uint8_t nonce[STUN_TEXT_MAX];
	uint16_t nonce_len;
	uint8_t algorithms[AUTH_ALGORITHMS_MAX];
	uint16_t algorithms_len; // 0 = SHA-1 is used
};

// Takes name and password, or makes those of a REST secret that last an hour from now_s (Unix
// time). user and password, or secret, may be NULL. False if memory or libcrypto fails.
bool auth_init(
	struct auth *a, const char *user, const char *password, const char *secret, uint64_t now_s);
void auth_free(struct auth *a);
// Takes the challenge in a 401 or 438. FAULT_BAD_ANSWER if it cannot be used.
enum fault auth_challenge(struct auth *a, const struct stun_msg *m);
// Appends the credential and the integrity, once there was a challenge.
void auth_sign(const struct auth *a, struct stun_writer *w);
// True if an answer to a signed request has the right integrity. Some servers do not sign
// errors: those need no integrity.
bool auth_verify(const struct auth *a, const struct stun_msg *m);
