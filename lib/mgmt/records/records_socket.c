// SPDX-License-Identifier: BSD-3-Clause
// Sends records to the host's log daemons. syslog(3) is not used, because it waits for a slow
// daemon without limit.
#include "records/records_socket.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#define DATAGRAM 8192

struct fields {
	char text[DATAGRAM];
	size_t len;
};

int records_socket_open(struct records_sink *s, unsigned int patience_ms)
{
	const struct timeval patience = {
		.tv_sec = patience_ms / 1000, .tv_usec = (suseconds_t)(patience_ms % 1000) * 1000};

	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 ||
		setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0)
		return -errno;
	return 0;
}

void records_socket_close(struct records_sink *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static bool send_to(struct records_sink *s, bool waits, const struct fields *f)
{
	const int flags = MSG_NOSIGNAL | (waits && !s->stuck ? 0 : MSG_DONTWAIT);
	struct sockaddr_un dst = {.sun_family = AF_UNIX};
	ssize_t n;

	if (strlen(s->path) >= sizeof(dst.sun_path))
		return false;
	strcpy(dst.sun_path, s->path);
	n = sendto(s->fd, f->text, f->len, flags, (const struct sockaddr *)&dst, sizeof(dst));
	s->stuck = n < 0 && errno == EAGAIN;
	return n == (ssize_t)f->len;
}

__attribute__((format(printf, 2, 3))) static void put_text(struct fields *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->text + f->len, sizeof(f->text) - f->len, fmt, ap);
	va_end(ap);
	// a field that does not fit is left out
	if (n > 0 && f->len + (size_t)n < sizeof(f->text))
		f->len += (size_t)n;
}

// The field of a member: SLIPRING_USER for "user". The names of a member and of its own member are
// joined with '_'. Names have only letters, digits and '_'.
static const char *name_of(const char *outer, const char *inner, char buf[64])
{
	snprintf(buf, 64, "%s%s%s", outer, outer[0] != '\0' ? "_" : "", inner);
	for (char *c = buf; *c != '\0'; c++)
		*c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
	return buf;
}

// No value has a newline: untrusted text was escaped before it got into a record.
static void put_fields(struct fields *f, const char *outer, const json_t *object)
{
	const char *key;
	json_t *value;
	char name[64];

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		name_of(outer, key, name);
		if (json_is_string(value))
			put_text(f, "SLIPRING_%s=%s\n", name, json_string_value(value));
		else if (json_is_integer(value))
			put_text(f, "SLIPRING_%s=%" JSON_INTEGER_FORMAT "\n", name,
				json_integer_value(value));
		else if (json_is_boolean(value))
			put_text(f, "SLIPRING_%s=%d\n", name, json_is_true(value));
		else if (json_is_object(value) && outer[0] == '\0')
			put_fields(f, key, value);
	}
}

bool records_socket_journal(
	struct records_sink *s, bool waits, const struct json_t *object, const char *text)
{
	struct fields f = {.len = 0};

	put_text(&f, "PRIORITY=%d\nSYSLOG_IDENTIFIER=slipring\nMESSAGE=%s\n", LOG_INFO, text);
	put_fields(&f, "", object);
	return send_to(s, waits, &f);
}

bool records_socket_syslog(struct records_sink *s, bool waits, const char *text)
{
	const time_t now = time(NULL);
	struct fields f = {.len = 0};
	char when[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
	put_text(&f, "<%d>%s slipring[%d]: %s", LOG_DAEMON | LOG_INFO, when, (int)getpid(), text);
	return send_to(s, waits, &f);
}
