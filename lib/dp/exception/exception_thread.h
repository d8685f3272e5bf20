// SPDX-License-Identifier: BSD-3-Clause
// The thread between the workers' rings and the kernel's interfaces.
#pragma once

#include <stdint.h>

struct dp;
struct exception;
struct rte_mbuf;

// Returns 0 or -errno. Without an exception port there is no thread.
int exception_thread_start(struct dp *d);
// Returns after the thread has stopped.
void exception_thread_stop(struct dp *d);
// One turn of the thread for one port, at a monotonic time. Returns the number of packets moved.
unsigned int exception_thread_turn(struct exception *e, uint64_t now_ns);
