// SPDX-License-Identifier: BSD-3-Clause
// Reads the server's drop counters from its DPDK telemetry socket.
#include "report/telemetry.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <yaml.h>

#define COMMAND "/slipring/drops"
#define ANSWER_MAX 16384 // longest message of DPDK's telemetry
#define TIMEOUT_S 2

struct request {
	const char *prefix;
	char *error;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static int fail_request(
	const struct request *r, const char *fmt, ...)
{
	const int n = snprintf(r->error, r->len, "telemetry of %s: ", r->prefix);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < r->len)
		vsnprintf(r->error + n, r->len - (size_t)n, fmt, ap);
	va_end(ap);
	return -1;
}

// --- the answer ----------------------------------------------------------------------------------

struct answer {
	yaml_parser_t parser;
	yaml_event_t event; // the current event
};

// Reads the next event; false on an error.
static bool next_event(struct answer *a)
{
	yaml_event_delete(&a->event);
	if (yaml_parser_parse(&a->parser, &a->event) == 1)
		return true;
	memset(&a->event, 0, sizeof(a->event));
	return false;
}

static const char *scalar_value(const struct answer *a)
{
	return a->event.type == YAML_SCALAR_EVENT ? (const char *)a->event.data.scalar.value : NULL;
}

// Reads {"name": count, ...}, after its opening brace.
static bool take_counters(struct answer *a, struct server_drops *out)
{
	while (next_event(a) && a->event.type != YAML_MAPPING_END_EVENT) {
		const char *text = scalar_value(a);
		char *end;

		if (text == NULL || out->n == SERVER_DROPS_MAX)
			return false;
		snprintf(out->drop[out->n].name, sizeof(out->drop[out->n].name), "%s", text);
		text = next_event(a) ? scalar_value(a) : NULL;
		if (text == NULL || text[0] < '0' || text[0] > '9')
			return false;
		errno = 0;
		out->drop[out->n].count = strtoull(text, &end, 10);
		if (*end != '\0' || errno != 0)
			return false;
		out->n++;
	}
	return a->event.type == YAML_MAPPING_END_EVENT;
}

// Reads the whole answer, {"/slipring/drops": {...}}, as YAML, which contains JSON.
static bool take_answer(struct answer *a, struct server_drops *out)
{
	const char *name;

	if (!next_event(a) || a->event.type != YAML_STREAM_START_EVENT || !next_event(a) ||
		a->event.type != YAML_DOCUMENT_START_EVENT || !next_event(a) ||
		a->event.type != YAML_MAPPING_START_EVENT)
		return false;
	name = next_event(a) ? scalar_value(a) : NULL;
	if (name == NULL || strcmp(name, COMMAND) != 0)
		return false;
	if (!next_event(a) || a->event.type != YAML_MAPPING_START_EVENT || !take_counters(a, out))
		return false;
	return next_event(a) && a->event.type == YAML_MAPPING_END_EVENT;
}

static int parse_answer(
	const struct request *r, const char *text, size_t len, struct server_drops *out)
{
	struct answer a = {0};
	bool ok;

	if (yaml_parser_initialize(&a.parser) != 1)
		return fail_request(r, "out of memory");
	yaml_parser_set_input_string(&a.parser, (const unsigned char *)text, len);
	ok = take_answer(&a, out);
	yaml_event_delete(&a.event);
	yaml_parser_delete(&a.parser);
	return ok ? 0 : fail_request(r, "no answer to " COMMAND ": is that slipring?");
}

// --- the socket ----------------------------------------------------------------------------------

// Makes the path of DPDK's telemetry socket, by the same rules as EAL.
static int socket_path(const struct request *r, struct sockaddr_un *sun)
{
	const char *run = getenv("RUNTIME_DIRECTORY");
	int n;

	if (run == NULL || run[0] == '\0')
		run = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	if (run == NULL || run[0] == '\0')
		run = "/tmp";
	sun->sun_family = AF_UNIX;
	n = snprintf(sun->sun_path, sizeof(sun->sun_path), "%s/dpdk/%s/dpdk_telemetry.v2", run,
		r->prefix);
	if (n < 0 || (size_t)n >= sizeof(sun->sun_path))
		return fail_request(r, "path of the socket is too long");
	return 0;
}

static int connect_to(const struct request *r)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un sun;
	int fd;

	if (socket_path(r, &sun) != 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_request(r, "%s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) != 0) {
		fail_request(r, "%s: %s: does the server run on this host, as the same user?",
			sun.sun_path, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

// Receives one message. A signal does not interrupt it; it ends the run later.
static ssize_t receive_message(int fd, char *text, size_t len)
{
	ssize_t n;

	do
		n = recv(fd, text, len, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

int telemetry_drops(const char *prefix, struct server_drops *out, char *error, size_t len)
{
	const struct request r = {.prefix = prefix, .error = error, .len = len};
	const int fd = connect_to(&r);
	char text[ANSWER_MAX];
	ssize_t n;
	int rc;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return -1;
	n = receive_message(fd, text, sizeof(text)); // DPDK first sends its version
	if (n > 0 && send(fd, COMMAND, strlen(COMMAND), MSG_NOSIGNAL) < 0)
		n = -1;
	if (n > 0)
		n = receive_message(fd, text, sizeof(text));
	if (n > 0)
		rc = parse_answer(&r, text, (size_t)n, out);
	else
		rc = fail_request(&r, "%s", n < 0 ? strerror(errno) : "connection closed");
	close(fd);
	return rc;
}

// --- differences ---------------------------------------------------------------------------------

static uint64_t count_of(const struct server_drops *d, const char *name)
{
	for (unsigned int i = 0; i < d->n; i++)
		if (strcmp(d->drop[i].name, name) == 0)
			return d->drop[i].count;
	return 0;
}

void telemetry_drops_delta(struct server_drops *now, const struct server_drops *before)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < now->n; i++) {
		const uint64_t old = count_of(before, now->drop[i].name);
		const uint64_t count = now->drop[i].count;

		if (count == old)
			continue;
		now->drop[kept] = now->drop[i];
		now->drop[kept++].count = count > old ? count - old : count;
	}
	now->n = kept;
}
