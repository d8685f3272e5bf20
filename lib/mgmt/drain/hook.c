// SPDX-License-Identifier: BSD-3-Clause
// This side of the process that runs drain.on-change: it is told by a socket, and tells how each
// run has ended.
#include "drain/hook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "conf_drain.h"
#include "drain/helper.h"
#include "log.h"

#define SLACK_MS 3000 // for the process itself

static struct {
	pid_t pid; // 0 = there is none
	int fd;
	const char *program; // the configuration's, which outlives this; NULL = no command
	unsigned int told, done; // so many changes
	uint8_t last; // state that was told last, if one was
	uint8_t owed; // state that is to be told once there is room, if one is
	bool owes;
	uint64_t since_ms; // that it was told last, or has been owed
	uint64_t patience_ms; // that is longer than all it was told may take
	bool late; // and was not enough
} hook;

int mgmt_hook_fork(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	hook.pid = fork();
	if (hook.pid == 0)
		helper_run(ends[1]);
	close(ends[1]);
	if (hook.pid < 0) {
		const int rc = -errno;

		close(ends[0]);
		hook.pid = 0;
		return rc;
	}
	hook.fd = ends[0];
	return 0;
}

// Waits for the process, which has nothing to do any more.
static void reap_helper(void)
{
	close(hook.fd);
	waitpid(hook.pid, NULL, 0);
	hook.pid = 0;
	hook.program = NULL;
	hook.done = hook.told;
	hook.owes = false;
}

int mgmt_hook_command(const struct conf_drain *d)
{
	struct helper_command *c;
	size_t len = 0, used = 0;
	ssize_t n;

	if (hook.pid == 0)
		return d->nb_on_change > 0 ? -ESRCH : 0;
	if (d->nb_on_change == 0) {
		reap_helper();
		return 0;
	}
	for (uint32_t i = 0; i < d->nb_on_change; i++)
		len += strlen(d->on_change[i]) + 1;
	c = malloc(sizeof(*c) + len);
	if (c == NULL)
		return -ENOMEM;
	*c = (struct helper_command){.nb = d->nb_on_change, .timeout_s = d->on_change_s};
	for (uint32_t i = 0; i < d->nb_on_change; i++)
		used += (size_t)(stpcpy(c->words + used, d->on_change[i]) - (c->words + used)) + 1;
	n = send(hook.fd, c, sizeof(*c) + len, MSG_NOSIGNAL);
	free(c);
	if (n < 0)
		return -errno;
	hook.program = d->on_change[0];
	hook.patience_ms = 2 * d->on_change_s * UINT64_C(1000) + SLACK_MS; // one runs, one waits
	return 0;
}

void mgmt_hook_close(void)
{
	if (hook.pid == 0)
		return;
	close(hook.fd);
	hook.pid = 0;
	hook.program = NULL;
	hook.owes = false;
}

// --- management lcore ----------------------------------------------------------------------------

// Whether an error of send() says that there is no room just now.
static bool is_for_now(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

static void wait_anew(void)
{
	hook.since_ms = clock_monotonic_ms();
	hook.late = false;
}

// Tells a state, or owes it.
static void tell_state(uint8_t state)
{
	const bool again = hook.owes;

	hook.owes = false;
	if (!again)
		wait_anew();
	if (send(hook.fd, &state, sizeof(state), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(state)) {
		wait_anew();
		hook.told++;
		hook.last = state;
		return;
	}
	hook.owes = is_for_now(errno);
	hook.owed = state;
	if (!again || !hook.owes)
		LOG(CONFIG, ERR, "drain.on-change: %s cannot be told %s%s: %s", hook.program,
			helper_state_name(state), hook.owes ? " yet" : "", strerror(errno));
}

void mgmt_hook_tell(bool draining)
{
	const uint8_t state = draining ? HELPER_DRAINING : HELPER_READY;

	if (hook.program == NULL)
		return;
	if (hook.owes && hook.told > 0 && hook.last == state)
		hook.owes = false; // what it has not heard of is over
	else
		tell_state(state);
}

static void tell_report(const struct helper_report *r)
{
	const char *state = helper_state_name(r->state);

	switch ((enum helper_end)r->how) {
	case HELPER_EXITED:
		mgmt_log(CONF_AREA_CONFIG, r->code == 0 ? LOG_INFO : LOG_ERR,
			"drain.on-change: %s %s: exit code %d after %u ms", hook.program, state,
			r->code, r->took_ms);
		break;
	case HELPER_KILLED:
		LOG(CONFIG, ERR, "drain.on-change: %s %s: ended by signal %d after %u ms",
			hook.program, state, r->code, r->took_ms);
		break;
	case HELPER_TIMEOUT:
		LOG(CONFIG, ERR,
			"drain.on-change: %s %s: killed after %u ms, see drain.on-change-timeout",
			hook.program, state, r->took_ms);
		break;
	case HELPER_FAILED:
		LOG(CONFIG, ERR, "drain.on-change: %s %s: cannot be run: %s", hook.program, state,
			strerror(r->code));
		break;
	case HELPER_SKIPPED:
		LOG(CONFIG, NOTICE, "drain.on-change: %s %s: not run, the state has changed again",
			hook.program, state);
		break;
	}
}

// Gives up waiting for what takes longer than it can: the process hangs, or has lost something.
static void lose_patience(void)
{
	if (!mgmt_hook_busy() || clock_monotonic_ms() - hook.since_ms < hook.patience_ms)
		return;
	hook.late = true;
	LOG(CONFIG, ERR,
		"drain.on-change: nobody knows what has become of %s after %ju ms: it is not "
		"waited for",
		hook.program, (uintmax_t)hook.patience_ms);
}

void mgmt_hook_tick(void)
{
	struct helper_report r;
	ssize_t n;

	if (hook.program == NULL)
		return;
	while ((n = recv(hook.fd, &r, sizeof(r), MSG_DONTWAIT)) == sizeof(r)) {
		tell_report(&r);
		hook.done++;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (hook.owes)
			tell_state(hook.owed);
		lose_patience();
		return;
	}
	LOG(CONFIG, ERR,
		"drain.on-change: the process that runs %s is gone: nobody is told of changes "
		"until a restart",
		hook.program);
	reap_helper();
}

bool mgmt_hook_busy(void)
{
	return !hook.late && (hook.done != hook.told || hook.owes);
}
