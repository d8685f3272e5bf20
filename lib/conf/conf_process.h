// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of the privileges of the process.
#pragma once

// What becomes of a thread that makes a system call which is not its own.
enum conf_seccomp { CONF_SECCOMP_LOG, CONF_SECCOMP_KILL, CONF_SECCOMP_OFF };

struct conf_process {
	char *user; // whom root becomes once all is open; NULL = nobody else
	enum conf_seccomp seccomp;
};
