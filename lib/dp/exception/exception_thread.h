// SPDX-License-Identifier: BSD-3-Clause
// exception_thread.c: the thread between the workers' rings and the kernel's interfaces.
#pragma once

#include <stdint.h>

struct dp;
struct exception;
struct rte_mbuf;

// 0 or -errno; with no exception port there is no thread.
int exception_thread_start(struct dp *d);
// Returns when it has ended.
void exception_thread_stop(struct dp *d);
// One turn of the thread for one port, at a monotonic time. Returns how many packets were moved.
unsigned int exception_thread_turn(struct exception *e, uint64_t now_ns);
