// SPDX-License-Identifier: BSD-3-Clause
// The thread of the control socket: serves clients, runs scans, and samples the counters each
// second.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "block/block.h"
#include "clock.h"
#include "control.h"
#include "log/log.h"
#include "socket/commands.h"
#include "socket/socket_file.h"
#include "stun.h"

#define TICK_MS 1000

struct running {
	struct control control; // must be first: see mgmt_control_start
	struct socket_file file;
	pthread_t thread;
	int stop; // eventfd
};

static void client_gone(void *ctx, struct client *c)
{
	captures_gone(ctx, c);
	diffs_gone(ctx, c);
	scans_gone(ctx, c);
}

// The shorter of two waiting times; -1 means without limit.
static int64_t min_wait(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

// Milliseconds to wait for clients. If a scan is due in less than 1 ms, the function itself sleeps.
static int wait_ms(int64_t scans_us, uint64_t now_ms, uint64_t tick_ms)
{
	const struct timespec pause = {.tv_nsec = scans_us * 1000};
	const uint64_t tick = tick_ms > now_ms ? tick_ms - now_ms : 0;

	if (scans_us >= 0 && scans_us < 1000) {
		if (scans_us > 0)
			nanosleep(&pause, NULL);
		return 0;
	}
	if (scans_us >= 0 && (uint64_t)scans_us / 1000 < tick)
		return (int)(scans_us / 1000);
	return (int)tick;
}

static void *run_loop(void *arg)
{
	struct running *r = arg;
	struct control *k = &r->control;
	uint64_t tick_ms = clock_monotonic_ms() + TICK_MS;
	bool stop = false;

	while (!stop) {
		const int64_t captures_us = captures_step(k);
		const int64_t us = min_wait(min_wait(captures_us, scans_step(k)), diffs_step(k));

		stop = clients_serve(
			&k->clients, wait_ms(us, clock_monotonic_ms(), tick_ms), r->stop);
		if (clock_monotonic_ms() < tick_ms)
			continue;
		facts_tick(k);
		mgmt_blocks_save(k->blocks);
		tick_ms = clock_monotonic_ms() + TICK_MS;
	}
	return NULL;
}

static void free_all(struct running *r)
{
	clients_close(&r->control.clients);
	facts_close(&r->control);
	socket_file_close(&r->file);
	stun_crypto_free(r->control.crypto);
	if (r->stop >= 0)
		close(r->stop);
	free(r);
}

static int start_thread(struct running *r)
{
	struct control *k = &r->control;
	struct epoll_event stop = {.events = EPOLLIN};
	int rc;

	k->crypto = stun_crypto_create();
	if (k->crypto == NULL || facts_open(k) != 0)
		return -ENOMEM;
	rc = clients_open(&k->clients, r->file.fd, k->conf->control.connections, &r->file.roles);
	if (rc != 0)
		return rc;
	r->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->stop < 0 || epoll_ctl(k->clients.epoll, EPOLL_CTL_ADD, r->stop, &stop) != 0)
		return -errno;
	k->clients.line = commands_line;
	k->clients.gone = client_gone;
	k->clients.ctx = k;
	rc = -pthread_create(&r->thread, NULL, run_loop, r);
	if (rc == 0)
		pthread_setname_np(r->thread, "slipring-ctl");
	return rc;
}

// A failure ends the start, unless nobody configured this socket: then it is only logged.
static int tolerate_failure(const struct conf *c, int rc, const char *error)
{
	if (c->control.socket != NULL || c->control.group != NULL || c->control.readers != NULL) {
		LOG(CONTROL, ERR, "%s", error);
		return rc;
	}
	LOG(CONTROL, WARNING, "%s; there is no control socket for slipringctl", error);
	return 0;
}

int mgmt_control_start(
	struct control **out, struct dp *d, const struct conf *c, const struct control_parts *parts)
{
	struct running *r = calloc(1, sizeof(*r));
	char error[256] = "out of memory";
	int rc;

	*out = NULL;
	if (r == NULL)
		return tolerate_failure(c, -ENOMEM, error);
	r->stop = r->control.clients.epoll = r->control.clients.spare = -1;
	r->control.dp = d;
	r->control.conf = c;
	r->control.events = parts->events;
	r->control.reload = parts->reload;
	r->control.drain = parts->drain;
	r->control.blocks = parts->blocks;
	rc = socket_file_open(&r->file, c, error, sizeof(error));
	if (rc == 0) {
		rc = start_thread(r);
		snprintf(error, sizeof(error), "%s", strerror(-rc));
	}
	if (rc != 0) {
		free_all(r);
		return rc == 1 ? 0 : tolerate_failure(c, rc, error);
	}
	LOG(CONTROL, INFO, "%s, for the user of this process, operators: %s, readers: %s",
		r->file.path, c->control.group != NULL ? c->control.group : "none",
		c->control.readers != NULL ? c->control.readers : "none");
	*out = &r->control;
	return 0;
}

void mgmt_control_stop(struct control *c)
{
	struct running *r = (struct running *)c;
	const uint64_t one = 1;

	if (r == NULL)
		return;
	if (write(r->stop, &one, sizeof(one)) != sizeof(one))
		LOG(CONTROL, ERR, "the thread cannot be stopped: %s", strerror(errno));
	pthread_join(r->thread, NULL);
	diffs_close(c);
	scans_close(c);
	captures_close(c);
	free_all(r);
}
