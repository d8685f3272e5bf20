// SPDX-License-Identifier: BSD-3-Clause
// Allows one process per file prefix. Two processes would share a telemetry socket, and the
// operator would not know which one answers.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eal.h"

// The directory of EAL's runtime files. EAL tells it only once it runs, and then the socket exists
// already, so its rule is repeated here.
static const char *runtime_base(void)
{
	const char *dir = getenv("RUNTIME_DIRECTORY");

	if (dir != NULL)
		return dir;
	if (getuid() == 0)
		return "/var/run";
	dir = getenv("XDG_RUNTIME_DIR");
	return dir != NULL ? dir : "/tmp";
}

static int make_dirs(const char *prefix, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/dpdk", runtime_base());
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -1;
	snprintf(path, PATH_MAX, "%s/dpdk/%s", runtime_base(), prefix);
	return mkdir(path, 0700) != 0 && errno != EEXIST ? -1 : 0;
}

// Reports the holder of the lock, as far as the file tells.
static void fail_locked(int fd, const char *prefix, char *error, size_t len)
{
	char pid[16] = "";
	const ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	if (n > 0)
		pid[strspn(pid, "0123456789")] = '\0';
	snprintf(error, len,
		"another instance%s%s%s runs with eal.file-prefix '%s': stop it, or give this one "
		"a prefix of its own",
		n > 0 ? " (pid " : "", pid, n > 0 ? ")" : "", prefix);
}

int instance_lock(const char *file_prefix, char *error, size_t len)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int fd;

	if (make_dirs(file_prefix, dir) != 0) {
		snprintf(error, len, "%s: %s", dir, strerror(errno));
		return -1;
	}
	snprintf(path, sizeof(path), "%s/instance.lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		snprintf(error, len, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			fail_locked(fd, file_prefix, error, len);
		else
			snprintf(error, len, "%s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	// The pid is for people; only the lock counts.
	if (ftruncate(fd, 0) != 0 || dprintf(fd, "%d\n", (int)getpid()) < 0) {
		snprintf(error, len, "%s: %s", path, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}
