// SPDX-License-Identifier: BSD-3-Clause
// timing.c: how long a worker takes from receiving a datagram to having sent it, measured of one
// in TIMING_EACH. It costs a burst a few instructions, and a datagram none.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct outbox;
struct rte_mbuf;
struct worker;

#define TIMING_EACH 1024

// Datagrams from ports are counted in blocks of TIMING_EACH, and one of each block is timed. Its
// place in the block is a random one of the first half: no period of the traffic meets it, and two
// are never close.
struct timing {
	int32_t left; // datagrams that come before the next one
	uint16_t place; // of the last one in its block
	const struct rte_mbuf *m; // on its way; NULL = none is
	uint64_t since; // when it was received, in TSC
	uint64_t taken; // when the super-frames or VLANs of a burst under way were; 0 = just now
};

// Counts n datagrams that a port has received. True: one of them is to be timed.
static inline bool timing_due(struct timing *t, unsigned int n)
{
	t->left -= (int32_t)n;
	return t->left < 0;
}

// Begins with one of the n datagrams in the worker's burst, after timing_due.
void timing_begin(struct worker *w, unsigned int n);
// The burst has been relayed: goes on only if the datagram is in an outbox. Dropped, held, handed
// over, or waiting as a request it is not timed.
void timing_settle(struct worker *w);
// Whether the datagram is in an outbox that is about to be sent.
bool timing_goes(const struct worker *w, const struct outbox *o);
// Its outbox has been sent: counts its time, unless it was dropped.
void timing_sent(struct worker *w);
// The class of a time in dp_stats.time_hist.
unsigned int timing_class(uint64_t ns);
// A frame, or a super-frame that it may be part of, is dropped.
void timing_lost(struct worker *w, const struct rte_mbuf *m);
