// SPDX-License-Identifier: BSD-3-Clause
// Describes faults in words for people. PURE.
#pragma once

#include "result.h"

#define WORDS_SIZE 1024

// Facts that a 401 is judged by.
struct words_facts {
	const char *user; // the name that was sent
	bool from_secret; // its password was made from a secret
	uint64_t now_s; // Unix time
};

// Returns the fault that an error code means as the answer to a signed request of a step.
enum fault words_fault(enum step step, unsigned int code, const struct words_facts *facts);
// Writes what is wrong, with the detail of the result in brackets, as one line without a full stop.
// host: as the user wrote it. A name in braces in the texts of FAULTS is replaced: host, server,
// protocol, port, name, user, realm, relay, peer, code. Returns out.
char *words_what(const struct result *r, const char *host, char out[WORDS_SIZE]);
// Writes what to do about it. Returns out.
char *words_advice(const struct result *r, const char *host, char out[WORDS_SIZE]);
