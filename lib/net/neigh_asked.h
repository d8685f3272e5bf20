// SPDX-License-Identifier: BSD-3-Clause
// Whom the workers have asked for of late. One worker hears an answer that another waits for, along
// with what anybody else says, and has to tell what matters from what does not: a flood of lies
// must cost the others nothing, and must not hide the owner's answer. So each question is worth one
// answer of the owner that is known, or of anybody when all were asked, and some claims of others.
// Whether what is told is true each worker judges by its own table (neigh_learn).
// All functions may be called by any worker at any time. Times are of one clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net.h"

struct neigh_asked; // opaque

size_t neigh_asked_size(void);
// mem has neigh_asked_size() bytes, aligned to 64. It belongs to the caller.
struct neigh_asked *neigh_asked_create(void *mem, const struct hash_key *key);
// A question is about to be sent.
void neigh_asked_note(struct neigh_asked *a, const struct neigh_ask *ask, uint64_t now_ms);
// Somebody has learnt that this is the target's MAC.
void neigh_asked_owner(struct neigh_asked *a, const struct addr *target, uint8_t port,
	const uint8_t mac[6], uint64_t now_ms);
// What a message says may be an answer that a worker waits for, or a claim that one has to judge:
// all have to be told. from_ask: it is a question, which tells of the asker (as neigh_learn).
bool neigh_asked_for(struct neigh_asked *a, const struct net_neigh_msg *msg, uint8_t port,
	bool from_ask, uint64_t now_ms);
