// SPDX-License-Identifier: BSD-3-Clause
// Gives up privileges that only the start needs. Private to lib/mgmt.
#pragma once

struct conf;

// Sets in every thread: no new privileges, the user of process.user if it is set, only those
// capabilities that the ports need while they run, and a filter of system calls (process.seccomp).
// It cannot be undone. Call it on the management lcore when ports, sockets and files are open. 0,
// or -errno after logging the reason; the process must not continue then.
int confine_enter(const struct conf *c);
// Drops all capabilities of the calling thread, and so of threads that it creates. For threads that
// the management lcore creates later, because they inherit its capabilities. Does nothing before
// confine_enter.
void confine_thread(void);
