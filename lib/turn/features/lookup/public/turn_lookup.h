// SPDX-License-Identifier: BSD-3-Clause
// Users who are looked up: a shard asks about a user whom the configuration does not have, and the
// request waits for the answer. All functions: worker lcore.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "turn_config.h"

struct turn_shard;

#define TURN_LOOKUP_NAME_MAX 508 // bytes of a USERNAME (RFC 8489 14.3)
#define TURN_LOOKUP_SECRET_MAX 256
#define TURN_LOOKUP_SECRETS 16 // of a realm

struct turn_lookup_question {
	uint64_t id; // unique for the life of the process; the worker is in its 6 highest bits
	uint8_t ident[TURN_IDENT_LEN]; // of the user
	struct endpoint client;
	uint8_t transport; // enum turn_transport
	uint16_t name_len; // at most TURN_LOOKUP_NAME_MAX
	const uint8_t *name; // as the client sent it
	const char *realm;
};

enum turn_lookup_result {
	TURN_LOOKUP_KEYS, // the user exists, with at least one key
	TURN_LOOKUP_UNKNOWN, // there is no such user
	TURN_LOOKUP_NO_ANSWER, // nobody can say
};

struct turn_lookup_answer {
	uint64_t id; // of the question; 0: another worker has asked it about the user of ident
	uint8_t ident[TURN_IDENT_LEN];
	uint8_t result; // enum turn_lookup_result
	bool has_md5, has_sha256;
	uint8_t md5[16], sha256[32]; // keys (RFC 8489 9.2.2, 18.5.1)
	uint32_t lifetime_s; // for which the answer holds
	uint32_t stale_s; // for which it holds after that as long as there is no other answer
};

// One REST secret of a realm. A list has all secrets of the realm, and replaces the list before it
// once it is complete.
struct turn_lookup_secret {
	uint64_t list; // number of the list, the same for all its secrets
	uint8_t index, nb; // of the secret, and number of secrets in the list, maybe 0
	char realm[764], secret[TURN_LOOKUP_SECRET_MAX + 1]; // with a terminating NUL
};

// The worker that has asked a question.
static inline unsigned int turn_lookup_worker(uint64_t id)
{
	return (unsigned int)(id >> 58);
}

// The place of a question: the requests that wait for it have it as `flow` in their plans
// (TURN_WAIT). Below turn_lookup.questions.
static inline uint32_t turn_lookup_place(uint64_t id)
{
	return (uint32_t)id & 0x7fff;
}

// Takes an answer, its own or another worker's. True if the question still waited for it: the
// requests at its place can then be routed again. Their views must have the flag TURN_VIEW_WAITED.
bool turn_lookup_answered(struct turn_shard *s, const struct turn_lookup_answer *a);
// The place of a question after its deadline, as if "no answer" had been the answer; TURN_NONE if
// all others still have time. Call it until then.
uint32_t turn_lookup_overdue(struct turn_shard *s);
// Takes one secret of a realm. Ignored if this server does not look up users of that realm.
void turn_lookup_secret(struct turn_shard *s, const struct turn_lookup_secret *secret);
