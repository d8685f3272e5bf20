// SPDX-License-Identifier: BSD-3-Clause
// The log: rate limit, detection of the journal on standard error, the report, and telemetry's form
// of names and strings.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/log.h"
#include "log/report.h"
#include "telemetry/rows.h"
#include "test.h"

#define LINES 200

static void test_limit(void **state)
{
	struct mgmt_log_limit l = {.rate = LINES};
	uint32_t suppressed;

	for (unsigned int i = 0; i < LINES; i++) {
		assert_true(mgmt_log_allow(&l, 5000 + i % 1000, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	for (unsigned int i = 0; i < 7; i++) {
		assert_false(mgmt_log_allow(&l, 5999, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	// The next second reports the number of missing lines once, and has its full share.
	assert_true(mgmt_log_allow(&l, 6000, &suppressed));
	assert_int_equal(suppressed, 7);
	for (unsigned int i = 1; i < LINES; i++) {
		assert_true(mgmt_log_allow(&l, 6999, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	assert_false(mgmt_log_allow(&l, 6999, &suppressed));
}

static void test_no_limit(void **state)
{
	struct mgmt_log_limit l = {.rate = 0};
	uint32_t suppressed;

	for (unsigned int i = 0; i < 100000; i++) {
		assert_true(mgmt_log_allow(&l, 5000 + i / 50000, &suppressed));
		assert_int_equal(suppressed, 0);
	}
}

// Standard error is the journal if both numbers match: child processes inherit systemd's variable,
// and standard error may be redirected to a file.
static void test_is_journal(void **state)
{
	int fd[2];
	struct stat st;
	char text[64];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(fstat(fd[1], &st), 0);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	assert_true(mgmt_log_is_journal(fd[1], text));
	assert_false(mgmt_log_is_journal(fd[1], NULL));
	assert_false(mgmt_log_is_journal(fd[1], ""));
	strcat(text, "x");
	assert_false(mgmt_log_is_journal(fd[1], text));
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino + 1);
	assert_false(mgmt_log_is_journal(fd[1], text));
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev + 1, (uintmax_t)st.st_ino);
	assert_false(mgmt_log_is_journal(fd[1], text));
	snprintf(text, sizeof(text), "%ju", (uintmax_t)st.st_dev);
	assert_false(mgmt_log_is_journal(fd[1], text));
	close(fd[0]);
	close(fd[1]);
	assert_false(mgmt_log_is_journal(fd[1], text));
}

static void assert_relay(const struct turn_config *t, const char *want)
{
	char buf[128];

	assert_string_equal(mgmt_report_relay(t, buf, sizeof(buf)), want);
}

// The possible number is the smaller of the ports and the limits.
static void test_relay_text(void **state)
{
	struct addr a[2];
	struct turn_listener l[3] = {{.transport = TURN_OVER_UDP}, {.transport = TURN_OVER_DTLS},
		{.transport = TURN_OVER_UDP}};
	struct turn_config t = {.relay = a,
		.nb_relay = 1,
		.listeners = l,
		.nb_listeners = 3,
		.port_lo = 49152,
		.port_hi = 65535,
		.limits = {.allocations = 100000}};

	assert_int_equal(addr_parse("192.0.2.1", &a[0]), 0);
	assert_int_equal(addr_parse("2001:db8::1", &a[1]), 0);
	for (unsigned int i = 0; i < 3; i++)
		l[i].endpoint = (struct endpoint){a[0], 3478};
	assert_relay(
		&t, "1 address with 16384 ports each (49152-65535), 16384 allocations at most");
	// one port of the range belongs to two listeners, on that address
	l[0].endpoint.port = l[1].endpoint.port = 50000;
	t.nb_relay = 2;
	assert_relay(
		&t, "2 addresses with 16384 ports each (49152-65535), 32767 allocations at most");
	t.limits.allocations = 0;
	assert_relay(
		&t, "2 addresses with 16384 ports each (49152-65535), 32767 allocations at most");
	t.limits.allocations = 1;
	assert_relay(&t, "2 addresses with 16384 ports each (49152-65535), 1 allocation at most");
#ifdef FEATURE_SHARED
	t.shared.enabled = true;
	t.port_lo = t.port_hi = 3480;
	t.limits.allocations = 5000;
	assert_relay(
		&t, "2 addresses with 1 shared port each (3480-3480), 5000 allocations at most");
#endif
}

static void test_telemetry_strings(void **state)
{
	char buf[64];

	assert_string_equal(mgmt_rows_name("no-listener", buf, sizeof(buf)), "no_listener");
	assert_string_equal(mgmt_rows_name("abc", buf, 3), "ab");
	assert_string_equal(mgmt_rows_text("1767323045:ivan", buf, sizeof(buf)), "1767323045:ivan");
	assert_string_equal(
		mgmt_rows_text("a\"b\\c%\n\xc3\xa9", buf, sizeof(buf)), "a%22b%5Cc%25%0A%C3%A9");
	// Never half an escape, and no digits without room for them
	assert_string_equal(mgmt_rows_text("ab\n\n", buf, 7), "ab%0A");
}

// A reason without a name would be missing in /slipring/drops, and two equal names would clash.
static void test_drop_names(void **state)
{
	char a[64], b[64];

	assert_true(DP_DROP_END < 256); // limit of a telemetry object
	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		assert_non_null(dp_drop_name(i));
		mgmt_rows_name(dp_drop_name(i), a, sizeof(a));
		assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(a));
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(a, mgmt_rows_name(dp_drop_name(j), b, sizeof(b)));
	}
	assert_null(dp_drop_name(DP_DROP_END));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_is_journal),
		cmocka_unit_test(test_relay_text),
		cmocka_unit_test(test_telemetry_strings),
		cmocka_unit_test(test_drop_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
