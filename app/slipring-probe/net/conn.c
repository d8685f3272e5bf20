// SPDX-License-Identifier: BSD-3-Clause
// Sockets: connects, sends and receives whole messages.
#include "net/conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "framing.h"
#include "net/tls.h"

volatile sig_atomic_t conn_stopped;

bool conn_wait(int fd, short event, uint64_t deadline_ms)
{
	struct pollfd p = {.fd = fd, .events = event};
	uint64_t now_ms;

	for (;;) {
		now_ms = clock_monotonic_ms();
		if (conn_stopped || now_ms >= deadline_ms)
			return false;
		if (poll(&p, 1, (int)(deadline_ms - now_ms)) > 0)
			return true;
	}
}

static socklen_t to_sockaddr(const struct endpoint *e, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (addr_is_v4(&e->addr)) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(e->port);
		memcpy(&v4->sin_addr, &e->addr.b[12], 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(e->port);
	memcpy(&v6->sin6_addr, e->addr.b, 16);
	return sizeof(*v6);
}

static int make_socket(const struct endpoint *e, int type)
{
	const int family = addr_is_v4(&e->addr) ? AF_INET : AF_INET6;

	return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int conn_udp_socket(const struct endpoint *e)
{
	return make_socket(e, SOCK_DGRAM);
}

bool conn_send_to(int fd, const struct endpoint *peer, const void *data, size_t len)
{
	struct sockaddr_storage sa;
	const socklen_t sa_len = to_sockaddr(peer, &sa);

	return sendto(fd, data, len, 0, (struct sockaddr *)&sa, sa_len) == (ssize_t)len;
}

enum fault conn_fault(struct conn *c, int error)
{
	switch (error) {
	case ECONNREFUSED:
		return FAULT_REFUSED;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return FAULT_UNREACHABLE;
	case ETIMEDOUT:
		return FAULT_NO_ANSWER;
	case ECONNRESET:
	case EPIPE:
		return FAULT_CLOSED;
	default:
		snprintf(c->detail, sizeof(c->detail), "%s", strerror(error));
		return FAULT_SYSTEM;
	}
}

enum fault conn_open(
	struct conn *c, enum transport t, const struct endpoint *server, uint64_t deadline_ms)
{
	const int type = transport_is_datagram(t) ? SOCK_DGRAM : SOCK_STREAM, yes = 1;
	struct sockaddr_storage sa;
	const socklen_t sa_len = to_sockaddr(server, &sa);
	socklen_t error_len = sizeof(int);
	int error = 0;

	*c = (struct conn){.transport = t, .fd = make_socket(server, type)};
	if (c->fd < 0)
		return conn_fault(c, errno);
	if (connect(c->fd, (struct sockaddr *)&sa, sa_len) < 0 && errno != EINPROGRESS)
		return conn_fault(c, errno);
	if (type == SOCK_DGRAM)
		return FAULT_NONE;
	if (!conn_wait(c->fd, POLLOUT, deadline_ms))
		return FAULT_NO_ANSWER;
	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
	if (error != 0)
		return conn_fault(c, error);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return FAULT_NONE;
}

// --- sending and receiving -----------------------------------------------------------------------

enum fault conn_send(struct conn *c, const void *data, size_t len, uint64_t deadline_ms)
{
	const uint8_t *p = data;
	ssize_t n;

	if (c->ssl != NULL)
		return tls_send(c, data, len, deadline_ms);
	while (len > 0) {
		n = send(c->fd, p, len, MSG_NOSIGNAL);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN && errno != EINTR) {
			return conn_fault(c, errno);
		} else if (!conn_wait(c->fd, POLLOUT, deadline_ms)) {
			return FAULT_NO_ANSWER;
		}
	}
	return FAULT_NONE;
}

// Reads at most cap bytes; *len is 0 if nothing comes until the deadline.
static enum fault read_some(
	struct conn *c, uint8_t *out, size_t cap, size_t *len, uint64_t deadline_ms)
{
	ssize_t n;

	*len = 0;
	if (c->ssl != NULL)
		return tls_receive(c, out, cap, len, deadline_ms);
	while (conn_wait(c->fd, POLLIN, deadline_ms)) {
		n = recv(c->fd, out, cap, 0);
		if (n == 0 && !transport_is_datagram(c->transport))
			return FAULT_CLOSED;
		if (n > 0) {
			*len = (size_t)n;
			return FAULT_NONE;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return conn_fault(c, errno);
	}
	return FAULT_NONE;
}

enum fault conn_receive(struct conn *c, uint8_t *out, size_t *len, uint64_t deadline_ms)
{
	enum stun_framing_state state;
	struct stun_framing f;
	enum fault fault;
	size_t n;

	*len = 0;
	if (transport_is_datagram(c->transport))
		return read_some(c, out, CONN_MESSAGE_MAX, len, deadline_ms);
	for (;;) {
		state = stun_framing_scan(c->buf, c->held, CHANNEL_MAX, &f);
		if (state == STUN_FRAMING_BAD || f.size > sizeof(c->buf))
			return FAULT_BAD_ANSWER;
		if (state == STUN_FRAMING_WHOLE) {
			memcpy(out, c->buf, f.len);
			*len = f.len;
			c->held -= f.size;
			memmove(c->buf, c->buf + f.size, c->held);
			return FAULT_NONE;
		}
		fault = read_some(c, c->buf + c->held, sizeof(c->buf) - c->held, &n, deadline_ms);
		if (fault != FAULT_NONE || n == 0)
			return fault;
		c->held += n;
	}
}

void conn_close(struct conn *c)
{
	tls_close(c);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}
