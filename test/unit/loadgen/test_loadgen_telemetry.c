// SPDX-License-Identifier: BSD-3-Clause
// The load generator's queries to a server's telemetry, against a socket that answers like DPDK;
// and the plot, against a script that replaces the program that draws it.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "options/opts.h"
#include "report/plot.h"
#include "report/telemetry.h"
#include "test.h"

#define VERSION "{\"version\":\"DPDK 22.11.11\",\"pid\":4711,\"max_output_len\":16384}"

static char dir[64];
static char error[256];
static struct server_drops drops;

static void path_to(char *path, size_t len, const char *name)
{
	assert_true((size_t)snprintf(path, len, "%s/%s", dir, name) < len);
}

static int begin(void **state)
{
	char path[128];

	snprintf(dir, sizeof(dir), "/tmp/loadgen-XXXXXX");
	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0)
		return -1;
	path_to(path, sizeof(path), "dpdk");
	if (mkdir(path, 0700) != 0)
		return -1;
	path_to(path, sizeof(path), "dpdk/sut");
	return mkdir(path, 0700);
}

static int end(void **state)
{
	static const char *const names[] = {
		"dpdk/sut/dpdk_telemetry.v2", "slipring-plot", "out.svg", "dpdk/sut", "dpdk", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[128];

		path_to(path, sizeof(path), names[i]);
		if (remove(path) != 0 && errno != ENOENT)
			return -1;
	}
	return 0;
}

// --- the server's side ---------------------------------------------------------------------------

struct server {
	int listener;
	const char *answer; // NULL: closes the connection instead
	char asked[64];
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	const int fd = accept(s->listener, NULL, NULL);
	ssize_t n;

	if (fd < 0)
		return NULL;
	if (send(fd, VERSION, strlen(VERSION), MSG_NOSIGNAL) > 0) {
		n = recv(fd, s->asked, sizeof(s->asked) - 1, 0);
		s->asked[n > 0 ? n : 0] = '\0';
		if (s->answer != NULL)
			n = send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
	}
	close(fd);
	return NULL;
}

static void server_start(struct server *s, const char *answer)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	*s = (struct server){.answer = answer};
	path_to(sun.sun_path, sizeof(sun.sun_path), "dpdk/sut/dpdk_telemetry.v2");
	unlink(sun.sun_path);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_true(s->listener >= 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&sun, sizeof(sun)), 0);
	assert_int_equal(listen(s->listener, 1), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static int ask(const char *answer)
{
	struct server s;
	int rc;

	server_start(&s, answer);
	error[0] = '\0';
	rc = telemetry_drops("sut", &drops, error, sizeof(error));
	assert_int_equal(pthread_join(s.thread, NULL), 0);
	close(s.listener);
	assert_string_equal(s.asked, "/slipring/drops");
	return rc;
}

static void test_answer(void **state)
{
	assert_int_equal(ask("{\"/slipring/drops\":{\"short_frame\":0,\"no_permission\":12,"
			     "\"nonce\":18446744073709551615}}"),
		0);
	assert_int_equal(drops.n, 3);
	assert_string_equal(drops.drop[0].name, "short_frame");
	assert_int_equal(drops.drop[0].count, 0);
	assert_string_equal(drops.drop[1].name, "no_permission");
	assert_int_equal(drops.drop[1].count, 12);
	assert_true(drops.drop[2].count == UINT64_MAX);
	assert_int_equal(ask("{\"/slipring/drops\":{}}"), 0);
	assert_int_equal(drops.n, 0);
}

// An answer of the maximum length: 16 KiB.
static void test_long_answer(void **state)
{
	char *text = malloc(16384 + 1);
	size_t used;

	assert_non_null(text);
	used = (size_t)sprintf(text, "{\"/slipring/drops\":{");
	for (unsigned int i = 0; i < SERVER_DROPS_MAX; i++)
		used += (size_t)sprintf(
			text + used, "%s\"reason_%u\":%u", i > 0 ? "," : "", i, i * 1000);
	while (used < 16384 - 2)
		text[used++] = ' ';
	strcpy(text + used, "}}");
	assert_int_equal(ask(text), 0);
	assert_int_equal(drops.n, SERVER_DROPS_MAX);
	assert_string_equal(drops.drop[127].name, "reason_127");
	assert_int_equal(drops.drop[127].count, 127000);
	free(text);
}

static void test_bad_answers(void **state)
{
	static const char *const bad[] = {"{\"/slipring/drops\":null}", // a program without it
		"{\"/slipring/drops\":{\"error\":\"not running\"}}",
		"{\"/slipring/stats\":{\"rx\":1}}", "{\"/slipring/drops\":{\"a\":-1}}",
		"{\"/slipring/drops\":{\"a\":1.5}}",
		"{\"/slipring/drops\":{\"a\":18446744073709551616}}",
		"{\"/slipring/drops\":{\"a\":{\"b\":1}}}", "{\"/slipring/drops\":[1,2]}",
		"{\"/slipring/drops\":{\"a\":1,", "[]", "{", "null", "\"", "\xff\xfe\x00",
		"&a [*a]"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(ask(bad[i]), -1);
		assert_non_null(strstr(error, "telemetry of sut: "));
	}
	assert_int_equal(ask(NULL), -1);
	assert_non_null(strstr(error, "connection closed"));
}

static void test_nobody(void **state)
{
	char prefix[200];

	assert_int_equal(telemetry_drops("nobody", &drops, error, sizeof(error)), -1);
	assert_non_null(strstr(error, "nobody/dpdk_telemetry.v2: No such file"));
	memset(prefix, 'x', sizeof(prefix));
	prefix[sizeof(prefix) - 1] = '\0';
	assert_int_equal(telemetry_drops(prefix, &drops, error, sizeof(error)), -1);
	assert_int_equal(telemetry_drops("nobody", &drops, error, 4), -1); // error is truncated
	assert_int_equal(strlen(error), 3);
}

static void test_delta(void **state)
{
	static struct server_drops before = {.n = 3, .drop = {{"a", 5}, {"b", 7}, {"gone", 1}}};
	static struct server_drops now = {
		.n = 4, .drop = {{"a", 5}, {"b", 9}, {"new", 4}, {"zero", 0}}};
	static struct server_drops again = {.n = 1, .drop = {{"b", 3}}};

	telemetry_drops_delta(&now, &before);
	assert_int_equal(now.n, 2);
	assert_string_equal(now.drop[0].name, "b");
	assert_int_equal(now.drop[0].count, 2);
	assert_string_equal(now.drop[1].name, "new");
	assert_int_equal(now.drop[1].count, 4);
	// Restarted meanwhile: it counts from zero
	telemetry_drops_delta(&again, &before);
	assert_int_equal(again.n, 1);
	assert_int_equal(again.drop[0].count, 3);
}

// --- the plot ------------------------------------------------------------------------------------

static void script_install(const char *body)
{
	char path[128];
	FILE *f;

	path_to(path, sizeof(path), "slipring-plot");
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0700), 0);
}

static int draw(const char *file)
{
	char *argv[] = {"", "--server", "10.0.0.1", "--client-addr", "10.0.0.2/24", "--peer-addr",
		"10.0.1.2/24", "--search", "ndr"};
	const struct search_params p = {.lo = 1, .hi = 2, .resolution = 0.1, .repeats = 1};
	struct search *s = calloc(1, sizeof(*s));
	struct config c;
	struct result r = {.hz = 1};
	int rc;

	assert_non_null(s);
	assert_int_equal(opts_read(sizeof(argv) / sizeof(*argv), argv, &c, error), OPTS_RUN);
	assert_int_equal(search_init(s, &p), 0);
	c.plot = file;
	rc = plot_write(&c, &r, s, error, sizeof(error));
	free(s);
	return rc;
}

// Everything that would prevent the plot is reported before the run.
static void test_plot_check(void **state)
{
	char path[128], text[64] = "";
	FILE *f;

	path_to(path, sizeof(path), "slipring-plot");
	unlink(path);
	assert_int_equal(setenv("SLIPRING_PLOT", path, 1), 0);
	assert_int_equal(plot_check("out.svg", error, sizeof(error)), -1);
	assert_non_null(strstr(error, "--plot out.svg: cannot run "));
	assert_non_null(strstr(error, "slipring-plot: No such file"));
	script_install("exit 1");
	assert_int_equal(plot_check("out.svg", error, sizeof(error)), -1);
	assert_string_equal(error, "--plot out.svg: could not be drawn, see above");
	path_to(path, sizeof(path), "out.svg");
	script_install("[ \"$1\" = --check ] && [ $# = 2 ] && echo checked >\"$2\"");
	assert_int_equal(plot_check(path, error, sizeof(error)), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "checked\n");
	unlink(path);
	path_to(path, sizeof(path), "slipring-plot");
	unlink(path);
}

static void test_plot(void **state)
{
	char path[128], text[64] = "";
	FILE *f;

	path_to(path, sizeof(path), "slipring-plot");
	assert_int_equal(setenv("SLIPRING_PLOT", path, 1), 0);
	assert_int_equal(draw("out.svg"), -1); // no data yet
	assert_non_null(strstr(error, "slipring-plot: No such file"));
	path_to(path, sizeof(path), "out.svg");
	script_install("cat >\"$1\"");
	assert_int_equal(draw(path), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_ptr_equal(strstr(text, "{\"program\":\"slipring-loadgen\""), text);
	// A program that reads nothing, and fails
	script_install("exit 1");
	assert_int_equal(draw(path), -1);
	assert_non_null(strstr(error, "not drawn"));
	script_install("exec kill -9 $$");
	assert_int_equal(draw(path), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_long_answer),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_delta),
		cmocka_unit_test(test_plot_check),
		cmocka_unit_test(test_plot),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
