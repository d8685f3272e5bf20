// SPDX-License-Identifier: BSD-3-Clause
// Connections of the control socket. Each has one request at a time: nothing more is read while the
// answer is made or sent. So a client that never reads costs one answer, for ten seconds.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "log/log.h"
#include "socket/clients.h"

#define READ_BYTES 16384
#define EVENTS 32
#define LINES_A_TURN 16 // lines of one client per turn, then it is the others' turn
#define DEAF_MS 100 // pause of accepting when no descriptor is free
#define TELL_MS 10000 // between lines of the log about refused clients

// --- one client ----------------------------------------------------------------------------------

static void update_events(const struct clients *cs, struct client *c)
{
	struct epoll_event e = {.data.ptr = c};

	if (c->out != NULL)
		e.events = EPOLLOUT;
	else if (!c->waits)
		e.events = EPOLLIN;
	epoll_ctl(cs->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

// Marks a client as closed. It is freed at the end of the turn, because events of it may be
// pending.
static void end_client(struct clients *cs, struct client *c)
{
	if (c->dead)
		return;
	c->dead = true;
	if (cs->gone != NULL)
		cs->gone(cs->ctx, c);
	close(c->fd);
	cs->nb--;
}

static void sweep_dead(struct clients *cs)
{
	struct client **slot = &cs->first;

	while (*slot != NULL) {
		struct client *c = *slot;

		if (!c->dead) {
			slot = &c->next;
			continue;
		}
		*slot = c->next;
		lines_free(&c->in);
		free(c->out);
		free(c);
	}
}

static void send_more(struct clients *cs, struct client *c)
{
	const ssize_t n = send(
		c->fd, c->out + c->out_sent, c->out_len - c->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		end_client(cs, c);
		return;
	}
	if (n > 0) {
		c->out_sent += (size_t)n;
		c->moved_ms = clock_monotonic_ms();
	}
	if (c->out_sent < c->out_len)
		return;
	free(c->out);
	c->out = NULL;
	c->asked_ms = clock_monotonic_ms();
	if (c->ends)
		end_client(cs, c);
}

// Serves the lines that have arrived, until one is not answered at once.
static void lines_serve(struct clients *cs, struct client *c)
{
	unsigned int left = LINES_A_TURN;
	size_t len;
	char *line;

	c->serves = true;
	while (!c->dead && !c->waits && c->out == NULL && left > 0 &&
		(line = lines_next(&c->in, &len)) != NULL) {
		c->waits = true;
		cs->line(cs->ctx, c, line, len);
		left--;
	}
	c->serves = false;
	cs->more = cs->more || left == 0;
}

static void answer_put(struct clients *cs, struct client *c, char *text, size_t len)
{
	c->waits = false;
	if (c->dead || text == NULL) {
		free(text);
		end_client(cs, c);
		return;
	}
	c->out = text;
	c->out_len = len;
	c->out_sent = 0;
	c->moved_ms = clock_monotonic_ms();
	send_more(cs, c);
}

void clients_answer(struct clients *cs, struct client *c, char *text, size_t len)
{
	if (c->bad >= CLIENTS_BAD && !c->ends) {
		c->ends = true;
		cs->broken++;
	}
	answer_put(cs, c, text, len);
	if (!c->serves)
		lines_serve(cs, c);
	if (!c->dead)
		update_events(cs, c);
}

static void read_some(struct clients *cs, struct client *c)
{
	static const char too_long[] =
		"{\"v\":1,\"ok\":false,\"error\":\"request is longer than 65536 bytes\"}\n";
	char buf[READ_BYTES];
	const ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
	enum lines_put put;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_client(cs, c);
		return;
	}
	c->asked_ms = clock_monotonic_ms();
	put = lines_put(&c->in, buf, (size_t)n);
	if (put == LINES_NO_MEMORY) {
		end_client(cs, c);
	} else if (put == LINES_LONG) {
		c->ends = true;
		cs->broken++;
		answer_put(cs, c, strdup(too_long), sizeof(too_long) - 1);
	}
}

static void client_ready(struct clients *cs, struct client *c, uint32_t events)
{
	// buffered lines come first: the buffer never holds more than one read brings
	const bool waits_turn = c->out == NULL && !c->waits && lines_wait(&c->in);

	if (c->dead)
		return;
	if (c->out != NULL && (events & EPOLLOUT) != 0)
		send_more(cs, c);
	else if (waits_turn)
		cs->more = true; // keep the turn that it was waiting for
	else if ((events & EPOLLIN) != 0 && !c->waits && c->out == NULL)
		read_some(cs, c);
	else if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		end_client(cs, c);
	lines_serve(cs, c);
	if (!c->dead)
		update_events(cs, c);
}

static int spare_open(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// --- all clients ---------------------------------------------------------------------------------

// Tells a client the reason, if its socket takes the message, and closes it.
static void turn_away(int fd, const char *answer)
{
	if (send(fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		LOG(CONTROL, DEBUG, "a refused client does not listen");
	close(fd);
}

static void refuse_client(struct clients *cs, int fd)
{
	cs->refused++;
	turn_away(fd, "{\"v\":1,\"ok\":false,\"error\":\"too many connections: close some\"}\n");
}

static void deny_client(struct clients *cs, int fd)
{
	cs->denied++;
	turn_away(fd,
		"{\"v\":1,\"ok\":false,\"error\":\"no permission: use sudo, or become a member of "
		"control.readers or control.group\"}\n");
}

// Closes the client that has been idle longest, if that is long enough.
static void make_room(struct clients *cs)
{
	const uint64_t now_ms = clock_monotonic_ms();
	struct client *oldest = NULL;

	for (struct client *c = cs->first; c != NULL; c = c->next)
		if (!c->dead && !c->waits && c->out == NULL &&
			(oldest == NULL || c->asked_ms < oldest->asked_ms))
			oldest = c;
	if (oldest == NULL || now_ms - oldest->asked_ms < CLIENTS_IDLE_MS)
		return;
	cs->idle++;
	end_client(cs, oldest);
}

static void client_add(struct clients *cs, int fd)
{
	struct client *c = NULL;
	struct epoll_event e = {.events = EPOLLIN};
	unsigned int max = cs->max;
	uid_t uid;
	pid_t pid;
	const enum role role = roles_of(&cs->roles, fd, &uid, &pid);

	if (role == ROLE_NONE) {
		deny_client(cs, fd);
		return;
	}
	if (uid == 0)
		max += CLIENTS_FOR_ROOT;
	else if (role == ROLE_READER)
		max = (max + 1) / 2;
	if (cs->nb >= max)
		make_room(cs);
	if (cs->nb < max)
		c = calloc(1, sizeof(*c));
	e.data.ptr = c;
	if (c == NULL || epoll_ctl(cs->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
		free(c);
		refuse_client(cs, fd);
		return;
	}
	c->fd = fd;
	c->uid = uid;
	c->pid = pid;
	c->role = role;
	c->asked_ms = clock_monotonic_ms();
	c->next = cs->first;
	cs->first = c;
	cs->nb++;
}

static void watch_listener(struct clients *cs, bool on)
{
	struct epoll_event e = {.events = on ? EPOLLIN : 0, .data.ptr = &cs->listener};

	epoll_ctl(cs->epoll, EPOLL_CTL_MOD, cs->listener, &e);
	cs->deaf_ms = on ? 0 : clock_monotonic_ms();
}

// Accepting fails: without a pause, waiting clients would keep this thread busy.
static void accept_failed(struct clients *cs, int error)
{
	if (error != EAGAIN && error != EINTR && error != ECONNABORTED)
		watch_listener(cs, false);
}

static void accept_all(struct clients *cs)
{
	for (unsigned int i = 0; i < EVENTS; i++) {
		int fd = accept4(cs->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE) && cs->spare >= 0) {
			// otherwise the client would stay in the backlog, and this loop would never
			// sleep
			close(cs->spare);
			fd = accept4(cs->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
			if (fd >= 0)
				refuse_client(cs, fd);
			cs->spare = spare_open(); // another thread may have taken the descriptor
			continue;
		}
		if (fd < 0) {
			accept_failed(cs, errno);
			return;
		}
		client_add(cs, fd);
	}
}

// Closes clients that do not read, resumes accepting, and logs now and then how many were closed or
// refused.
static void look_after(struct clients *cs, uint64_t now_ms)
{
	uint64_t all;

	for (struct client *c = cs->first; c != NULL; c = c->next)
		if (!c->dead && c->out != NULL && now_ms - c->moved_ms >= CLIENTS_READ_MS) {
			cs->unread++;
			end_client(cs, c);
		}
	if (cs->deaf_ms != 0 && now_ms - cs->deaf_ms >= DEAF_MS) {
		if (cs->spare < 0)
			cs->spare = spare_open();
		watch_listener(cs, true);
	}
	all = cs->refused + cs->unread + cs->broken + cs->idle + cs->denied;
	if (all == cs->told || (cs->told > 0 && now_ms - cs->told_ms < TELL_MS))
		return;
	cs->told = all;
	cs->told_ms = now_ms;
	LOG(CONTROL, WARNING,
		"clients in all: %ju refused, %ju closed that did "
		"not read, %ju closed that sent no requests, %ju idle ones closed for others, %ju "
		"times no permission",
		(uintmax_t)cs->refused, (uintmax_t)cs->unread, (uintmax_t)cs->broken,
		(uintmax_t)cs->idle, (uintmax_t)cs->denied);
}

// Serves lines that were read already, for which epoll reports no event.
static void serve_rest(struct clients *cs)
{
	cs->more = false;
	for (struct client *c = cs->first; c != NULL; c = c->next) {
		lines_serve(cs, c);
		if (!c->dead)
			update_events(cs, c);
	}
}

bool clients_serve(struct clients *cs, int wait_ms, int stop_fd)
{
	struct epoll_event e[EVENTS];
	const int n = epoll_wait(cs->epoll, e, EVENTS, cs->more ? 0 : wait_ms);
	bool ready = false;

	if (cs->more)
		serve_rest(cs);
	for (int i = 0; i < n; i++) {
		if (e[i].data.ptr == &cs->listener)
			accept_all(cs);
		else if (e[i].data.ptr == NULL)
			ready = true;
		else
			client_ready(cs, e[i].data.ptr, e[i].events);
	}
	look_after(cs, clock_monotonic_ms());
	sweep_dead(cs);
	return ready && stop_fd >= 0;
}

int clients_open(struct clients *cs, int listener, unsigned int max, const struct roles *roles)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = &cs->listener};

	cs->listener = listener;
	cs->max = max;
	cs->roles = *roles;
	cs->spare = spare_open();
	cs->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (cs->epoll < 0 || epoll_ctl(cs->epoll, EPOLL_CTL_ADD, listener, &e) != 0)
		return -errno;
	return 0;
}

void clients_close(struct clients *cs)
{
	for (struct client *c = cs->first; c != NULL; c = c->next)
		end_client(cs, c);
	sweep_dead(cs);
	if (cs->spare >= 0)
		close(cs->spare);
	if (cs->epoll >= 0)
		close(cs->epoll);
}
