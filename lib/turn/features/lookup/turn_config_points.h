// SPDX-License-Identifier: BSD-3-Clause
// Additions to the public part of lib/turn for users who are looked up (lib/features/meson.build).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rates/bucket.h"

struct turn_lookup_question;

// Users whom this server does not know are looked up by another program.
struct turn_lookup {
	bool enabled;
	const char *socket; // path of a Unix socket
	bool sha256; // the program has SHA-256 keys, too
	char **realms; // names of the realms whose users are looked up; none = all realms
	uint32_t nb_realms;
	uint32_t users; // records of looked-up users, on each worker
	uint32_t questions; // without an answer yet, on each worker; at most 2^15
	uint32_t waiting; // requests that wait for an answer, on each worker
	uint32_t deadline_ms; // of an answer
	struct limit each; // questions because of requests from one address
};

// Gives a question to the data path. The question is valid during the call only. False if it cannot
// be taken now.
typedef bool turn_lookup_ask(void *ctx, const struct turn_lookup_question *q);

#define LOOKUP_FIELDS(X) X(struct turn_lookup, lookup)
// 1 if users of the realm are looked up.
#define LOOKUP_REALM_FIELDS(X) X(uint32_t, looked_up)
#define LOOKUP_CREDENTIALS(X) X(looked_up)
#define LOOKUP_SHARD_PARAMS(X) X(turn_lookup_ask *, ask)
