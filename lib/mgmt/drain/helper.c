// SPDX-License-Identifier: BSD-3-Clause
// The process that runs drain.on-change. It has no threads and no secrets, gives up all
// capabilities, and runs one program at a time. States that arrive meanwhile wait, and only the
// last waiting one is run.
#include "drain/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "clock.h"

#define ROOM_MS 10 // retry interval of a report that finds no room
#define FIRST_FD 3 // the descriptor after standard input, output and error

struct helper {
	int fd, signals;
	bool closed; // the other end of the socket is closed
	char **argv; // command line of the program; argv[nb - 1] is the state
	uint32_t nb;
	uint64_t timeout_ms;
	pid_t child; // 0 = no program runs
	bool late; // the program was killed at its timeout
	uint64_t since_ms;
	uint8_t state; // the state that the program runs for
	bool waits; // another state waits
	uint8_t next;
};

const char *helper_state_name(uint8_t state)
{
	return state == HELPER_DRAINING ? "draining" : "ready";
}

// The process may have inherited privileges that the program must not have. Errors are ignored:
// they mean that a privilege was missing already.
static void drop_privileges(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &header, none);
}

// A signal that stops the server and its process group must not stop the program half way: this
// process ends when the socket is closed.
static int make_signals(void)
{
	sigset_t set;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// --- the program ---------------------------------------------------------------------------------

// Starts the program. 0 or an errno value.
static int spawn_program(struct helper *h)
{
	char state[32],
		path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *env[] = {path, state, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	snprintf(state, sizeof(state), "SLIPRING_STATE=%s", helper_state_name(h->state));
	h->argv[h->nb - 1] = state + strlen("SLIPRING_STATE=");
	if (posix_spawnattr_init(&attr) != 0)
		return ENOMEM;
	if (posix_spawn_file_actions_init(&files) != 0) {
		posix_spawnattr_destroy(&attr);
		return ENOMEM;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setpgroup(&attr, 0); // so that it is killed together with all programs that
		// it starts
	posix_spawnattr_setflags(
		&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	rc = posix_spawn(&h->child, h->argv[0], &files, &attr, h->argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return rc;
}

static bool no_room(int error)
{
	return error == ENOBUFS || error == ENOMEM || error == EAGAIN || error == EINTR;
}

static void send_report(const struct helper *h, uint8_t state, enum helper_end how, int code)
{
	const struct helper_report r = {.state = state,
		.how = (uint8_t)how,
		.code = code,
		.took_ms =
			how == HELPER_SKIPPED ? 0 : (uint32_t)(clock_monotonic_ms() - h->since_ms)};

	// waits for room, unless the receiver has exited
	while (send(h->fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 && no_room(errno))
		poll(NULL, 0, ROOM_MS);
}

static void start_program(struct helper *h)
{
	int rc;

	h->state = h->next;
	h->waits = h->late = false;
	h->since_ms = clock_monotonic_ms();
	rc = spawn_program(h);
	if (rc == 0)
		return;
	h->child = 0;
	send_report(h, h->state, HELPER_FAILED, rc);
}

// Reports the program if it has ended.
static void reap_program(struct helper *h)
{
	int status;

	if (h->child == 0 || waitpid(h->child, &status, WNOHANG) != h->child)
		return;
	h->child = 0;
	if (h->late)
		send_report(h, h->state, HELPER_TIMEOUT, 0);
	else if (WIFSIGNALED(status))
		send_report(h, h->state, HELPER_KILLED, WTERMSIG(status));
	else
		send_report(h, h->state, HELPER_EXITED, WEXITSTATUS(status));
}

// --- the loop ------------------------------------------------------------------------------------

// Milliseconds until the program must be killed; -1 = nothing to wait for.
static int remaining_ms(const struct helper *h)
{
	const uint64_t gone = clock_monotonic_ms() - h->since_ms;

	if (h->child == 0 || h->late)
		return -1;
	return gone < h->timeout_ms ? (int)(h->timeout_ms - gone) : 0;
}

static void take_state(struct helper *h)
{
	uint8_t state;
	const ssize_t n = recv(h->fd, &state, sizeof(state), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	h->closed = n != sizeof(state);
	if (h->closed)
		return;
	if (h->waits)
		send_report(h, h->next, HELPER_SKIPPED, 0);
	h->waits = true;
	h->next = state;
}

static void serve_states(struct helper *h)
{
	struct signalfd_siginfo info;
	struct pollfd fds[2] = {
		{.fd = h->signals, .events = POLLIN}, {.fd = h->fd, .events = POLLIN}};

	for (;;) {
		if (h->child == 0 && h->waits)
			start_program(h);
		if (h->child == 0 && h->closed)
			return;
		fds[1].fd = h->closed ? -1 : h->fd;
		if (poll(fds, 2, remaining_ms(h)) < 0 && errno != EINTR)
			return;
		while (read(h->signals, &info, sizeof(info)) == sizeof(info))
			continue;
		if (fds[1].fd >= 0 && fds[1].revents != 0)
			take_state(h);
		reap_program(h);
		if (h->child != 0 && !h->late && remaining_ms(h) == 0) {
			h->late = true;
			kill(-h->child, SIGKILL);
			kill(h->child, SIGKILL); // the program may have left its process group
		}
	}
}

// Waits for the command. False without a command or on an error.
static bool take_command(struct helper *h)
{
	struct helper_command *c;
	ssize_t len = recv(h->fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	char *word;

	if (len <= (ssize_t)sizeof(*c))
		return false;
	c = calloc(1, (size_t)len + 1);
	if (c == NULL || recv(h->fd, c, (size_t)len, 0) != len)
		return false;
	h->argv = calloc((size_t)c->nb + 2, sizeof(*h->argv));
	if (h->argv == NULL)
		return false;
	word = c->words;
	for (uint32_t i = 0; i < c->nb && word < (char *)c + len; i++) {
		h->argv[i] = word;
		word += strlen(word) + 1;
	}
	h->nb = c->nb + 1;
	h->timeout_ms = c->timeout_s * UINT64_C(1000);
	return true;
}

void helper_run(int fd)
{
	struct helper h = {.fd = FIRST_FD};

	prctl(PR_SET_NAME, "slipring-hook", 0, 0, 0);
	if (fd != FIRST_FD && dup3(fd, FIRST_FD, O_CLOEXEC) < 0)
		_exit(EXIT_FAILURE);
	close_range(FIRST_FD + 1, ~0U, 0);
	drop_privileges();
	h.signals = make_signals();
	if (h.signals >= 0 && take_command(&h))
		serve_states(&h);
	_exit(EXIT_SUCCESS);
}
