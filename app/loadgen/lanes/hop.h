// SPDX-License-Identifier: BSD-3-Clause
// Where a destination is on layer 2: the next hops of both sides.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define HOPS_MAX 1024

struct engine;
struct lane;

// Next hop on one side. Entries are only ever added, under the lock; mac is read and written whole.
struct hop {
	struct addr target; // on-link destination, or the side's gateway
	uint8_t side;
	uint64_t mac; // 1 << 48 | MAC, in the order of its bytes from the lowest; 0 = not known
	uint64_t asked_ms; // lane 0 only
};

#define HOP_KNOWN (UINT64_C(1) << 48)
#define HOP_NONE UINT16_MAX

// Next hop to dst on a side, made when there is none; HOP_NONE when it cannot be reached or the
// table is full. Any lane.
uint16_t hop_to(struct engine *e, unsigned int side, const struct addr *dst);
void hop_learn(struct engine *e, unsigned int side, const struct addr *who, const uint8_t mac[6]);
bool hop_known(const struct engine *e, uint16_t hop);
// Asks for the next hops that do not answer yet, and now and then for the others. Lane 0.
void hop_tick(struct lane *l);
// First next hop without an answer, as text for a message; false when all are known.
bool hop_missing(const struct engine *e, char *text, size_t len);
