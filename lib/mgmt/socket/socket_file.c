// SPDX-License-Identifier: BSD-3-Clause
// Creates and removes the file of the control socket.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "conf.h"
#include "socket/socket_file.h"

#define FOLDER "/run/slipring"
#define BACKLOG 64
#define LOCK_MS 1000 // how long another process may hold the lock
#define LOCK_LOOK_MS 10

// Sets the path: that of the configuration, or a default with the name of the instance.
static int path_of(struct socket_file *p, const struct conf *c)
{
	const char *prefix = c->eal_file_prefix;
	int n;

	if (c->control.socket != NULL)
		n = snprintf(p->path, sizeof(p->path), "%s", c->control.socket);
	else if (prefix == NULL || strcmp(prefix, "slipring") == 0)
		n = snprintf(p->path, sizeof(p->path), FOLDER "/control.sock");
	else
		n = snprintf(p->path, sizeof(p->path), FOLDER "/%s.sock", prefix);
	return n < (int)sizeof(p->path) ? 0 : -ENAMETOOLONG;
}

static struct sockaddr_un address_of(const struct socket_file *p)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memcpy(a.sun_path, p->path, sizeof(a.sun_path));
	return a;
}

// Locks a file next to the socket, so that only one of two processes replaces a dead socket. Other
// users cannot open that file, so they cannot block a start. Returns the descriptor or -errno.
static int socket_file_lock(const struct socket_file *p, bool make)
{
	char copy[sizeof(p->path)], name[sizeof(p->path) + 8];
	const struct timespec pause = {.tv_nsec = LOCK_LOOK_MS * 1000000L};
	int fd, rc = -1;

	memcpy(copy, p->path, sizeof(copy));
	if (make && mkdir(dirname(copy), 0755) != 0 && errno != EEXIST)
		return -errno;
	snprintf(name, sizeof(name), "%s.lock", p->path);
	fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	for (unsigned int i = 0; rc != 0 && i < LOCK_MS / LOCK_LOOK_MS; i++)
		if ((rc = flock(fd, LOCK_EX | LOCK_NB)) != 0)
			nanosleep(&pause, NULL);
	if (rc != 0) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

// Removes the socket of a dead process. -EADDRINUSE: a process listens there; -ENOTSOCK: it is
// another kind of file.
static int clear_stale(const struct socket_file *p)
{
	const struct sockaddr_un a = address_of(p);
	struct stat st;
	int fd, rc;

	if (lstat(p->path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0 ? 0 : errno;
	close(fd);
	// EAGAIN: its backlog is full, so a process listens there
	if (rc != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(p->path) == 0 ? 0 : -errno;
}

// Gives the socket to a user or a group ((uid_t)-1 or (gid_t)-1: no change), and then sets its mode
// (0: no change). A user who may write to the directory could replace the file, so this acts on the
// file that was created. 0 or -errno.
static int give_socket(const struct socket_file *p, uid_t uid, gid_t gid, mode_t mode)
{
	const int fd = open(p->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[32];
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) != 0)
		rc = -errno;
	else if (st.st_ino != p->made.st_ino || st.st_dev != p->made.st_dev)
		rc = -ESTALE;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (rc == 0 &&
		(fchownat(fd, "", uid, gid, AT_EMPTY_PATH) != 0 ||
			(mode != 0 && chmod(self, mode) != 0)))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

// Finds the group that a key gives by name or by number: containers know no names of their host.
// *gid does not change if the key is not set.
static int find_group(const char *key, const char *text, gid_t *gid, char *error, size_t len)
{
	const struct group *g = text != NULL ? getgrnam(text) : NULL;

	if (text == NULL)
		return 0;
	if (g != NULL) {
		*gid = g->gr_gid;
		return 0;
	}
	if (strspn(text, "0123456789") == strlen(text) && strlen(text) < 10) {
		*gid = (gid_t)strtoul(text, NULL, 10);
		return 0;
	}
	snprintf(error, len, "%s: there is no group %s on this host", key, text);
	return -ENOENT;
}

static int give_to_groups(
	struct socket_file *p, const struct conf_control *c, char *error, size_t len)
{
	const char *name = c->group != NULL ? c->group : c->readers;
	const bool two = c->group != NULL && c->readers != NULL;
	struct roles *r = &p->roles;
	int rc = find_group("control.group", c->group, &r->operators, error, len);

	if (rc == 0)
		rc = find_group("control.readers", c->readers, &r->readers, error, len);
	if (rc != 0 || name == NULL)
		return rc;
	if (two)
		rc = give_socket(p, (uid_t)-1, (gid_t)-1, 0666);
	else
		rc = give_socket(p, (uid_t)-1, c->group != NULL ? r->operators : r->readers, 0660);
	if (rc != 0)
		snprintf(error, len,
			"control.%s: %s cannot be given to group %s: %s (the unit may need "
			"SupplementaryGroups=%s or CAP_CHOWN)",
			c->group != NULL ? "group" : "readers", p->path, name, strerror(-rc), name);
	return rc;
}

static int give_to_user(const struct socket_file *p, const char *name, char *error, size_t len)
{
	const struct passwd *u = getpwnam(name);
	int rc;

	if (u == NULL) {
		snprintf(error, len, "process.user: there is no user %s", name);
		return -ENOENT;
	}
	rc = u->pw_uid != geteuid() ? give_socket(p, u->pw_uid, (gid_t)-1, 0) : 0;
	if (rc != 0)
		snprintf(error, len,
			"process.user: %s cannot be given to user %s: %s (the unit may need "
			"process-user.conf)",
			p->path, name, strerror(-rc));
	return rc;
}

// Sets the group first, because a process that gave the socket away may no longer set its mode.
// Until then only the user that started the process can open it.
static int give_away(struct socket_file *p, const struct conf *c, char *error, size_t len)
{
	int rc = give_to_groups(p, &c->control, error, len);

	if (rc == 0 && c->process.user != NULL)
		rc = give_to_user(p, c->process.user, error, len);
	return rc;
}

static const char *error_advice(int rc)
{
	switch (-rc) {
	case EADDRINUSE:
		return "another process listens there; set another control.socket for this one";
	case ENOTSOCK:
		return "a file that is not a socket is there; remove it";
	case ENOENT:
		return "its directory is missing; create it, or set RuntimeDirectory= in the unit";
	default:
		return strerror(-rc);
	}
}

static int bind_there(struct socket_file *p)
{
	const struct sockaddr_un a = address_of(p);

	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	// set the mode before the file exists: it is never open to others
	if (p->fd < 0 || fchmod(p->fd, 0600) != 0 ||
		bind(p->fd, (const struct sockaddr *)&a, sizeof(a)) != 0 ||
		lstat(p->path, &p->made) != 0 || chmod(p->path, 0600) != 0 ||
		listen(p->fd, BACKLOG) != 0)
		return -errno;
	return 0;
}

int socket_file_open(struct socket_file *p, const struct conf *c, char *error, size_t len)
{
	int rc, folder;

	*p = (struct socket_file){.fd = -1, .roles = {ROLES_NO_GROUP, ROLES_NO_GROUP}};
	if (c->control.socket != NULL && c->control.socket[0] == '\0')
		return 1;
	rc = path_of(p, c);
	folder = rc == 0 ? socket_file_lock(p, c->control.socket == NULL) : rc;
	rc = folder < 0 ? folder : clear_stale(p);
	if (rc == 0)
		rc = bind_there(p);
	if (rc != 0)
		snprintf(error, len, "control.socket: %s: %s", p->path, error_advice(rc));
	else
		rc = give_away(p, c, error, len);
	if (folder >= 0)
		close(folder);
	if (rc != 0)
		socket_file_close(p);
	return rc;
}

void socket_file_close(struct socket_file *p)
{
	struct stat st;

	if (p->fd >= 0 && p->made.st_ino != 0 && lstat(p->path, &st) == 0 &&
		st.st_ino == p->made.st_ino && st.st_dev == p->made.st_dev)
		unlink(p->path);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}
