// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical timer wheel over caller-supplied nodes, named by 32-bit index. Time is an argument
// in milliseconds; one tick is WHEEL_TICK_MS. A timer fires at or after its time, never before, and
// within one tick of it if wheel_expire is called often enough. No timer is set more than
// WHEEL_FAR_MS ahead: one for later fires then, and its owner sets it anew. Single owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WHEEL_TICK_MS 16
#define WHEEL_LEVELS 5
#define WHEEL_SLOTS 64 // 16 ms * 64^5: 198 days; later times are placed anew on the way
#define WHEEL_NONE UINT32_MAX
#define WHEEL_NODES_MAX (UINT32_C(1) << 31)
#define WHEEL_FAR_MS (((UINT64_C(1) << 31) - 1) * WHEEL_TICK_MS) // 397 days

struct wheel_node {
	uint32_t next;
	uint32_t prev; // first node of a list: names the list; WHEEL_NONE when idle
	uint32_t tick; // low half of the tick to fire at
};
_Static_assert(sizeof(struct wheel_node) == 12, "as small as can be");

struct wheel {
	struct wheel_node *node;
	uint64_t tick; // all earlier ticks have been expired
	uint32_t head[WHEEL_LEVELS][WHEEL_SLOTS];
	uint64_t occupied[WHEEL_LEVELS]; // bit s: head[level][s] is not empty
	uint32_t due; // list of nodes whose tick has come and that have not been handed out yet
};

// Starts a wheel at now_ms with n idle nodes. The caller provides nodes[n], which outlive the
// wheel; n is at most WHEEL_NODES_MAX.
void wheel_init(struct wheel *w, struct wheel_node *nodes, uint32_t n, uint64_t now_ms);
// Arms a node for when_ms, or moves it there if it is armed already.
void wheel_set(struct wheel *w, uint32_t id, uint64_t when_ms);
// Makes a node idle. Nothing happens if it is idle.
void wheel_cancel(struct wheel *w, uint32_t id);
bool wheel_armed(const struct wheel *w, uint32_t id);
// Arms an idle node, or moves an armed one to an earlier time; never to a later one.
void wheel_set_sooner(struct wheel *w, uint32_t id, uint64_t when_ms);
// Whether a node is armed for a time that is certainly later than now_ms.
bool wheel_later(const struct wheel *w, uint32_t id, uint64_t now_ms);
// Writes up to max nodes whose time has come to ids and makes them idle; returns how many. Call it
// again while wheel_behind(). The work of a call is bounded: it may return fewer nodes than are
// due, even none, because it moved others down.
unsigned int wheel_expire(struct wheel *w, uint64_t now_ms, uint32_t *ids, unsigned int max);
// The time until which wheel_expire() has nothing to do: no timer fires before it, and none that is
// armed now has to wait for longer than a tick if it is called then. UINT64_MAX: nothing is armed.
uint64_t wheel_next_ms(const struct wheel *w);
// Whether wheel_expire() has more to do at this time.
bool wheel_behind(const struct wheel *w, uint64_t now_ms);
