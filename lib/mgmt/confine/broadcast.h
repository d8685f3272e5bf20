// SPDX-License-Identifier: BSD-3-Clause
// Runs a function in every thread of the process. Private to lib/mgmt.
#pragma once

#include <stddef.h>

// The work, which runs in the thread with that name. It runs in a signal handler, so it makes
// system calls and nothing else. Returns 0 or -errno.
typedef int (*broadcast_work)(const char *name, void *ctx);

// Runs the work in each thread of the process, one after the other, including threads created
// meanwhile; the calling thread is the last. Later threads inherit the result as far as the kernel
// lets them. 0, or -errno with a reason in error that names the thread: then only some of the
// threads have done it.
int broadcast_run(broadcast_work work, void *ctx, char *error, size_t len);
