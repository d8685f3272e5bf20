// SPDX-License-Identifier: BSD-3-Clause
// Limits the system calls of a thread with a kernel filter (seccomp). Private to lib/mgmt.
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

// The role of a thread. Workers may make the calls that their ports need, stream threads those for
// sockets and memory. All other threads may make a server's calls, except those that help an
// attacker: programs, namespaces, mounts, modules, tracing or BPF.
enum calls_role { CALLS_WORKER, CALLS_STREAM, CALLS_OTHER };

// Kinds of ports, as bits.
#define CALLS_VTAP 1u
#define CALLS_SOCKET 2u // af_packet, af_xdp
#define CALLS_TAP 4u
#define CALLS_PACKET 16u
#define CALLS_DRIVER 8u // its calls are unknown, so workers have the list of all other threads

#define CALLS_CODE_MAX 512

struct calls {
	struct sock_filter code[CALLS_CODE_MAX];
	unsigned short nb;
};

// Makes the filter of a role with ports of these kinds. A forbidden call ends the process (kill),
// or fails with EPERM and is logged in the kernel's audit log. 0 or -errno.
int calls_make(struct calls *c, enum calls_role role, unsigned int kinds, bool kill);
// Puts the calling thread under a filter, irrevocably. Needs no_new_privs or CAP_SYS_ADMIN. 0 or
// -errno. Makes one system call and nothing else.
int calls_apply(const struct calls *c);
