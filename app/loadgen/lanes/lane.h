// SPDX-License-Identifier: BSD-3-Clause
// A lane: everything that one lcore owns, and the outbox that its frames leave through.
#pragma once

#include <rte_mbuf.h>

#include "csprng.h"
#include "lanes/engine.h"
#include "lanes/lane_stats.h"

#define LANE_BURST 32

// The reason why a frame is sent. It decides which counter changes when the port does not take the
// frame.
enum frame_kind { FRAME_CONTROL, FRAME_UP, FRAME_DOWN, FRAME_ECHO, FRAME_REFLECTED };

struct outbox {
	unsigned int n;
	struct rte_mbuf *m[LANE_BURST];
	uint8_t kind[LANE_BURST];
	uint16_t len[LANE_BURST]; // of the measured payload, bytes
};

struct lane {
	struct engine *engine;
	unsigned int lcore, number; // number: also its queue on every port
	struct sender *sender; // NULL when the lane does not send
	struct receiver *receiver; // NULL when the lane does not receive
	struct links *links; // NULL when clients are addresses on a port
	struct csprng rng;
	uint32_t phase; // of the current round
	uint32_t followed; // phase of the last complete round; the main lcore reads it
	uint64_t now, now_ms; // time of the current round: TSC, and ms since the start
	uint64_t asked_ms; // lane 0: time of the last check of the next hops
	struct outbox out[SIDE_NB];
	struct lane_stats stats;
} __rte_cache_aligned;

// Makes a lane for an lcore; NULL when memory ran out. Main lcore.
struct lane *lane_create(struct engine *e, unsigned int lcore);
// Frees the lane, its sender, its receiver and its packets. Main lcore, after lane_run returned.
void lane_free(struct lane *l);
// The lane's loop, run on its lcore until PHASE_END.
int lane_run(void *lane);
// Returns a packet buffer, or NULL when the pool is empty, which is counted.
struct rte_mbuf *lane_alloc(struct lane *l);
// Puts m, whose headers are complete, into the outbox of a side and takes ownership of it. len is
// the length of the measured payload.
void lane_put(
	struct lane *l, unsigned int side, struct rte_mbuf *m, enum frame_kind kind, uint16_t len);
// Makes room in the outbox for n datagrams (at most LANE_BURST) that must leave together.
void lane_reserve(struct lane *l, unsigned int side, unsigned int n);
// Sends all frames in the outboxes.
void lane_flush(struct lane *l);
// True if all lanes have completed a round in the phase ordered last: they have begun its work, and
// their counters include all of the phase before. Main lcore.
bool lane_all_follow(const struct engine *e);
