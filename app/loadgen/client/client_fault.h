// SPDX-License-Identifier: BSD-3-Clause
// Why a client failed.
#pragma once

// X(enum, name, meaning). Each failure counts once, under one of these.
#define CLIENT_FAULTS(X)                                                                          \
	X(CLIENT_FAULT_TIMEOUT, "timeout", "no answer to any transmission of a request")          \
	X(CLIENT_FAULT_REFUSED, "refused", "error response (see errors by code)")                 \
	X(CLIENT_FAULT_BAD_ANSWER, "bad-answer",                                                  \
		"answer with an attribute missing, malformed or unknown, or of the wrong family") \
	X(CLIENT_FAULT_INTEGRITY, "integrity",                                                    \
		"all answers to a request had no integrity or a wrong one")                       \
	X(CLIENT_FAULT_LOST, "lost",                                                              \
		"437: the server has deleted the allocation before it expired")                   \
	X(CLIENT_FAULT_STALE_NONCE, "stale-nonce", "every new nonce was called stale at once")    \
	X(CLIENT_FAULT_REALM, "realm-changed",                                                    \
		"challenge with another realm, or other algorithms, than before")                 \
	X(CLIENT_FAULT_NO_SHA256, "no-sha256",                                                    \
		"SHA-256 asked for, but PASSWORD-ALGORITHMS is missing or lacks it")              \
	X(CLIENT_FAULT_CONNECTION, "connection",                                                  \
		"the connection to the server failed or was closed")                              \
	X(CLIENT_FAULT_REQUEST, "request",                                                        \
		"request longer than the MTU, or libcrypto failed (MD5 in FIPS mode)")

enum client_fault {
#define X(id, name, text) id,
	CLIENT_FAULTS(X)
#undef X
		CLIENT_NB_FAULTS
};
// The short name ("timeout"), and the meaning in words.
const char *client_fault_name(enum client_fault f);
const char *client_fault_text(enum client_fault f);
// Returns the reason phrase of a STUN error code; "" when it is not known.
const char *client_fault_error_text(unsigned int code);
