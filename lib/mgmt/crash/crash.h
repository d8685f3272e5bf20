// SPDX-License-Identifier: BSD-3-Clause
// Writes a report when the process crashes, to a descriptor that was opened at the start.
// Afterwards the signal has its default action. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct crash_out;

// Adds lines to a report. It runs in the signal handler.
typedef void crash_more(struct crash_out *o, void *ctx);

// Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. version must stay valid. Reports go to
// standard error until crash_to sets a file. 0 or -errno.
int crash_open(const char *version);
// Sends reports to fd, the file at path. Both must stay valid. fd -1: to standard error again.
void crash_to(int fd, const char *path);
// Sets the function that reports what the crashing thread and the workers were doing. NULL: none.
void crash_about(crash_more *more, void *ctx);
// Sets the reason that a report will state, unless there is one already: at most 127 bytes of it.
void crash_reason(const char *text);
// Restores the default action of the signals.
void crash_close(void);

// Copies from memory that may be unreadable, also in a handler. At most 4,096 bytes. False if it is
// unreadable.
bool crash_copy(void *dst, const void *src, size_t len);
