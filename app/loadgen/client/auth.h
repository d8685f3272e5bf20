// SPDX-License-Identifier: BSD-3-Clause
// The credentials of clients. For the files of client/ only.
#pragma once

#include "client/client.h"

// Makes the names, and room for the keys and nonces of all clients. False when memory ran out.
bool auth_init(struct clients *p, uint64_t wall_s);
void auth_free(struct clients *p);
// Whether client i can sign a request: it has a key and a nonce.
bool auth_ready(const struct clients *p, uint32_t i);
// Takes realm, nonce and algorithms of a 401 or 438 and makes the key. Returns CLIENT_NB_FAULTS
// when client i can sign now. Else it returns what is wrong with the challenge, and keeps none of
// it.
enum client_fault auth_challenge(
	struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code);
// Appends the credentials and the MESSAGE-INTEGRITY of client i.
void auth_sign(struct clients *p, uint32_t i, struct stun_writer *w);
// Whether an answer to client i's signed request came from the server. The caller ignores the
// answer when it did not. code: of an error response; 0 when it has none.
bool auth_verify(const struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code);
