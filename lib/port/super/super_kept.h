// SPDX-License-Identifier: BSD-3-Clause
// What is left of a super-frame that a port has had to cut: its first frames have gone, so the
// others have to follow, before anything else of the queue. Private to lib/port.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

#define SUPER_KEPT_MAX 256 // frames that a super-frame is cut into, at most
// Ticks, of a millisecond or more, in which nobody takes any of them. Then they are given up.
#define SUPER_KEPT_TICKS 1000

// A queue's own. One lcore at a time, which alone writes it; `cut` and *errors are read by any
// thread.
struct super_kept {
	// Sends plain frames of the queue, and returns how many are taken: sent, or given up. Fewer
	// than n: no more go now.
	uint16_t (*send)(void *queue, struct rte_mbuf **m, uint16_t n);
	void *queue;
	struct rte_mempool *pool; // for the frames
	uint16_t most; // frames of a super-frame, at most SUPER_KEPT_MAX; a longer one is an error
	uint16_t first, nb; // frame[at, at + nb) are kept
	uint16_t ticks; // without success
	uint64_t cut; // super-frames
	uint64_t *errors; // frames given up
	struct rte_mbuf *frame[SUPER_KEPT_MAX];
};

// Sends what is kept. True when nothing is, any more.
bool super_kept_send(struct super_kept *k);
// Sends a super-frame in pieces while nothing is kept, and keeps those that do not go. True: m is
// taken, or given up because nobody can cut it. False: it stays the caller's, as none of it goes
// now or there are no buffers.
bool super_kept_cut(struct super_kept *k, struct rte_mbuf *m);
// Once a millisecond: sends what is kept although there is no next burst.
void super_kept_tick(struct super_kept *k);
// Gives up what is kept.
void super_kept_drop(struct super_kept *k);
