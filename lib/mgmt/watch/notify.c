// SPDX-License-Identifier: BSD-3-Clause
// The protocol of sd_notify(3). It is one datagram, and libsystemd would be one more library in a
// process that relays.
#include "watch/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_US 500000

static struct {
	int fd;
	struct sockaddr_un dst;
	socklen_t len;
	uint64_t watchdog_us;
} state = {.fd = -1};

static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : 0;
}

// A path, or, with '@', an abstract name without a file (unix(7)).
static bool take_address(const char *path)
{
	const size_t len = strlen(path);

	if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(state.dst.sun_path))
		return false;
	state.dst = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(state.dst.sun_path, path, len);
	if (path[0] == '@')
		state.dst.sun_path[0] = '\0';
	state.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	return true;
}

int notify_open(void)
{
	const struct timeval patience = {.tv_usec = PATIENCE_US};
	const char *path = getenv("NOTIFY_SOCKET");
	const uint64_t pid = number_of("WATCHDOG_PID");

	if (path == NULL || path[0] == '\0')
		return 0;
	if (!take_address(path))
		return -EINVAL;
	state.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (state.fd < 0)
		return -errno;
	setsockopt(state.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	// sd_watchdog_enabled(3): without a pid the variable is meant for any process that gets it
	if (pid == 0 || pid == (uint64_t)getpid())
		state.watchdog_us = number_of("WATCHDOG_USEC");
	return 0;
}

void notify_close(void)
{
	if (state.fd >= 0)
		close(state.fd);
	state.fd = -1;
	state.watchdog_us = 0;
}

bool notify_is_open(void)
{
	return state.fd >= 0;
}

uint64_t notify_watchdog_us(void)
{
	return state.watchdog_us;
}

void notify_send(const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	if (state.fd < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && n < (int)sizeof(text))
		sendto(state.fd, text, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&state.dst,
			state.len);
}
