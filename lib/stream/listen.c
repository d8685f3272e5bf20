// SPDX-License-Identifier: BSD-3-Clause
// Listening sockets: opens them, and accepts connections within the limits. The kernel's SYN
// cookies protect against SYN floods; an accepted connection has completed the TCP handshake.
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listen.h"
#include "conn.h"
#include "proxy/proxy.h"
#include "sockaddr.h"
#include "tos.h"

#define BACKLOG 1024 // connections that wait for accept; the kernel limits this to somaxconn
#define ACCEPT_BURST 16
// A vanished client is detected within 30 seconds: by unacknowledged data, or by keepalive probes
// on an idle connection.
#define GONE_MS 24000 // the kernel checks this at each probe, so up to 5 s later
#define SILENT_S 15
#define ASK_S 5

// --- opening -------------------------------------------------------------------------------------

int listen_enter(const char *name, char *error, size_t len)
{
	char path[128];
	int fd, rc;

	if (name == NULL || name[0] == '\0')
		return 0;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(error, len, "streams.netns: %s: %s (see `ip netns`)", name,
			strerror(errno));
		return -1;
	}
	rc = setns(fd, CLONE_NEWNET);
	if (rc != 0)
		snprintf(error, len,
			"streams.netns: %s cannot be entered: %s (run as root, or with "
			"CAP_SYS_ADMIN)",
			name, strerror(errno));
	close(fd);
	return rc;
}

static void write_error(const struct endpoint *endpoint, char *error, size_t len)
{
	char text[ADDR_TEXT_LEN + 8];
	const char *advice = "";

	if (errno == EADDRNOTAVAIL)
		advice = " (the kernel must have this address: see `ip addr`, streams.netns)";
	else if (errno == EADDRINUSE)
		advice = " (see `ss -ltnp`)";
	else if (errno == EACCES)
		advice = " (ports below 1024 need CAP_NET_BIND_SERVICE)";
	snprintf(error, len, "listeners: tcp %s: %s%s",
		addr_format_endpoint(endpoint, text, sizeof(text)), strerror(errno), advice);
}

static int listen_on(const struct thread *t, const struct stream_listener *l)
{
	static const int on = 1;
	union sockaddr_any a;
	const socklen_t len = sockaddr_of(&l->endpoint, &a);
	const int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	// the address may appear later: by DHCP, or after the interface is up and duplicate address
	// detection is done (RFC 4862 5.4)
	if (a.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on));
	else
		setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	tos_listen(fd, l);
	// each thread has its own socket; the kernel distributes connections by a hash of the
	// 5-tuple
	if ((t->s->conf.threads > 1 &&
		    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0) ||
		bind(fd, &a.any, len) != 0 || listen(fd, BACKLOG) != 0) {
		const int saved_errno = errno;

		close(fd);
		errno = saved_errno;
		return -1;
	}
	return fd;
}

// Makes the spare descriptor. It duplicates one, as a thread without privileges may open no file.
static int reserve_make(const struct thread *t)
{
	return fcntl(t->fresh, F_DUPFD_CLOEXEC, 0);
}

int listen_open(struct thread *t, char *error, size_t len)
{
	const struct stream_config *conf = &t->s->conf;

	if (listen_enter(conf->netns, error, len) != 0)
		return -1;
	for (unsigned int i = 0; i < conf->nb_listeners; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.u64 = WATCH_LISTENER | i};

		t->listen[i] = listen_on(t, &conf->listeners[i]);
		if (t->listen[i] < 0 || epoll_ctl(t->fresh, EPOLL_CTL_ADD, t->listen[i], &e) != 0) {
			write_error(&conf->listeners[i].endpoint, error, len);
			return -1;
		}
	}
	t->reserve = reserve_make(t);
	return 0;
}

int listen_move(
	struct thread *t, unsigned int i, const struct stream_listener *l, char *error, size_t len)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = WATCH_LISTENER | i};
	const int fd = listen_on(t, l);
	int rc = fd < 0 ? -1 : 0;

	// the thread knows the descriptor, and its epoll the open socket behind it
	if (rc == 0 &&
		(dup3(fd, t->listen[i], O_CLOEXEC) < 0 ||
			epoll_ctl(t->fresh, EPOLL_CTL_ADD, t->listen[i], &e) != 0))
		rc = -1;
	if (rc != 0)
		write_error(&l->endpoint, error, len);
	if (fd >= 0)
		close(fd);
	return rc;
}

void listen_mark(const struct thread *t)
{
	for (unsigned int i = 0; i < t->s->conf.nb_listeners; i++)
		tos_listen(t->listen[i], &t->s->listener[i]);
}

void listen_close(struct thread *t)
{
	for (unsigned int i = 0; i < t->s->conf.nb_listeners; i++)
		if (t->listen[i] >= 0)
			close(t->listen[i]);
	if (t->reserve >= 0)
		close(t->reserve);
}

// --- accepting -----------------------------------------------------------------------------------

void listen_refuse(struct thread *t, int fd, const struct stream_from *origin, uint64_t *reason)
{
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
	stats_add(reason, 1);
	refused_by_counter(t, &origin->client, origin->listener, reason);
}

void listen_spare(struct thread *t)
{
	if (t->reserve >= 0)
		close(t->reserve);
	t->reserve = -1;
}

void listen_hold(struct thread *t)
{
	t->reserve = reserve_make(t);
}

bool listen_no_file(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

// Refuses a connection when descriptors have run out. Without a descriptor we can neither accept
// nor refuse, and epoll would report the waiting connection in every round. So one descriptor is
// reserved for refusing.
static void refuse_waiting(struct thread *t, unsigned int listener)
{
	struct stream_from origin = {.listener = t->s->listener[listener].index};
	union sockaddr_any a;
	socklen_t len = sizeof(a);
	int fd;

	listen_spare(t);
	fd = accept4(t->listen[listener], &a.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		origin.client = sockaddr_endpoint(&a);
		listen_refuse(t, fd, &origin, &t->stats.refused_files);
	} else {
		t->stalled = true;
	}
	listen_hold(t);
}

static void tune_socket(const struct thread *t, int fd)
{
	const int on = 1, unsent = (int)t->s->conf.queue, silent_s = SILENT_S, ask_s = ASK_S;
	const unsigned int gone_ms = GONE_MS;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	// limit the kernel's queue, like our own queue, so that media does not grow old there
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof(gone_ms));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silent_s, sizeof(silent_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &ask_s, sizeof(ask_s));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static enum conn_limits_answer take_limits(
	struct conn_limits *caps, const struct addr *source, bool trusted)
{
	if (!trusted)
		return conn_limits_take(caps, source);
	return conn_limits_take_total(caps) ? CONN_LIMITS_OK : CONN_LIMITS_TOTAL;
}

static void give_limits(struct conn_limits *caps, const struct addr *source, bool trusted)
{
	if (trusted)
		conn_limits_give_total(caps);
	else
		conn_limits_give(caps, source);
}

bool listen_admit(struct thread *t, int fd, uint8_t listener, const struct endpoint *client)
{
	const struct stream_from origin = {
		.client = *client, .listener = t->s->listener[listener].index};
	const bool trusted = conn_limits_trusts(&t->s->caps, &client->addr);
	uint64_t *reason = thread_refuses(t, &client->addr);
	enum conn_limits_answer answer;

	if (reason != NULL) {
		listen_refuse(t, fd, &origin, reason);
		return false;
	}
	answer = take_limits(&t->s->caps, &client->addr, trusted);
	if (answer == CONN_LIMITS_TOTAL && conn_give_way(t))
		answer = take_limits(&t->s->caps, &client->addr, trusted);
	switch (answer) {
	case CONN_LIMITS_TOTAL:
		listen_refuse(t, fd, &origin, &t->stats.refused_total);
		return false;
	case CONN_LIMITS_SOURCE:
		listen_refuse(t, fd, &origin, &t->stats.refused_source);
		return false;
	case CONN_LIMITS_NETWORK:
		listen_refuse(t, fd, &origin, &t->stats.refused_network);
		return false;
	case CONN_LIMITS_OK:
		break;
	}
	if (t->s->listener[listener].mode == STREAM_TLS && !tls_allowed(t, &client->addr)) {
		give_limits(&t->s->caps, &client->addr, trusted);
		listen_refuse(t, fd, &origin, &t->stats.refused_rate);
		return false;
	}
	tune_socket(t, fd);
	if (conn_open(t, fd, listener, client, trusted)) {
		stats_add(&t->stats.accepted, 1);
		return true;
	}
	give_limits(&t->s->caps, &client->addr, trusted);
	listen_refuse(t, fd, &origin, &t->stats.refused_files);
	return false;
}

void listen_accept(struct thread *t, unsigned int listener)
{
	for (unsigned int i = 0; i < ACCEPT_BURST; i++) {
		union sockaddr_any a;
		socklen_t len = sizeof(a);
		struct endpoint client;
		const int fd =
			accept4(t->listen[listener], &a.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			client = sockaddr_endpoint(&a);
			if (!proxy_accept(t, fd, (uint8_t)listener, &client))
				listen_admit(t, fd, (uint8_t)listener, &client);
			continue;
		}
		if (listen_no_file())
			refuse_waiting(t, listener);
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}
