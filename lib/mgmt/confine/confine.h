// SPDX-License-Identifier: BSD-3-Clause
// Gives up what is needed no more once all is open. Private to lib/mgmt.
#pragma once

struct conf;

// In every thread: no new privileges, another user where process.user names one, the capabilities
// that the ports need while they run and no others, and a filter of system calls (process.seccomp).
// There is no way back. Call it on the management lcore when ports, sockets and files are open. 0,
// or -errno once the log has the reason; the process must not go on then.
int confine_enter(const struct conf *c);
// Takes all capabilities from the calling thread, and so from those that it makes. For threads that
// the management lcore makes later: they inherit what it has kept. Before confine_enter: nothing.
void confine_thread(void);
