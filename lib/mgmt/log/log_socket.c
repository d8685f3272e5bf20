// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams to the host's log daemons.
#include "log/log_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int log_socket_open(void)
{
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 ? fd : -errno;
}

int log_socket_send(int fd, const char *path, const char *data, size_t len)
{
	struct sockaddr_un dst = {.sun_family = AF_UNIX};
	ssize_t n;

	if (strlen(path) >= sizeof(dst.sun_path))
		return -ENAMETOOLONG;
	strcpy(dst.sun_path, path);
	n = sendto(fd, data, len, MSG_NOSIGNAL, (const struct sockaddr *)&dst, sizeof(dst));
	if (n >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? -EAGAIN : -errno;
}
