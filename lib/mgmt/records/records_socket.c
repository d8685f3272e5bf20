// SPDX-License-Identifier: BSD-3-Clause
// Sends records to the host's log daemons. Not by syslog(3): it waits for a daemon that is slow,
// and holds a lock meanwhile that the log of the appliance wants too.
#include "records/records_socket.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#define DATAGRAM 8192

struct fields {
	char text[DATAGRAM];
	size_t at;
};

int records_socket_open(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static bool send_to(int fd, const char *path, const char *data, size_t len)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(to.sun_path))
		return false;
	strcpy(to.sun_path, path);
	return sendto(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to,
		       sizeof(to)) == (ssize_t)len;
}

__attribute__((format(printf, 2, 3))) static void put(struct fields *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->text + f->at, sizeof(f->text) - f->at, fmt, ap);
	va_end(ap);
	// a field that finds no room is left out whole
	if (n > 0 && f->at + (size_t)n < sizeof(f->text))
		f->at += (size_t)n;
}

// SLIPRING_USER of "user", SLIPRING_LOST_SIZE of "lost" and "size": names have letters, digits and
// '_' alone.
static const char *name_of(const char *outer, const char *inner, char buf[64])
{
	snprintf(buf, 64, "%s%s%s", outer, outer[0] != '\0' ? "_" : "", inner);
	for (char *c = buf; *c != '\0'; c++)
		*c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
	return buf;
}

// No value has a newline: what strangers chose is escaped before it gets into a record.
static void put_fields(struct fields *f, const char *outer, const json_t *object)
{
	const char *key;
	json_t *value;
	char name[64];

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		name_of(outer, key, name);
		if (json_is_string(value))
			put(f, "SLIPRING_%s=%s\n", name, json_string_value(value));
		else if (json_is_integer(value))
			put(f, "SLIPRING_%s=%" JSON_INTEGER_FORMAT "\n", name,
				json_integer_value(value));
		else if (json_is_boolean(value))
			put(f, "SLIPRING_%s=%d\n", name, json_is_true(value));
		else if (json_is_object(value) && outer[0] == '\0')
			put_fields(f, key, value);
	}
}

bool records_socket_journal(int fd, const char *path, const struct json_t *object, const char *text)
{
	struct fields f = {.at = 0};

	put(&f, "PRIORITY=%d\nSYSLOG_IDENTIFIER=slipring\nMESSAGE=%s\n", LOG_INFO, text);
	put_fields(&f, "", object);
	return send_to(fd, path, f.text, f.at);
}

bool records_socket_syslog(int fd, const char *path, const char *text)
{
	const time_t now = time(NULL);
	struct fields f = {.at = 0};
	char when[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
	put(&f, "<%d>%s slipring[%d]: %s", LOG_DAEMON | LOG_INFO, when, (int)getpid(), text);
	return send_to(fd, path, f.text, f.at);
}
