// SPDX-License-Identifier: BSD-3-Clause
// Decides what a client of the control socket may do, from the credentials that the kernel noted
// when it connected. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ROLES_NO_GROUP ((gid_t)-1)

// Each role may do what the roles before it may.
enum role {
	ROLE_NONE, // may not connect
	ROLE_READER, // may see all that answers show, and change nothing
	ROLE_OPERATOR, // may also give orders
	ROLE_OWNER, // root and the user of this process: may also capture payload
};

// The groups whose members are operators and readers. ROLES_NO_GROUP = none.
struct roles {
	gid_t operators, readers;
};

// A process at the other end of a socket. A group of ROLES_NO_GROUP is never in the list.
struct roles_peer {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; // supplementary groups
	size_t nb_groups;
};

// The role of a process. owner: the user of this process. Pure.
enum role roles_judge(const struct roles *r, const struct roles_peer *p, uid_t owner);
// Reads the uid and pid of the process that has connected a Unix socket, and judges it. If the
// kernel does not tell its credentials, the role is ROLE_NONE and the uid is (uid_t)-1.
enum role roles_of(const struct roles *r, int fd, uid_t *uid, pid_t *pid);
