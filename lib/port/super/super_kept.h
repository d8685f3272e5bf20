// SPDX-License-Identifier: BSD-3-Clause
// The rest of a super-frame that a port had to cut: its first frames were sent, so the others must
// follow, before all other frames of the queue. Private to lib/port.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

#define SUPER_KEPT_MAX 256 // most frames of a super-frame
// Frames are dropped after this many ticks without progress. A tick takes a millisecond or more.
#define SUPER_KEPT_TICKS 1000

// The state of one queue. Only one lcore at a time uses and writes it, but any thread may read
// `cut` and *errors.
struct super_kept {
	// Sends plain frames, and returns the number sent or dropped. If that is less than n, the
	// queue has no room for more now.
	uint16_t (*send)(void *queue, struct rte_mbuf **m, uint16_t n);
	void *queue;
	struct rte_mempool *pool; // pool of the frames
	uint16_t most; // frames of a super-frame, up to SUPER_KEPT_MAX; more are an error
	uint16_t first, nb; // frame[first, first + nb) are kept
	uint16_t ticks; // ticks without progress
	uint64_t cut; // super-frames cut
	uint64_t *errors; // frames dropped
	struct rte_mbuf *frame[SUPER_KEPT_MAX];
};

// Sends the kept frames. True if no frames are kept any more.
bool super_kept_send(struct super_kept *k);
// Cuts a super-frame, sends its frames, and keeps those that cannot be sent now. Call it only while
// no frames are kept. True: m was accepted, or dropped because it cannot be cut. False: the caller
// still owns m, because no frame can be sent now or there are no buffers.
bool super_kept_cut(struct super_kept *k, struct rte_mbuf *m);
// Call it once a millisecond: sends the kept frames even without a next burst.
void super_kept_tick(struct super_kept *k);
// Drops the kept frames.
void super_kept_drop(struct super_kept *k);
