// SPDX-License-Identifier: BSD-3-Clause
// A lane: what one lcore owns, and the way of its frames out.
#pragma once

#include <rte_mbuf.h>

#include "csprng.h"
#include "lanes/engine.h"
#include "lanes/lane_stats.h"

#define LANE_BURST 32

// Why a frame is sent: what becomes of the counters when the port does not take it.
enum frame_kind { FRAME_CONTROL, FRAME_UP, FRAME_DOWN, FRAME_ECHO, FRAME_REFLECTED };

struct outbox {
	unsigned int n;
	struct rte_mbuf *m[LANE_BURST];
	uint8_t kind[LANE_BURST];
	uint16_t len[LANE_BURST]; // of the payload
};

struct lane {
	struct engine *engine;
	unsigned int lcore, number; // number: its queue on every port
	struct sender *sender; // NULL when it is none
	struct receiver *receiver;
	struct links *links; // NULL: clients are addresses on a port
	struct csprng rng;
	uint32_t phase; // of this round
	uint32_t followed; // of the last that has ended; the main lcore reads it
	uint64_t now, now_ms; // of this round: TSC, and milliseconds since the start
	uint64_t asked_ms; // lane 0: next hops
	struct outbox out[SIDE_NB];
	struct lane_stats stats;
} __rte_cache_aligned;

struct lane *lane_create(struct engine *e, unsigned int lcore);
void lane_free(struct lane *l);
int lane_run(void *lane);
// A buffer, or NULL (counted).
struct rte_mbuf *lane_alloc(struct lane *l);
// Takes the buffer. len is that of the measured payload.
void lane_put(
	struct lane *l, unsigned int side, struct rte_mbuf *m, enum frame_kind kind, uint16_t len);
// Makes room for so many (at most LANE_BURST) that are to leave together.
void lane_reserve(struct lane *l, unsigned int side, unsigned int n);
void lane_flush(struct lane *l);
// Whether all lanes have ended a round in the phase that was ordered last: they have begun what it
// asks for, and what rounds of the phase before have counted can be read. Main lcore.
bool lane_all_follow(const struct engine *e);
