// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical timer wheel over caller-supplied nodes with 32-bit indexes. Time is an argument in
// milliseconds; one tick is WHEEL_TICK_MS. A timer fires at or after its time, never before, and
// within one tick of it if wheel_expire is called often enough. No timer is set more than
// WHEEL_FAR_MS ahead: a later one fires then, and its owner sets it again. Single owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WHEEL_TICK_MS 16
#define WHEEL_LEVELS 5
#define WHEEL_SLOTS 64 // 16 ms * 64^5: 198 days; later times are moved down later
#define WHEEL_NONE UINT32_MAX
#define WHEEL_NODES_MAX (UINT32_C(1) << 31)
#define WHEEL_FAR_MS (((UINT64_C(1) << 31) - 1) * WHEEL_TICK_MS) // 397 days

struct wheel_node {
	uint32_t next;
	uint32_t prev; // in the first node of a list: the list; WHEEL_NONE if idle
	uint32_t tick; // low half of the tick at which it fires
};
_Static_assert(sizeof(struct wheel_node) == 12, "as small as possible");

struct wheel {
	struct wheel_node *node;
	uint64_t tick; // all earlier ticks have been expired
	uint32_t head[WHEEL_LEVELS][WHEEL_SLOTS];
	uint64_t occupied[WHEEL_LEVELS]; // bit s: head[level][s] is not empty
	uint32_t due; // list of expired nodes not returned yet
};

// Starts a wheel at now_ms with n idle nodes. The caller provides nodes[n], which outlive the
// wheel; n is at most WHEEL_NODES_MAX.
void wheel_init(struct wheel *w, struct wheel_node *nodes, uint32_t n, uint64_t now_ms);
// Arms a node for when_ms, or moves it there if it is armed already.
void wheel_set(struct wheel *w, uint32_t id, uint64_t when_ms);
// Makes a node idle, if it is not idle already.
void wheel_cancel(struct wheel *w, uint32_t id);
bool wheel_armed(const struct wheel *w, uint32_t id);
// Arms an idle node, or moves an armed one to an earlier time; never to a later one.
void wheel_set_sooner(struct wheel *w, uint32_t id, uint64_t when_ms);
// True if a node is armed for a time that is certainly later than now_ms.
bool wheel_later(const struct wheel *w, uint32_t id, uint64_t now_ms);
// Writes up to max expired nodes to ids and makes them idle; returns their number. Call it again
// while wheel_behind() is true. The work of a call is bounded: it may return fewer nodes than are
// due, even 0, because it moved others down.
unsigned int wheel_expire(struct wheel *w, uint64_t now_ms, uint32_t *ids, unsigned int max);
// Returns the time until which wheel_expire() has nothing to do: no timer fires earlier, and no
// armed timer is late by more than a tick if it is called then. UINT64_MAX if no timer is armed.
uint64_t wheel_next_ms(const struct wheel *w);
// True if wheel_expire() has more to do at this time.
bool wheel_behind(const struct wheel *w, uint64_t now_ms);
