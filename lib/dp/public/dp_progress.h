// SPDX-License-Identifier: BSD-3-Clause
// Progress of each worker, for the watchdog and for crash reports; and faults on demand, to test
// both. Public, like dp.h.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "stream.h"

struct dp;

// The parts of a round: X(enum, name, what a worker does in it). source_id is the port, worker or
// thread that the part is about.
#define DP_STAGES(X)                                                               \
	X(DP_STAGE_NONE, "none", "has made no round yet")                          \
	X(DP_STAGE_PORT, "port", "polls a port, or handles packets from it")       \
	X(DP_STAGE_WORKER, "worker", "handles packets from another worker")        \
	X(DP_STAGE_STREAM, "stream", "handles messages from a stream thread")      \
	X(DP_STAGE_BACKLOG, "backlog", "answers requests of the backlog")          \
	X(DP_STAGE_EXCEPTION, "exception", "takes packets from an exception port") \
	X(DP_STAGE_TICK, "tick", "runs timers, and answers management")            \
	X(DP_STAGE_SEND, "send", "sends the packets of its outboxes")              \
	X(DP_STAGE_SLEEP, "sleep", "sleeps because there is nothing to do")        \
	X(DP_STAGE_ENDED, "ended", "makes no more rounds")

enum dp_stage {
#define X(id, name, meaning) id,
	DP_STAGES(X)
#undef X
		DP_STAGE_END
};

struct dp_progress {
	uint64_t rounds; // rounds started
	uint8_t stage; // enum dp_stage
	uint8_t source_id; // PORT, WORKER, STREAM: which port, worker or thread
	uint16_t taken; // PORT, WORKER, STREAM: packets in the burst; 0 = still polling
};

// The current activity of a worker. False if there is no such worker. Any thread, and signal
// handlers.
bool dp_progress(const struct dp *d, unsigned int worker, struct dp_progress *out);
// The other threads of the data path: stream threads, and the thread of exception ports if there is
// one.
struct dp_thread {
	char name[16];
	uint64_t rounds;
	pid_t tid; // the kernel's thread id; 0 = it does not run yet
	clockid_t clock; // of its CPU time
};

#define DP_THREADS_MAX (STREAM_THREADS_MAX + 1)

// Reads the progress of thread `index`. False if there is no such thread. Any thread, between
// dp_start and dp_stop.
bool dp_thread_progress(const struct dp *d, unsigned int index, struct dp_thread *out);
const char *dp_stage_name(unsigned int stage); // NULL for DP_STAGE_END and above

// Copies len bytes from an address that may be invalid. False if they cannot be read.
typedef bool dp_copier(void *dst, const void *src, size_t len);

#define DP_HEADERS_MAX 128

// The headers of a frame of a worker's burst, as they are in memory now.
struct dp_headers {
	uint32_t len; // of the frame
	uint8_t nb; // bytes of headers: Ethernet to UDP, and the first 20 or 4 bytes of a message
	uint8_t bytes[DP_HEADERS_MAX];
};

// Copies the headers of frame i (below taken) of a worker's burst, without payload. False if they
// are unreadable or malformed. For signal handlers: copy does not fault.
bool dp_progress_headers(const struct dp *d, unsigned int worker, unsigned int i, dp_copier *copy,
	struct dp_headers *out);

// --- ask/fault.c -----------------------------------------------------------------------------

// Faults that a worker can be told to trigger (DP_ASK_FAULT): X(enum, name).
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
	uint32_t ms; // duration for SPIN (CPU time) and BLOCK; 0 = without end
};

const char *dp_fault_name(unsigned int fault); // NULL for DP_FAULT_END and above
// Triggers the fault in the calling thread. It returns from SPIN and BLOCK, and from CALL if a
// system call filter makes the call fail. Any thread.
void dp_fault_now(const struct dp_fault_order *o);
