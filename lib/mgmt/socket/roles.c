// SPDX-License-Identifier: BSD-3-Clause
// The roles of clients of the control socket.
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket/roles.h"

static bool is_member(const struct roles_peer *p, gid_t group)
{
	bool found = p->gid == group;

	for (size_t i = 0; i < p->nb_groups && !found; i++)
		found = p->groups[i] == group;
	return found && group != ROLES_NO_GROUP;
}

enum role roles_judge(const struct roles *r, const struct roles_peer *p, uid_t owner)
{
	if (p->uid == 0 || p->uid == owner)
		return ROLE_OWNER;
	if (is_member(p, r->operators))
		return ROLE_OPERATOR;
	return is_member(p, r->readers) ? ROLE_READER : ROLE_NONE;
}

// Returns the supplementary groups, which the caller frees. NULL without any, or without memory:
// the process then has only its main group.
static gid_t *groups_of(int fd, size_t *nb)
{
	socklen_t len = 0;
	gid_t *groups;

	*nb = 0;
	// the first call fails with ERANGE, and tells the length
	getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len);
	groups = len > 0 ? malloc(len) : NULL;
	if (groups != NULL && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
		*nb = len / sizeof(*groups);
	return groups;
}

enum role roles_of(const struct roles *r, int fd, uid_t *uid, pid_t *pid)
{
	struct ucred cred;
	struct roles_peer p;
	socklen_t len = sizeof(cred);
	enum role role;
	gid_t *groups;

	*uid = (uid_t)-1;
	*pid = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return ROLE_NONE;
	*uid = cred.uid;
	*pid = cred.pid;
	p = (struct roles_peer){.uid = cred.uid, .gid = cred.gid};
	p.groups = groups = groups_of(fd, &p.nb_groups);
	role = roles_judge(r, &p, geteuid());
	free(groups);
	return role;
}
