// SPDX-License-Identifier: BSD-3-Clause
// Enters a network namespace and returns from it.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "netns.h"

struct visit {
	const char *netns;
	void (*run)(void *ctx);
	void *ctx;
	bool found;
	int rc;
};

static int enter_netns(struct visit *v)
{
	char path[PATH_MAX];
	int fd, rc;

	v->found = true;
	if (v->netns == NULL || v->netns[0] == '\0')
		return 0;
	snprintf(path, sizeof(path), "/run/netns/%s", v->netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	v->found = fd >= 0;
	if (fd < 0)
		return -errno;
	rc = setns(fd, CLONE_NEWNET) != 0 ? -errno : 0;
	close(fd);
	return rc;
}

static void *run_visit(void *arg)
{
	struct visit *v = arg;

	v->rc = enter_netns(v);
	if (v->rc == 0)
		v->run(v->ctx);
	return NULL;
}

int port_netns_run(const char *netns, void (*run)(void *ctx), void *ctx, bool *found)
{
	struct visit v = {.netns = netns, .run = run, .ctx = ctx, .found = true};
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, run_visit, &v);

	if (rc != 0)
		v.rc = -rc;
	else
		pthread_join(thread, NULL);
	if (found != NULL)
		*found = v.found;
	return v.rc;
}
