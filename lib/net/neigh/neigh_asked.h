// SPDX-License-Identifier: BSD-3-Clause
// Recent ARP and ND requests of all workers. A worker receives answers that another worker waits
// for, along with unsolicited messages of other hosts, and must forward only those that matter: a
// flood of forged messages must cost the other workers nothing, and must not hide the owner's
// answer. So each request allows one answer of the known owner, or of anybody if it was sent to
// all, and a few claims of other hosts. Each worker decides with its own table if a message is true
// (neigh_learn). Any worker may call any function at any time. All times must come from one clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net.h"

struct neigh_asked; // opaque

size_t neigh_asked_size(void);
// mem has neigh_asked_size() bytes, aligned to 64. It belongs to the caller.
struct neigh_asked *neigh_asked_create(void *mem, const struct hash_key *key);
// Records a request that is about to be sent.
void neigh_asked_note(struct neigh_asked *a, const struct neigh_ask *ask, uint64_t now_ms);
// Records that a worker has learned the target's MAC.
void neigh_asked_owner(struct neigh_asked *a, const struct addr *target, uint8_t port,
	const uint8_t mac[6], uint64_t now_ms);
// True if a message may be an answer that a worker waits for, or a claim that the workers must
// check: it must be forwarded to all workers. from_ask: it is a request with the asker's MAC (see
// neigh_learn).
bool neigh_asked_for(struct neigh_asked *a, const struct net_neigh_msg *msg, uint8_t port,
	bool from_ask, uint64_t now_ms);
