// SPDX-License-Identifier: BSD-3-Clause
// Questions of workers about users, and the answers. All functions: one thread, which is neither a
// worker nor management, so that nothing else waits for answers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_lookup.h"

struct dp;

// A question as it is on the ring: a copy of struct turn_lookup_question.
struct dp_lookup_question {
	uint64_t id;
	uint8_t ident[TURN_IDENT_LEN];
	struct endpoint client;
	uint8_t transport; // enum turn_transport
	uint16_t name_len, realm_len;
	uint8_t name[TURN_LOOKUP_NAME_MAX];
	char realm[764]; // no terminating NUL
} __attribute__((aligned(4)));

// Takes up to max questions of all workers. Returns their number.
unsigned int dp_lookup_take(struct dp *d, struct dp_lookup_question *out, unsigned int max);
// A descriptor that becomes readable when a question comes after dp_lookup_sleep; -1 if users are
// not looked up. The caller reads it (eventfd).
int dp_lookup_fd(const struct dp *d);
// Call it before waiting for the descriptor. False if a question is there already.
bool dp_lookup_sleep(struct dp *d);
// Makes the descriptor readable. Any thread.
void dp_lookup_wake(struct dp *d);
// Gives an answer to the worker that has asked, which counts those that come too late. Keys also go
// to all other workers, so that a user is asked about once. False if the id has no worker, or its
// ring is full: the worker then takes the deadline for an answer.
bool dp_lookup_answer(struct dp *d, const struct turn_lookup_answer *a);
// Gives a secret to all workers. False if one of them has no room now: give it again later. A
// worker ignores what it already has.
bool dp_lookup_secret(struct dp *d, const struct turn_lookup_secret *secret);
