// SPDX-License-Identifier: BSD-3-Clause
// Sockets to peers. All sockets of an allocation have its relayed transport address as local
// address, so they share a port with the listening socket (SO_REUSEPORT).
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockaddr.h"
#include "features/tcp/sockets.h"

#define BACKLOG 16 // connections to one port that wait for accept
#define ALIVE_S 60 // seconds of silence until the kernel sends keepalive probes
#define ALIVE_EACH_S 15
#define ALIVE_TIMES 4

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

// Sets socket options. Keepalive detects a vanished peer.
static void tune_socket(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, ALIVE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, ALIVE_EACH_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, ALIVE_TIMES);
}

static int close_failed(int fd)
{
	const int saved_errno = errno;

	close(fd);
	errno = saved_errno;
	return -1;
}

// Opens a socket bound to a relayed transport address.
static int open_at(const struct endpoint *local, const char *device)
{
	union sockaddr_any a;
	const socklen_t len = sockaddr_of(local, &a);
	const bool is_v6 = a.any.sa_family == AF_INET6;
	const int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (is_v6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
		set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0 ||
		(device[0] != '\0' &&
			setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
				(socklen_t)strlen(device)) != 0) ||
		bind(fd, &a.any, len) != 0)
		return close_failed(fd);
	return fd;
}

int sockets_listen(const struct endpoint *local, const char *device)
{
	const int fd = open_at(local, device);

	if (fd < 0)
		return -1;
	return listen(fd, BACKLOG) == 0 ? fd : close_failed(fd);
}

int sockets_connect(const struct endpoint *local, const char *device, const struct endpoint *peer)
{
	union sockaddr_any a;
	const socklen_t len = sockaddr_of(peer, &a);
	const int fd = open_at(local, device);

	if (fd < 0)
		return -1;
	tune_socket(fd);
	if (connect(fd, &a.any, len) != 0 && errno != EINPROGRESS)
		return close_failed(fd);
	return fd;
}

int sockets_connected(int fd)
{
	union sockaddr_any a;
	socklen_t len = sizeof(a);
	int so_error = 0;
	socklen_t why_len = sizeof(so_error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &so_error, &why_len) != 0 || so_error != 0)
		return -1;
	return getpeername(fd, &a.any, &len) == 0 ? 1 : 0;
}

int sockets_accept(int fd, struct endpoint *peer)
{
	union sockaddr_any a;
	socklen_t len = sizeof(a);
	const int got = accept4(fd, &a.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (got < 0)
		return -1;
	tune_socket(got);
	*peer = sockaddr_endpoint(&a);
	return got;
}

// The kernel refuses to bind a socket to an address that no interface has.
int sockets_is_own(const struct addr *a)
{
	const struct endpoint e = {.addr = *a};
	union sockaddr_any s;
	const socklen_t len = sockaddr_of(&e, &s);
	const int fd = socket(s.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int local;

	if (fd < 0)
		return -1;
	local = bind(fd, &s.any, len) == 0 || errno != EADDRNOTAVAIL;
	close(fd);
	return local;
}

bool sockets_unsent(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0;
}

void sockets_reset(int fd)
{
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void sockets_finish(int fd)
{
	static const struct linger none = {.l_onoff = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}
