// SPDX-License-Identifier: BSD-3-Clause
// The credentials of clients. Only the files of client/ include it.
#pragma once

#include "client/client.h"

// Makes the names, and room for the keys and nonces of all clients. False when memory ran out.
bool auth_init(struct clients *p, uint64_t wall_s);
void auth_free(struct clients *p);
// True if client i can sign a request: it has a key and a nonce.
bool auth_ready(const struct clients *p, uint32_t i);
// Reads realm, nonce and algorithms of a 401 or 438 and makes the key. Returns CLIENT_NB_FAULTS if
// client i can sign now. Otherwise it returns the fault of the challenge, and stores no part of it.
enum client_fault auth_challenge(
	struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code);
// Appends the credentials and the MESSAGE-INTEGRITY of client i.
void auth_sign(struct clients *p, uint32_t i, struct stun_writer *w);
// True if an answer to client i's signed request came from the server. Otherwise the caller ignores
// the answer. code: of an error response; 0 for a success response.
bool auth_verify(const struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code);
