// SPDX-License-Identifier: BSD-3-Clause
// What happens when the process crashes: a report is written to a descriptor that was opened at the
// start, and then the signal has its usual end. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct crash_out;

// Adds lines to a report, in the handler of the signal.
typedef void crash_more(struct crash_out *o, void *ctx);

// Takes SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. version: a text that stays. Reports go to
// standard error until crash_to says otherwise. 0 or -errno.
int crash_open(const char *version);
// Reports go to fd, which is path's; both stay. fd -1: to standard error again.
void crash_to(int fd, const char *path);
// What the thread that crashes, and the workers, were doing. NULL: nothing to tell.
void crash_about(crash_more *more, void *ctx);
// A reason that a report is to tell, when there is none yet: at most 127 bytes of it.
void crash_reason(const char *text);
// Gives the signals back.
void crash_close(void);

// Copies from memory that may be bad, in a handler, too. At most 4,096 bytes. False: it is bad.
bool crash_copy(void *dst, const void *src, size_t len);
