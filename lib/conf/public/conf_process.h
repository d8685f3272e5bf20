// SPDX-License-Identifier: BSD-3-Clause
// Configuration of the privileges of the process.
#pragma once

// Reaction to a system call that a thread's filter does not allow.
enum conf_seccomp { CONF_SECCOMP_LOG, CONF_SECCOMP_KILL, CONF_SECCOMP_OFF };

struct conf_process {
	char *user; // user that root switches to once everything is open; NULL = no switch
	enum conf_seccomp seccomp;
};
