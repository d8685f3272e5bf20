// SPDX-License-Identifier: BSD-3-Clause
// Notes that a worker takes of its progress. Each part of a round costs one store.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "counter.h"
#include "dp_progress.h"

// Written by the worker only, read by any thread.
struct progress {
	uint64_t rounds;
	uint32_t doing; // stage, source_id << 8, taken << 16
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

// Number of header bytes at the start of a frame that may be shown: Ethernet, up to two tags, IPv4
// or IPv6, UDP, and a STUN or ChannelData header, without anything after them. 0 if it has no such
// headers. n bytes of the frame can be read.
size_t progress_headers_len(const uint8_t *frame, size_t n);
