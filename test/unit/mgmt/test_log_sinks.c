// SPDX-License-Identifier: BSD-3-Clause
// Destinations of lines: standard error and a stand-in for the journal's socket, writable, blocked
// and closed; the level and the limit of each area.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "log/log.h"
#include "port.h"
#include "test.h"

static char dir[32], path[64];
static int real_stderr, file; // file: standard error during a test
static struct conf_log conf;

static int setup(void **state)
{
	strcpy(dir, "/tmp/log_sinksXXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	unsetenv("JOURNAL_STREAM");
	conf = (struct conf_log){.journal = path, .level = LOG_INFO, .rate = 200};
	file = memfd_create("stderr", MFD_CLOEXEC);
	real_stderr = dup(STDERR_FILENO);
	return file < 0 || real_stderr < 0 || dup2(file, STDERR_FILENO) < 0;
}

static int teardown(void **state)
{
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(file);
	unlink(path);
	return rmdir(dir);
}

// Waits for the next second, the unit of the limits.
static void fresh_second(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec == begin.tv_sec);
}

// Text written to standard error since the last call, in a static buffer.
static const char *written(void)
{
	static char buf[1 << 20];
	const ssize_t n = pread(file, buf, sizeof(buf) - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	return buf;
}

static unsigned int lines_with(const char *text, const char *needle)
{
	unsigned int n = 0;

	for (const char *hit = strstr(text, needle); hit != NULL; hit = strstr(hit + 1, needle))
		n++;
	return n;
}

static int journal_make(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, path);
	unlink(path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

// The next datagram as text, or NULL.
static const char *journal_next(int fd)
{
	static char buf[8192];
	const ssize_t n = recv(fd, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return NULL;
	buf[n] = '\0';
	return buf;
}

// --- levels --------------------------------------------------------------------------------------

static void test_areas(void **state)
{
	const char *text;

	conf.level = LOG_WARNING;
	conf.areas[CONF_AREA_AUTH] = LOG_DEBUG;
	mgmt_log_open(&conf);
	assert_true(mgmt_log_on(CONF_AREA_AUTH, LOG_DEBUG));
	assert_false(mgmt_log_on(CONF_AREA_PORTS, LOG_INFO));
	LOG(AUTH, DEBUG, "one");
	LOG(PORTS, INFO, "two");
	LOG(PORTS, WARNING, "three");
	text = written();
	assert_non_null(strstr(text, "debug auth: one\n"));
	assert_null(strstr(text, "two"));
	assert_non_null(strstr(text, "warn  ports: three\n"));
	mgmt_log_close();
	LOG(PORTS, INFO, "after the end: at info again");
	assert_non_null(strstr(written(), "info  ports: after"));
}

static void test_set(void **state)
{
	struct mgmt_log_area a;
	const char *text;

	mgmt_log_open(&conf);
	LOG(AUTH, DEBUG, "not yet");
	assert_int_equal(mgmt_log_set(CONF_AREA_AUTH, LOG_DEBUG), 0);
	LOG(AUTH, DEBUG, "now");
	LOG(STREAMS, DEBUG, "not here");
	assert_int_equal(mgmt_log_set(CONF_AREA_AUTH, LOG_ERR), 0);
	LOG(AUTH, WARNING, "no more");
	assert_true(mgmt_log_area(CONF_AREA_AUTH, &a));
	assert_int_equal(a.level, LOG_ERR);
	assert_int_equal(a.lines, 1);
	assert_int_equal(a.suppressed, 0);
	text = written();
	assert_non_null(strstr(text, "note  control: log: area auth from level info to debug\n"));
	assert_non_null(strstr(text, "debug auth: now\n"));
	assert_non_null(strstr(text, "note  control: log: area auth from level debug to error\n"));
	assert_int_equal(lines_with(text, "\n"), 3);
	mgmt_log_close();
}

// A reload changes destination, form and level. An area that was set by hand keeps its level,
// unless the reload names it.
static void test_change(void **state)
{
	struct conf_log changed = conf;
	const int fd = journal_make();
	const char *text;

	mgmt_log_open(&conf);
	mgmt_log_set(CONF_AREA_PORTS, LOG_DEBUG);
	written();
	changed.target = CONF_LOG_JOURNAL;
	changed.areas[CONF_AREA_AUTH] = LOG_DEBUG;
	mgmt_log_change(&conf, &changed);
	assert_non_null(strstr(journal_next(fd), "log: area auth from level info to debug"));
	LOG(PORTS, DEBUG, "by hand");
	assert_non_null(strstr(journal_next(fd), "MESSAGE=by hand"));
	assert_string_equal(written(), "");
	conf.format = CONF_LOG_JSON;
	conf.rate = 1;
	mgmt_log_change(&changed, &conf);
	written();
	fresh_second();
	LOG(AUTH, DEBUG, "too deep");
	LOG(AUTH, INFO, "one");
	LOG(AUTH, INFO, "one too many");
	text = written();
	assert_int_equal(lines_with(text, "\"text\":"), 1);
	assert_non_null(strstr(text, "\"one\""));
	assert_null(journal_next(fd));
	mgmt_log_close();
	close(fd);
}

static void test_set_refused(void **state)
{
	struct mgmt_log_area a;

	mgmt_log_open(&conf);
	assert_int_equal(mgmt_log_set(CONF_AREA_END, LOG_INFO), -EINVAL);
	assert_int_equal(mgmt_log_set(UINT32_MAX, LOG_INFO), -EINVAL);
	assert_int_equal(mgmt_log_set(CONF_AREA_AUTH, LOG_DEBUG + 1), -EINVAL);
	assert_int_equal(mgmt_log_set(CONF_AREA_AUTH, LOG_CRIT), -EINVAL);
	assert_int_equal(mgmt_log_set(CONF_AREA_AUTH, -1), -EINVAL);
	assert_false(mgmt_log_area(CONF_AREA_END, &a));
	assert_true(mgmt_log_area(CONF_AREA_AUTH, &a));
	assert_int_equal(a.level, LOG_INFO);
	assert_string_equal(written(), "");
	mgmt_log_close();
}

// DPDK's lines belong to their own area, lib/port's to ports. Only at debug DPDK is asked for more:
// its level info.
static void test_dpdk(void **state)
{
	const uint32_t port = (uint32_t)port_log_type();
	const char *text;

	mgmt_log_open(&conf);
	rte_log_set_level_pattern("*", RTE_LOG_WARNING);
	rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_EAL, "EAL: one\nEAL: two\n");
	rte_log(RTE_LOG_ERR, port, "port lan: three\n");
	rte_log(RTE_LOG_INFO, port, "port lan: not asked for\n");
	assert_int_equal(mgmt_log_set(CONF_AREA_PORTS, LOG_DEBUG), 0);
	rte_log(RTE_LOG_INFO, port, "port lan: four\n");
	rte_log(RTE_LOG_INFO, RTE_LOGTYPE_EAL, "EAL: not asked for\n");
	assert_int_equal(mgmt_log_set(CONF_AREA_DPDK, LOG_DEBUG), 0);
	assert_int_equal(mgmt_log_set(CONF_AREA_PORTS, LOG_NOTICE), 0);
	rte_log(RTE_LOG_INFO, RTE_LOGTYPE_EAL, "EAL: five\n");
	assert_int_equal(rte_log_get_level(port), RTE_LOG_WARNING);
	assert_int_equal(mgmt_log_set(CONF_AREA_DPDK, LOG_INFO), 0);
	assert_int_equal(rte_log_get_level(RTE_LOGTYPE_EAL), RTE_LOG_WARNING);
	assert_int_equal(rte_log_get_level(port), RTE_LOG_WARNING);
	mgmt_log_close();
	text = written();
	assert_non_null(strstr(text, "warn  dpdk: EAL: one\n"));
	assert_non_null(strstr(text, "warn  dpdk: EAL: two\n"));
	assert_non_null(strstr(text, "error ports: port lan: three\n"));
	assert_non_null(strstr(text, "info  ports: port lan: four\n"));
	assert_non_null(strstr(text, "info  dpdk: EAL: five\n"));
	assert_null(strstr(text, "not asked for"));
}

// --- limits --------------------------------------------------------------------------------------

// A storm in one area costs only lines of that area.
static void test_storm(void **state)
{
	struct mgmt_log_area a;
	const char *text;

	conf.rate = 50;
	mgmt_log_open(&conf);
	for (unsigned int i = 0; i < 5000; i++)
		LOG(AUTH, INFO, "refused");
	LOG(PORTS, WARNING, "link down");
	assert_true(mgmt_log_area(CONF_AREA_AUTH, &a));
	assert_in_range(a.suppressed, 4500, 4950);
	mgmt_log_close();
	text = written();
	// a second or two may pass here
	assert_in_range(lines_with(text, "auth: refused\n"), 50, 500);
	assert_int_equal(lines_with(text, "ports: link down\n"), 1);
	assert_in_range(lines_with(text, "warn  auth: suppressed "), 1, 10);
}

// --- forms ---------------------------------------------------------------------------------------

static void test_json(void **state)
{
	const struct mgmt_log_field user = mgmt_log_bytes("user", "a\nb", 3);
	const char *text;

	conf.format = CONF_LOG_JSON;
	mgmt_log_open(&conf);
	mgmt_log_fields(CONF_AREA_AUTH, LOG_INFO, &user, 1, "a\nb \"%s\"", "c");
	text = written();
	assert_memory_equal(text, "{\"time\":\"20", 11);
	assert_non_null(strstr(text,
		"\"level\":\"info\",\"area\":\"auth\",\"text\":\"a?b \\\"c\\\"\","
		"\"user\":\"a%0Ab\"}\n"));
	mgmt_log_close();
}

// --- the journal ---------------------------------------------------------------------------------

static void test_journal(void **state)
{
	const struct mgmt_log_field user = mgmt_log_bytes("user", "ivan", 4);
	const int fd = journal_make();
	const char *data;

	conf.target = CONF_LOG_JOURNAL;
	mgmt_log_open(&conf);
	mgmt_log_fields(CONF_AREA_AUTH, LOG_NOTICE, &user, 1, "refused %d", 401);
	data = journal_next(fd);
	assert_non_null(data);
	assert_string_equal(data,
		"PRIORITY=5\nSYSLOG_IDENTIFIER=slipring\nSLIPRING_AREA=auth\n"
		"MESSAGE=refused 401\nSLIPRING_USER=ivan\n");
	assert_null(journal_next(fd));
	mgmt_log_close();
	assert_string_equal(written(), "");
	close(fd);
}

// journald may be absent at the start, appear, and be restarted with another socket.
static void test_journal_gone(void **state)
{
	const char *text;
	int fd;

	conf.target = CONF_LOG_JOURNAL;
	mgmt_log_open(&conf);
	LOG(START, INFO, "one");
	LOG(START, INFO, "two");
	text = written();
	assert_int_equal(lines_with(text, "warn  control: no journal at "), 1);
	assert_non_null(strstr(text, "info  start: one\n"));
	assert_non_null(strstr(text, "info  start: two\n"));
	fd = journal_make();
	LOG(START, INFO, "three");
	assert_non_null(strstr(journal_next(fd), "MESSAGE=three\n"));
	assert_string_equal(written(), "");
	close(fd); // the file is there, without a reader
	LOG(START, INFO, "four");
	text = written();
	assert_int_equal(lines_with(text, "no journal at "), 1);
	assert_non_null(strstr(text, "info  start: four\n"));
	fd = journal_make();
	LOG(START, INFO, "five");
	assert_non_null(strstr(journal_next(fd), "MESSAGE=five\n"));
	assert_int_equal(mgmt_log_lost(), 0);
	mgmt_log_close();
	close(fd);
}

// A journald that does not read costs lines and no time. Their number is reported when it reads
// again.
static void test_journal_stuck(void **state)
{
	const int fd = journal_make();
	unsigned int taken = 0, told = 0;
	const char *data;
	uint64_t lost;

	conf.target = CONF_LOG_JOURNAL;
	conf.rate = 0;
	mgmt_log_open(&conf);
	for (unsigned int i = 0; i < 5000; i++)
		LOG(START, INFO, "line %u", i);
	lost = mgmt_log_lost();
	assert_in_range(lost, 1, 4999);
	mgmt_log_tick(); // fails
	assert_int_equal(mgmt_log_lost(), lost);
	while ((data = journal_next(fd)) != NULL) {
		assert_non_null(strstr(data, "MESSAGE=line "));
		taken++;
	}
	assert_int_equal(taken + lost, 5000);
	mgmt_log_tick();
	while ((data = journal_next(fd)) != NULL) {
		char want[64];

		snprintf(want, sizeof(want), "SLIPRING_LOST=%u\n", (unsigned int)lost);
		assert_non_null(strstr(data, want));
		told++;
	}
	assert_int_equal(told, 1);
	mgmt_log_tick();
	assert_null(journal_next(fd));
	assert_string_equal(written(), "");
	mgmt_log_close();
	close(fd);
}

// --- no reader -----------------------------------------------------------------------------------

// A pipe without a reader costs lines and no time. Their number is reported when it is read again.
static void test_stderr_stuck(void **state)
{
	static char text[1 << 20];
	unsigned int taken;
	int pipes[2];
	char want[96];
	uint64_t lost;
	ssize_t n;

	conf.rate = 0;
	assert_int_equal(pipe(pipes), 0);
	assert_true(dup2(pipes[1], STDERR_FILENO) >= 0);
	mgmt_log_open(&conf);
	for (unsigned int i = 0; i < 5000; i++)
		LOG(START, INFO, "line %u", i);
	lost = mgmt_log_lost();
	assert_in_range(lost, 1, 4999);
	mgmt_log_tick(); // fails
	assert_int_equal(mgmt_log_lost(), lost);
	n = read(pipes[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	taken = lines_with(text, "start: line ");
	assert_int_equal(taken + lost, 5000);
	assert_int_equal(lines_with(text, "\n"), taken); // each is whole
	mgmt_log_tick();
	LOG(START, INFO, "line 5000");
	mgmt_log_tick();
	n = read(pipes[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	snprintf(want, sizeof(want), "warn  control: %u lines lost: standard error did not accept",
		(unsigned int)lost);
	assert_non_null(strstr(text, want));
	assert_int_equal(lines_with(text, "\n"), 2);
	mgmt_log_close();
	close(pipes[0]);
	close(pipes[1]);
}

// --- syslog --------------------------------------------------------------------------------------

static void test_syslog(void **state)
{
	char head[64];
	const char *data;
	int fd, head_len = 0;

	mgmt_log_syslog_at(path);
	conf.rate = 0;
	conf.target = CONF_LOG_SYSLOG;
	mgmt_log_open(&conf);
	LOG(START, INFO, "one");
	assert_int_equal(lines_with(written(), "warn  control: no syslog at "), 1);
	fd = journal_make();
	LOG(AUTH, NOTICE, "refused %d", 401);
	data = journal_next(fd);
	assert_non_null(data);
	// RFC 3164 4.1: daemon is 3, notice 5; the day of the month has two places
	assert_int_equal(sscanf(data, "<29>%*3[A-Z a-z] %*2d %*2d:%*2d:%*2d%n", &head_len), 0);
	assert_int_equal(head_len, strlen("<29>Jan  2 03:04:05"));
	snprintf(head, sizeof(head), " slipring[%d]: auth: refused 401", (int)getpid());
	assert_string_equal(data + head_len, head);
	assert_string_equal(written(), "");
	// it does not read, which costs lines
	for (unsigned int i = 0; i < 5000; i++)
		LOG(START, ERR, "line %u", i);
	assert_in_range(mgmt_log_lost(), 1, 4999);
	while (journal_next(fd) != NULL) {
	}
	mgmt_log_tick();
	assert_non_null(strstr(journal_next(fd), "lines lost: syslog did not accept them"));
	mgmt_log_close();
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_areas, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dpdk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_storm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_json, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_journal_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stderr_stuck, setup, teardown),
		cmocka_unit_test_setup_teardown(test_syslog, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
