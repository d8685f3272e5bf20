// SPDX-License-Identifier: BSD-3-Clause
// The log: levels and limits of its lines, where they go, and how DPDK writes into it.
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_log.h>

#include "log.h"

static struct {
	pthread_mutex_t lock; // guards all fields below
	struct mgmt_log_limit limit;
	enum conf_log_to to;
	int level;
	FILE *stream; // DPDK writes to it; NULL = not open
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .to = CONF_LOG_STDERR, .level = LOG_INFO};

static const char *level_name(int level)
{
	switch (level) {
	case LOG_WARNING:
		return "warn";
	case LOG_NOTICE:
		return "note";
	case LOG_INFO:
		return "info";
	case LOG_DEBUG:
		return "debug";
	default:
		return "error";
	}
}

bool mgmt_log_is_journal(int fd, const char *stream)
{
	unsigned long long device, inode;
	struct stat st;
	char end;

	return stream != NULL && sscanf(stream, "%llu:%llu%c", &device, &inode, &end) == 2 &&
		fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

// True when standard error is the journal. Looked up each time, because standard error may change
// while we run.
static bool to_journal(void)
{
	return mgmt_log_is_journal(STDERR_FILENO, getenv("JOURNAL_STREAM"));
}

const char *mgmt_log_prefix(int level)
{
	static const char *const prefix[] = {
		"<0>", "<1>", "<2>", "<3>", "<4>", "<5>", "<6>", "<7>"};

	return to_journal() ? prefix[level & 7] : "";
}

bool mgmt_log_allow(struct mgmt_log_limit *l, uint64_t now_ms, uint32_t *suppressed)
{
	*suppressed = 0;
	if (now_ms / 1000 != l->second) {
		*suppressed = l->suppressed;
		*l = (struct mgmt_log_limit){.second = now_ms / 1000};
	}
	if (l->lines < MGMT_LOG_LINES) {
		l->lines++;
		return true;
	}
	l->suppressed++;
	return false;
}

// Appends a text. It may hold what strangers chose, so it must not move the cursor or start a line.
static size_t append_text(char *buf, size_t at, size_t end, const char *text)
{
	for (; *text != '\0' && at < end; text++) {
		const unsigned char c = (unsigned char)*text;

		buf[at++] = c == '\t' ? ' ' : c < 0x20 || c == 0x7f ? '?' : *text;
	}
	return at;
}

size_t mgmt_log_format(
	char buf[MGMT_LOG_LINE_LEN], const struct timespec *wall, int level, const char *text)
{
	struct tm tm;
	size_t n;

	if (wall == NULL) {
		n = (size_t)snprintf(buf, MGMT_LOG_LINE_LEN, "<%d>", level & 7);
		n = append_text(buf, n, MGMT_LOG_LINE_LEN - 2, text);
		buf[n++] = '\n';
		buf[n] = '\0';
		return n;
	}
	gmtime_r(&wall->tv_sec, &tm);
	n = strftime(buf, MGMT_LOG_LINE_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	n += (size_t)snprintf(buf + n, MGMT_LOG_LINE_LEN - n, ".%03uZ %-5s ",
		(unsigned int)(wall->tv_nsec / 1000000), level_name(level));
	n = append_text(buf, n, MGMT_LOG_LINE_LEN - 2, text);
	buf[n++] = '\n';
	buf[n] = '\0';
	return n;
}

// Writes one line. The caller holds the lock.
static void write_line(int level, const char *text)
{
	char buf[MGMT_LOG_LINE_LEN];
	struct timespec wall;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &wall);
	n = mgmt_log_format(buf, to_journal() ? NULL : &wall, level, text);
	if (state.to == CONF_LOG_SYSLOG) {
		// syslog adds time and level itself: give it only the cleaned text.
		buf[append_text(buf, 0, sizeof(buf) - 1, text)] = '\0';
		syslog(level, "%s", buf);
		return;
	}
	// One write call, so that lines of several processes do not mix. When the log cannot be
	// written, there is nobody to tell.
	if (write(STDERR_FILENO, buf, n) < 0)
		return;
}

static void write_suppressed(uint32_t n)
{
	char text[64];

	if (n == 0)
		return;
	snprintf(text, sizeof(text), "suppressed %u lines", n);
	write_line(LOG_WARNING, text);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void log_text(int level, const char *text)
{
	uint32_t suppressed;
	bool allowed;

	pthread_mutex_lock(&state.lock);
	if (level <= state.level) {
		allowed = mgmt_log_allow(&state.limit, now_ms(), &suppressed);
		write_suppressed(suppressed);
		if (allowed)
			write_line(level, text);
	}
	pthread_mutex_unlock(&state.lock);
}

void mgmt_log(int level, const char *fmt, ...)
{
	char text[MGMT_LOG_LINE_LEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_text(level, text);
}

void mgmt_log_tick(void)
{
	const uint64_t second = now_ms() / 1000;

	pthread_mutex_lock(&state.lock);
	if (state.limit.suppressed > 0 && state.limit.second != second) {
		write_suppressed(state.limit.suppressed);
		state.limit.suppressed = 0;
	}
	pthread_mutex_unlock(&state.lock);
}

// Takes what DPDK logs: its levels are numbered one above syslog's, and a newline ends each line.
static ssize_t stream_write(void *cookie, const char *data, size_t len)
{
	const int level = rte_log_cur_msg_loglevel() - 1;
	char text[MGMT_LOG_LINE_LEN];
	size_t at = 0;

	while (at < len) {
		const char *end = memchr(data + at, '\n', len - at);
		const size_t n = end != NULL ? (size_t)(end - data) - at : len - at;

		snprintf(text, sizeof(text), "%.*s", (int)n, data + at);
		if (n > 0)
			log_text(level < LOG_EMERG || level > LOG_DEBUG ? LOG_INFO : level, text);
		at += n + 1;
	}
	return (ssize_t)len;
}

void mgmt_log_open(enum conf_log_to to, int level)
{
	const cookie_io_functions_t io = {.write = stream_write};
	FILE *stream = fopencookie(NULL, "w", io);

	pthread_mutex_lock(&state.lock);
	state.to = to;
	state.level = level;
	state.stream = stream;
	if (to == CONF_LOG_SYSLOG)
		openlog("slipring", LOG_PID | LOG_NDELAY, LOG_DAEMON);
	pthread_mutex_unlock(&state.lock);
	if (stream != NULL)
		rte_openlog_stream(stream);
}

void mgmt_log_close(void)
{
	FILE *stream;

	// The stream stays open: DPDK's threads may be writing a last line.
	rte_openlog_stream(NULL);
	pthread_mutex_lock(&state.lock);
	stream = state.stream;
	state.stream = NULL;
	write_suppressed(state.limit.suppressed);
	if (state.to == CONF_LOG_SYSLOG)
		closelog();
	state.to = CONF_LOG_STDERR;
	state.level = LOG_INFO;
	pthread_mutex_unlock(&state.lock);
	if (stream != NULL)
		fflush(stream);
}
