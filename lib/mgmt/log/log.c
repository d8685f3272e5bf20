// SPDX-License-Identifier: BSD-3-Clause
// The log: which lines are written, and where they go.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "log/log.h"
#include "log/log_dpdk.h"
#include "log/log_form.h"
#include "log/log_journal.h"
#include "log/log_socket.h"
#include "log/log_syslog.h"

#define RATE 200 // lines per second of an area, until the log is opened
#define PATIENCE_MS 100 // per second: how long lines may wait for their reader

struct area {
	int level; // read without the lock
	struct mgmt_log_limit limit;
	uint64_t lines, suppressed;
};

static const char *syslog_path = LOG_SYSLOG_PATH;

static struct {
	pthread_mutex_t lock; // guards all fields below
	enum conf_log_to target;
	enum conf_log_format format;
	char path[108]; // socket of journald or syslog
	int fd; // socket to send from
	bool away; // the daemon does not run, and this was logged
	bool stuck, stderr_stuck; // the daemon runs, and did not take the last line
	uint64_t patience_s; // the second that left_ms belongs to
	unsigned int left_ms; // rest of PATIENCE_MS
	uint64_t lost, lost_told; // lines that nobody took
	struct area area[CONF_AREA_END];
} state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.fd = -1,
	.area = {[0 ... CONF_AREA_END - 1] = {LOG_INFO, {.rate = RATE}}},
};

// --- standard error under journald ---------------------------------------------------------------

bool mgmt_log_is_journal(int fd, const char *stream)
{
	unsigned long long device, inode;
	struct stat st;
	char end;

	return stream != NULL && sscanf(stream, "%llu:%llu%c", &device, &inode, &end) == 2 &&
		fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

// True if standard error is the journal. Checked each time, because standard error may change while
// the process runs.
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

// --- writing; the caller holds the lock ----------------------------------------------------------

// True if the caller may wait one more millisecond. Signals, addresses and telemetry are delayed
// meanwhile.
static bool may_wait(void)
{
	const uint64_t second = clock_monotonic_s();

	if (second != state.patience_s)
		state.left_ms = PATIENCE_MS;
	state.patience_s = second;
	if (state.left_ms == 0)
		return false;
	state.left_ms--;
	return true;
}

// Waits until standard error takes a line: its reader may be slow or stuck. After a wait in vain,
// no line waits until one is taken again. A pipe or socket that is ready takes a whole line.
static bool stderr_ready(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
	int n = poll(&p, 1, 0);

	while (n == 0 && !state.stderr_stuck && may_wait())
		n = poll(&p, 1, 1);
	state.stderr_stuck = n == 0;
	return n != 0;
}

static void write_stderr(const struct log_record *r)
{
	char buf[LOG_FORM_LEN];
	const size_t n =
		log_form(buf, r, state.format, to_journal() ? LOG_HEAD_PRIORITY : LOG_HEAD_TIME);

	// One write call, so that lines of several processes do not mix.
	if (!stderr_ready() || write(STDERR_FILENO, buf, n) < 0)
		state.lost++;
}

static const char *daemon_name(void)
{
	return state.target == CONF_LOG_SYSLOG ? "syslog" : "journal";
}

static void tell_away(const struct timespec *wall, int error)
{
	char text[MGMT_LOG_LINE_LEN];
	const struct log_record r = {
		.wall = *wall, .area = CONF_AREA_CONTROL, .level = LOG_WARNING, .text = text};

	snprintf(text, sizeof(text),
		"no %s at %s: %s: lines go to standard error until there is one", daemon_name(),
		state.path, strerror(error));
	write_stderr(&r);
}

// Sends a datagram to journald or syslog. Its queue may hold only ten, so a burst of lines waits a
// little for room. After a wait in vain, no line waits until one is taken again.
static int send_patiently(const char *buf, size_t n)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int rc = log_socket_send(state.fd, state.path, buf, n);

	while (rc == -EAGAIN && !state.stuck && may_wait()) {
		nanosleep(&pause, NULL);
		rc = log_socket_send(state.fd, state.path, buf, n);
	}
	state.stuck = rc == -EAGAIN;
	return rc;
}

// Without a daemon, lines go to standard error. If the daemon is there and does not read, the line
// is lost.
static void write_daemon(const struct log_record *r)
{
	char buf[LOG_SYSLOG_LEN];
	const size_t n = state.target == CONF_LOG_SYSLOG ? log_syslog_form(buf, r, state.format)
							 : log_journal_form(buf, r);
	const int rc = state.fd < 0 ? state.fd : send_patiently(buf, n);

	if (rc == -EAGAIN) {
		state.lost++;
		return;
	}
	if (rc != 0 && !state.away)
		tell_away(&r->wall, -rc);
	state.away = rc != 0;
	if (rc != 0)
		write_stderr(r);
}

static void write_record(struct log_record *r)
{
	clock_gettime(CLOCK_REALTIME, &r->wall);
	state.area[r->area].lines++;
	if (state.target == CONF_LOG_STDERR)
		write_stderr(r);
	else
		write_daemon(r);
}

static void write_suppressed(enum conf_area area, uint32_t n)
{
	const struct mgmt_log_field field = mgmt_log_number("suppressed", n);
	char text[64];
	struct log_record r = {
		.area = area, .level = LOG_WARNING, .text = text, .fields = &field, .nb = 1};

	if (n == 0)
		return;
	snprintf(text, sizeof(text), "suppressed %u line%s", n, n == 1 ? "" : "s");
	write_record(&r);
}

// Reports how many lines were lost, once a line is taken again.
static void write_lost(void)
{
	const uint64_t n = state.lost - state.lost_told;
	const struct mgmt_log_field field = mgmt_log_number("lost", n);
	const char *sink = state.target == CONF_LOG_STDERR || state.away ? "standard error"
		: state.target == CONF_LOG_SYSLOG                        ? "syslog"
									 : "the journal";
	char text[80];
	struct log_record r = {.area = CONF_AREA_CONTROL,
		.level = LOG_WARNING,
		.text = text,
		.fields = &field,
		.nb = 1};

	if (n == 0)
		return;
	snprintf(text, sizeof(text), "%llu line%s lost: %s did not accept them",
		(unsigned long long)n, n == 1 ? "" : "s", sink);
	state.lost_told = state.lost;
	write_record(&r);
	if (state.lost == state.lost_told)
		return;
	state.lost = state.lost_told; // do not count this line itself
	state.lost_told -= n;
}

// --- lines ---------------------------------------------------------------------------------------

bool mgmt_log_allow(struct mgmt_log_limit *l, uint64_t now_ms, uint32_t *suppressed)
{
	*suppressed = 0;
	if (now_ms / 1000 != l->second) {
		*suppressed = l->suppressed;
		*l = (struct mgmt_log_limit){.second = now_ms / 1000, .rate = l->rate};
	}
	if (l->rate == 0 || l->lines < l->rate) {
		l->lines++;
		return true;
	}
	l->suppressed++;
	return false;
}

bool mgmt_log_on(enum conf_area area, int level)
{
	return level <= __atomic_load_n(&state.area[area].level, __ATOMIC_RELAXED);
}

__attribute__((format(printf, 2, 0))) static void log_line(
	struct log_record *r, const char *fmt, va_list ap)
{
	char raw[MGMT_LOG_LINE_LEN], text[MGMT_LOG_LINE_LEN];
	struct area *a = &state.area[r->area];
	uint32_t suppressed;
	bool allowed;

	if (!mgmt_log_on(r->area, r->level))
		return;
	vsnprintf(raw, sizeof(raw), fmt, ap);
	log_form_clean(text, sizeof(text), raw);
	r->text = text;
	pthread_mutex_lock(&state.lock);
	allowed = mgmt_log_allow(&a->limit, clock_monotonic_ms(), &suppressed);
	write_suppressed(r->area, suppressed);
	if (allowed)
		write_record(r);
	else
		a->suppressed++;
	pthread_mutex_unlock(&state.lock);
}

void mgmt_log(enum conf_area area, int level, const char *fmt, ...)
{
	struct log_record r = {.area = area, .level = level};
	va_list ap;

	va_start(ap, fmt);
	log_line(&r, fmt, ap);
	va_end(ap);
}

void mgmt_log_fields(enum conf_area area, int level, const struct mgmt_log_field *fields,
	unsigned int nb, const char *fmt, ...)
{
	struct log_record r = {.area = area, .level = level, .fields = fields, .nb = nb};
	va_list ap;

	va_start(ap, fmt);
	log_line(&r, fmt, ap);
	va_end(ap);
}

// --- the log as a whole --------------------------------------------------------------------------

void mgmt_log_tick(void)
{
	const uint64_t second = clock_monotonic_s();

	pthread_mutex_lock(&state.lock);
	for (unsigned int i = 0; i < CONF_AREA_END; i++) {
		struct mgmt_log_limit *l = &state.area[i].limit;

		if (l->suppressed > 0 && l->second != second) {
			write_suppressed(i, l->suppressed);
			l->suppressed = 0;
		}
	}
	write_lost();
	pthread_mutex_unlock(&state.lock);
}

static void set_level(unsigned int area, int level)
{
	__atomic_store_n(&state.area[area].level, level, __ATOMIC_RELAXED);
}

int mgmt_log_set(unsigned int area, int level)
{
	const char *name = conf_area_name(area), *now = conf_level_name(level);
	int was;

	if (name == NULL || now == NULL)
		return -EINVAL;
	pthread_mutex_lock(&state.lock);
	was = state.area[area].level;
	set_level(area, level);
	pthread_mutex_unlock(&state.lock);
	if ((was >= LOG_DEBUG) != (level >= LOG_DEBUG))
		log_dpdk_debug(area, level >= LOG_DEBUG);
	if (was != level)
		LOG(CONTROL, NOTICE, "log: area %s from level %s to %s", name, conf_level_name(was),
			now);
	return 0;
}

bool mgmt_log_area(unsigned int area, struct mgmt_log_area *out)
{
	if (area >= CONF_AREA_END)
		return false;
	pthread_mutex_lock(&state.lock);
	*out = (struct mgmt_log_area){
		state.area[area].level, state.area[area].lines, state.area[area].suppressed};
	pthread_mutex_unlock(&state.lock);
	return true;
}

void mgmt_log_syslog_at(const char *path)
{
	syslog_path = path;
}

uint64_t mgmt_log_lost(void)
{
	uint64_t lost;

	pthread_mutex_lock(&state.lock);
	lost = state.lost;
	pthread_mutex_unlock(&state.lock);
	return lost;
}

// Selects the target of all lines from now on. The caller holds the lock.
static void select_target(const struct conf_log *c)
{
	if (state.fd >= 0)
		close(state.fd);
	state.fd = -1;
	state.target = c->target;
	state.format = c->format;
	state.away = state.stuck = state.stderr_stuck = false;
	if (c->target == CONF_LOG_STDERR)
		return;
	snprintf(state.path, sizeof(state.path), "%s",
		c->target == CONF_LOG_SYSLOG ? syslog_path : c->journal);
	state.fd = log_socket_open();
}

void mgmt_log_change(const struct conf_log *before, const struct conf_log *after)
{
	pthread_mutex_lock(&state.lock);
	if (before->target != after->target || before->format != after->format ||
		(after->target == CONF_LOG_JOURNAL && strcmp(before->journal, after->journal) != 0))
		select_target(after);
	for (unsigned int i = 0; i < CONF_AREA_END; i++)
		state.area[i].limit.rate = after->rate;
	pthread_mutex_unlock(&state.lock);
	for (unsigned int i = 0; i < CONF_AREA_END; i++)
		if (conf_area_level(before, i) != conf_area_level(after, i))
			mgmt_log_set(i, conf_area_level(after, i));
}

void mgmt_log_open(const struct conf_log *c)
{
	pthread_mutex_lock(&state.lock);
	select_target(c);
	state.lost = state.lost_told = 0;
	for (unsigned int i = 0; i < CONF_AREA_END; i++) {
		set_level(i, conf_area_level(c, i));
		state.area[i].limit = (struct mgmt_log_limit){.rate = c->rate};
		state.area[i].lines = state.area[i].suppressed = 0;
	}
	pthread_mutex_unlock(&state.lock);
	log_dpdk_open();
}

void mgmt_log_close(void)
{
	log_dpdk_close();
	pthread_mutex_lock(&state.lock);
	for (unsigned int i = 0; i < CONF_AREA_END; i++) {
		write_suppressed(i, state.area[i].limit.suppressed);
		set_level(i, LOG_INFO);
		state.area[i].limit = (struct mgmt_log_limit){.rate = RATE};
	}
	write_lost();
	if (state.fd >= 0)
		close(state.fd);
	state.fd = -1;
	state.target = CONF_LOG_STDERR;
	state.format = CONF_LOG_TEXT;
	pthread_mutex_unlock(&state.lock);
}
