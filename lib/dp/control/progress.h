// SPDX-License-Identifier: BSD-3-Clause
// progress.c: what a worker notes of what it does. It costs a store at each part of a round.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "counter.h"
#include "dp_progress.h"

// Written by the worker alone, read by any thread.
struct progress {
	uint64_t rounds;
	uint32_t doing; // stage, of << 8, taken << 16
};

static inline void progress_round(struct progress *p)
{
	counter_add(&p->rounds, 1);
}

static inline void progress_at(
	struct progress *p, enum dp_stage stage, unsigned int source_id, unsigned int taken)
{
	__atomic_store_n(
		&p->doing, (uint32_t)stage | source_id << 8 | taken << 16, __ATOMIC_RELAXED);
}

// How many bytes at the begin of a frame are headers that may be told: Ethernet, up to two tags,
// IPv4 or IPv6, UDP, and a STUN or ChannelData header, without what follows them. 0: none are. n
// bytes of the frame can be read.
size_t progress_headers_len(const uint8_t *frame, size_t n);
