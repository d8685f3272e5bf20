// SPDX-License-Identifier: BSD-3-Clause
// The log: rate limit, line format, and what telemetry makes of names and strings.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "log.h"
#include "mgmt_int.h"

static void test_limit(void **state)
{
	struct mgmt_log_limit l = {0};
	uint32_t suppressed;

	for (unsigned int i = 0; i < MGMT_LOG_LINES; i++) {
		assert_true(mgmt_log_allow(&l, 5000 + i % 1000, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	for (unsigned int i = 0; i < 7; i++) {
		assert_false(mgmt_log_allow(&l, 5999, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	// The next second tells once how many are missing, and has its full share.
	assert_true(mgmt_log_allow(&l, 6000, &suppressed));
	assert_int_equal(suppressed, 7);
	for (unsigned int i = 1; i < MGMT_LOG_LINES; i++) {
		assert_true(mgmt_log_allow(&l, 6999, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	assert_false(mgmt_log_allow(&l, 6999, &suppressed));
}

static void test_format(void **state)
{
	const struct timespec t = {.tv_sec = 1767323045, .tv_nsec = 678999999};
	char buf[MGMT_LOG_LINE_LEN], text[2 * MGMT_LOG_LINE_LEN];
	size_t n = mgmt_log_format(buf, &t, LOG_INFO, "text");

	assert_string_equal(buf, "2026-01-02T03:04:05.678Z info  text\n");
	assert_int_equal(n, strlen(buf));
	mgmt_log_format(buf, &t, LOG_ERR, "x");
	assert_string_equal(buf, "2026-01-02T03:04:05.678Z error x\n");
	mgmt_log_format(buf, &t, LOG_WARNING, "x");
	assert_string_equal(buf, "2026-01-02T03:04:05.678Z warn  x\n");
	// What came from a stranger stays on its line; UTF-8 passes.
	mgmt_log_format(buf, &t, LOG_DEBUG, "a\nb\r\x1b[2Jc\x7f\t\xc3\xa9");
	assert_string_equal(buf, "2026-01-02T03:04:05.678Z debug a?b??[2Jc? \xc3\xa9\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	n = mgmt_log_format(buf, &t, LOG_INFO, text);
	assert_int_equal(n, MGMT_LOG_LINE_LEN - 1);
	assert_int_equal(strlen(buf), n);
	assert_int_equal(buf[n - 1], '\n');
}

static void test_telemetry_strings(void **state)
{
	char buf[64];

	assert_string_equal(mgmt_telemetry_name("no-listener", buf, sizeof(buf)), "no_listener");
	assert_string_equal(mgmt_telemetry_name("abc", buf, 3), "ab");
	assert_string_equal(
		mgmt_telemetry_text("1767323045:ivan", buf, sizeof(buf)), "1767323045:ivan");
	assert_string_equal(mgmt_telemetry_text("a\"b\\c%\n\xc3\xa9", buf, sizeof(buf)),
		"a%22b%5Cc%25%0A%C3%A9");
	// Never half an escape.
	assert_string_equal(mgmt_telemetry_text("ab\n\n", buf, 7), "ab%0A");
}

// A reason without a name would be lost from /slipring/drops, and two of one name would clash.
static void test_drop_names(void **state)
{
	char a[64], b[64];

	assert_true(DP_DROP_END < 256); // entries of a telemetry object
	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		assert_non_null(dp_drop_name(i));
		mgmt_telemetry_name(dp_drop_name(i), a, sizeof(a));
		assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(a));
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(
				a, mgmt_telemetry_name(dp_drop_name(j), b, sizeof(b)));
	}
	assert_null(dp_drop_name(DP_DROP_END));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_telemetry_strings),
		cmocka_unit_test(test_drop_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
