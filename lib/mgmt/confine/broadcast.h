// SPDX-License-Identifier: BSD-3-Clause
// Something that every thread has to do by itself. Private to lib/mgmt.
#pragma once

#include <stddef.h>

// Does something in the calling thread, whose name is given: from a signal handler, so it makes
// system calls and nothing else. Returns 0 or -errno.
typedef int (*broadcast_work)(const char *name, void *ctx);

// Has each thread of the process do work once, one after the other, those made meanwhile too; the
// calling one is the last. Threads that these make afterwards inherit what the kernel lets them. 0,
// or -errno with a reason that names the thread in error: some have done it then, others not.
int broadcast_run(broadcast_work work, void *ctx, char *error, size_t len);
