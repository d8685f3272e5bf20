// SPDX-License-Identifier: BSD-3-Clause
// Measures the time from receiving a datagram to sending it, for one datagram in TIMING_EACH. It
// costs a burst a few instructions, and a datagram no instruction.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct outbox;
struct rte_mbuf;
struct worker;

#define TIMING_EACH 1024

// Datagrams from ports are counted in blocks of TIMING_EACH, and one of each block is timed. Its
// position is random within the first half of the block. So no period of the traffic aligns with
// it, and two timed datagrams are never close.
struct timing {
	int32_t left; // datagrams before the next timed one
	uint16_t position; // position of the last one in its block
	const struct rte_mbuf *m; // the timed datagram, or NULL
	uint64_t since; // when it was received, in TSC
	// when the super-frames or VLANs of the current burst were received; 0 = just now
	uint64_t taken;
};

// Counts n datagrams that a port has received. True if one of them must be timed.
static inline bool timing_due(struct timing *t, unsigned int n)
{
	t->left -= (int32_t)n;
	return t->left < 0;
}

// Starts timing one of the n datagrams in the worker's burst, after timing_due.
void timing_begin(struct worker *w, unsigned int n);
// Call it when the burst has been relayed: continues only if the datagram is in an outbox. A
// datagram that was dropped, held, handed over, or put in the backlog is not timed.
void timing_settle(struct worker *w);
// True if the datagram is in an outbox that is about to be sent.
bool timing_goes(const struct worker *w, const struct outbox *o);
// Call it when its outbox has been sent: counts the time, unless the datagram was dropped.
void timing_sent(struct worker *w);
// Class of a time in dp_stats.time_hist.
unsigned int timing_class(uint64_t ns);
// Call it when a frame is dropped, or a super-frame that may contain it.
void timing_lost(struct worker *w, const struct rte_mbuf *m);
