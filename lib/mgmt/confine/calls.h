// SPDX-License-Identifier: BSD-3-Clause
// Which system calls a thread may make, as a filter for the kernel (seccomp). Private to lib/mgmt.
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

// What a thread is for. Workers make the calls of their ports, stream threads those of sockets and
// memory. All others may do what a server does, and nothing by which somebody gets further: no
// programs, namespaces, mounts, modules, tracing or BPF.
enum calls_role { CALLS_WORKER, CALLS_STREAM, CALLS_OTHER };

// Kinds of ports, as bits.
#define CALLS_VTAP 1u
#define CALLS_SOCKET 2u // af_packet, af_xdp
#define CALLS_TAP 4u
#define CALLS_PACKET 16u
#define CALLS_DRIVER 8u // of whose calls nothing is known: workers have the list of all others

#define CALLS_CODE_MAX 512

struct calls {
	struct sock_filter code[CALLS_CODE_MAX];
	unsigned short nb;
};

// Makes the filter of a role with ports of these kinds. A call that is not allowed ends the process
// (kill), or fails with EPERM and is in the kernel's audit log. 0 or -errno.
int calls_make(struct calls *c, enum calls_role role, unsigned int kinds, bool kill);
// Puts the calling thread under a filter, for good. It needs no_new_privs or CAP_SYS_ADMIN. 0 or
// -errno. It makes one system call and nothing else.
int calls_apply(const struct calls *c);
