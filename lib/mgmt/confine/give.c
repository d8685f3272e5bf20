// SPDX-License-Identifier: BSD-3-Clause
// Changes the owner of files. A user who may write to their directories could replace them by other
// files, so these functions act on descriptors that were opened and checked.
#include "confine/give.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "crash/crash_files.h"
#include "log/log.h"
#include "watch/watch.h"

#define REPORTS 1024

static void give_file(const char *path, uid_t uid, gid_t gid)
{
	const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == 0 &&
		fchown(fd, uid, gid) != 0)
		LOG(START, WARNING, "%s cannot be given to user %u: %s", path, (unsigned int)uid,
			strerror(errno));
	close(fd);
}

static void give_reports(const struct crash_files *f, uid_t uid, gid_t gid)
{
	static struct crash_file rows[REPORTS]; // too large for a stack
	const int n = crash_files_list(f, rows, REPORTS);

	for (int i = 0; i < n; i++) {
		char path[CRASH_PATH_LEN + CRASH_NAME_LEN];

		snprintf(path, sizeof(path), "%s/%.*s", f->directory, CRASH_NAME_LEN, rows[i].name);
		give_file(path, uid, gid);
	}
	give_file(f->waiting, uid, gid);
}

void give_files(const struct conf *c, uid_t uid, gid_t gid)
{
	const struct crash_files *f = watch_crashes();

	if (c->records.file != NULL) {
		char beside[CONF_RECORDS_PATH];

		give_file(c->records.file, uid, gid);
		conf_records_beside(c->records.file, CONF_RECORDS_REFUSALS, beside);
		give_file(beside, uid, gid);
		conf_records_beside(c->records.file, CONF_RECORDS_PEERS, beside);
		give_file(beside, uid, gid);
	}
	if (f->fd >= 0)
		give_reports(f, uid, gid);
}
