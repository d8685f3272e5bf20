// SPDX-License-Identifier: BSD-3-Clause
// The rest of a super-frame that a port had to cut: its first frames were sent, so the others must
// follow, before all other frames of the queue. Private to lib/port.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

#define SUPER_KEPT_MAX 256 // most frames of a super-frame
// Ticks, of a millisecond or more, without progress, after which the frames are dropped.
#define SUPER_KEPT_TICKS 1000

// The state of one queue. One lcore at a time, which alone writes it; any thread may read `cut` and
// *errors.
struct super_kept {
	// Sends plain frames of the queue, and returns the number sent or dropped. Fewer than n: no
	// room for more now.
	uint16_t (*send)(void *queue, struct rte_mbuf **m, uint16_t n);
	void *queue;
	struct rte_mempool *pool; // pool of the frames
	uint16_t most; // frames of a super-frame, at most SUPER_KEPT_MAX; a longer one is an error
	uint16_t first, nb; // frame[first, first + nb) are kept
	uint16_t ticks; // ticks without progress
	uint64_t cut; // super-frames cut
	uint64_t *errors; // frames dropped
	struct rte_mbuf *frame[SUPER_KEPT_MAX];
};

// Sends the kept frames. True if no frames are kept any more.
bool super_kept_send(struct super_kept *k);
// Cuts a super-frame and sends its frames, while nothing is kept, and keeps those that cannot be
// sent now. True: m was accepted, or dropped because it cannot be cut. False: the caller keeps m,
// because no frame can be sent now or there are no buffers.
bool super_kept_cut(struct super_kept *k, struct rte_mbuf *m);
// Call it once a millisecond: sends the kept frames even without a next burst.
void super_kept_tick(struct super_kept *k);
// Drops the kept frames.
void super_kept_drop(struct super_kept *k);
