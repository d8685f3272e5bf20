// SPDX-License-Identifier: BSD-3-Clause
// What each worker is doing, for who watches over it and for who tells of a crash; and faults that
// are made on order, to try both. Public, beside dp.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "stream.h"

struct dp;

// The parts of a round: X(enum, name, what a worker does in it). of is the port, worker or thread
// that the part is about.
#define DP_STAGES(X)                                                                 \
	X(DP_STAGE_NONE, "none", "has made no round yet")                            \
	X(DP_STAGE_PORT, "port", "polls a port, or works at what came from it")      \
	X(DP_STAGE_WORKER, "worker", "works at what a worker has handed over")       \
	X(DP_STAGE_STREAM, "stream", "works at what a stream thread has")            \
	X(DP_STAGE_BACKLOG, "backlog", "works at requests that have waited")         \
	X(DP_STAGE_EXCEPTION, "exception", "takes what an exception port has")       \
	X(DP_STAGE_TICK, "tick", "does what is due by time, and answers management") \
	X(DP_STAGE_SEND, "send", "sends what is in its outboxes")                    \
	X(DP_STAGE_SLEEP, "sleep", "sleeps because there is nothing to do")          \
	X(DP_STAGE_ENDED, "ended", "makes no more rounds")

enum dp_stage {
#define X(id, name, meaning) id,
	DP_STAGES(X)
#undef X
		DP_STAGE_END
};

struct dp_progress {
	uint64_t rounds; // begun so far
	uint8_t stage; // enum dp_stage
	uint8_t source_id; // PORT, WORKER, STREAM: which one
	uint16_t taken; // PORT, WORKER, STREAM: packets in the burst; 0 = polls
};

// What a worker does at this moment. False when there is no such worker. Any thread, and a signal
// handler.
bool dp_progress(const struct dp *d, unsigned int worker, struct dp_progress *out);
// The threads beside the workers: of streams, and, if there is one, that of exception ports.
struct dp_thread {
	char name[16];
	uint64_t rounds;
	pid_t tid; // the kernel's number; 0: it does not run yet
	clockid_t clock; // of its CPU time
};

#define DP_THREADS_MAX (STREAM_THREADS_MAX + 1)

// That one of them goes on. False when there is none of that number. Any thread, between dp_start
// and dp_stop.
bool dp_thread_progress(const struct dp *d, unsigned int index, struct dp_thread *out);
const char *dp_stage_name(unsigned int stage); // NULL from DP_STAGE_END on

// Copies len bytes from an address that may be bad. False: they cannot be read.
typedef bool dp_copier(void *dst, const void *src, size_t len);

#define DP_HEADERS_MAX 128

// The headers of a frame of a worker's burst, as they are in its memory now.
struct dp_headers {
	uint32_t len; // of the frame
	uint8_t nb; // bytes of headers: Ethernet to UDP, and of a message its first 20 or 4
	uint8_t bytes[DP_HEADERS_MAX];
};

// Copies the headers of frame i (below taken) of a worker's burst, and nothing behind them. False:
// they cannot be read, or are none. For signal handlers: copy does not fault.
bool dp_progress_headers(const struct dp *d, unsigned int worker, unsigned int i, dp_copier *copy,
	struct dp_headers *out);

// --- control/fault.c -----------------------------------------------------------------------------

// Faults that a worker can be ordered to have (DP_ASK_FAULT): X(enum, name).
#define DP_FAULTS(X)               \
	X(DP_FAULT_SPIN, "spin")   \
	X(DP_FAULT_BLOCK, "block") \
	X(DP_FAULT_SEGV, "segv")   \
	X(DP_FAULT_BUS, "bus")     \
	X(DP_FAULT_FPE, "fpe")     \
	X(DP_FAULT_ILL, "ill")     \
	X(DP_FAULT_ABORT, "abort") \
	X(DP_FAULT_PANIC, "panic") \
	X(DP_FAULT_STACK, "stack") \
	X(DP_FAULT_CALL, "call")

enum dp_fault {
#define X(id, name) id,
	DP_FAULTS(X)
#undef X
		DP_FAULT_END
};

struct dp_fault_order {
	uint8_t fault; // enum dp_fault
	bool in_burst; // not at once, but with the next burst of a port
	uint32_t ms; // of SPIN (of CPU time) and BLOCK; 0 = for ever
};

const char *dp_fault_name(unsigned int fault); // NULL from DP_FAULT_END on
// Has that fault, now. It returns from SPIN and BLOCK, and from CALL where a filter has that fail.
// Any thread.
void dp_fault_now(const struct dp_fault_order *o);
