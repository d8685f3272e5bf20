// SPDX-License-Identifier: BSD-3-Clause
// The server's side of the process that runs drain.on-change: it sends states over a socket, and
// receives the result of each run.
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
#include "log/log.h"

#define SLACK_MS 3000 // for the helper process itself

static struct {
	pid_t pid; // 0 = no process
	int fd;
	const char *program; // owned by the configuration, which lives longer; NULL = no command
	unsigned int told, done; // number of changes sent and finished
	uint8_t last; // the state sent last, if told > 0
	uint8_t owed; // the state to send as soon as there is room, if `owes`
	bool owes;
	uint64_t since_ms; // when the last state was sent, or first had to wait
	uint64_t patience_ms; // longer than all runs that can be pending may take
	bool late; // patience_ms was not enough
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

// Waits for the end of the process, which has no work left.
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

// True if an error of send() only means that there is no room at the moment.
static bool is_for_now(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

static void restart_wait(void)
{
	hook.since_ms = clock_monotonic_ms();
	hook.late = false;
}

// Sends a state, or marks it as owed.
static void tell_state(uint8_t state)
{
	const bool again = hook.owes;

	hook.owes = false;
	if (!again)
		restart_wait();
	if (send(hook.fd, &state, sizeof(state), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(state)) {
		restart_wait();
		hook.told++;
		hook.last = state;
		return;
	}
	hook.owes = is_for_now(errno);
	hook.owed = state;
	if (!again || !hook.owes)
		LOG(CONFIG, ERR, "drain.on-change: %s cannot be notified of %s%s: %s", hook.program,
			helper_state_name(state), hook.owes ? " yet" : "", strerror(errno));
}

void mgmt_hook_tell(bool draining)
{
	const uint8_t state = draining ? HELPER_DRAINING : HELPER_READY;

	if (hook.program == NULL)
		return;
	if (hook.owes && hook.told > 0 && hook.last == state)
		hook.owes = false; // a state that was not sent is out of date
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
		LOG(CONFIG, ERR, "drain.on-change: %s %s: killed after %u ms", hook.program, state,
			r->took_ms);
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

// Gives up waiting for a run that exceeds its limit: the process hangs, or has lost a message.
static void lose_patience(void)
{
	if (!mgmt_hook_busy() || clock_monotonic_ms() - hook.since_ms < hook.patience_ms)
		return;
	hook.late = true;
	LOG(CONFIG, ERR,
		"drain.on-change: no result of %s after %ju ms: not waiting for it "
		"any longer",
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
		"drain.on-change: the process that runs %s has died: changes are not reported "
		"until a restart",
		hook.program);
	reap_helper();
}

bool mgmt_hook_busy(void)
{
	return !hook.late && (hook.done != hook.told || hook.owes);
}
