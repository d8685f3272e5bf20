// SPDX-License-Identifier: BSD-3-Clause
// The formats of a log line: text, JSON, the journal's datagram. Whatever bytes a stranger sends, a
// line remains one line, an object one object, and a field one field.
#include <stdlib.h>
#include <string.h>

#include "../loadgen/support/json_reader.h"
#include "log/escape.h"
#include "records/records_line.h"
#include "log/log_form.h"
#include "log/log_journal.h"
#include "test.h"
#include "test_rand.h"

static struct log_record record(const char *text)
{
	return (struct log_record){.wall = {.tv_sec = 1767323045, .tv_nsec = 678999999},
		.area = CONF_AREA_PORTS,
		.level = LOG_INFO,
		.text = text};
}

static void assert_form(
	const struct log_record *r, enum conf_log_format f, enum log_head head, const char *want)
{
	char buf[LOG_FORM_LEN];
	const size_t n = log_form(buf, r, f, head);

	assert_string_equal(buf, want);
	assert_int_equal(n, strlen(want));
}

// journald strips the level from the line and adds the time (sd-daemon(3)); syslog has both.
static void test_text(void **state)
{
	struct log_record r = record("link up");

	assert_form(&r, CONF_LOG_TEXT, LOG_HEAD_TIME,
		"2026-01-02T03:04:05.678Z info  ports: link up\n");
	assert_form(&r, CONF_LOG_TEXT, LOG_HEAD_PRIORITY, "<6>ports: link up\n");
	assert_form(&r, CONF_LOG_TEXT, LOG_HEAD_NONE, "ports: link up");
	r.area = CONF_AREA_AUTH;
	r.level = LOG_ERR;
	assert_form(
		&r, CONF_LOG_TEXT, LOG_HEAD_TIME, "2026-01-02T03:04:05.678Z error auth: link up\n");
	assert_form(&r, CONF_LOG_TEXT, LOG_HEAD_PRIORITY, "<3>auth: link up\n");
	r.level = LOG_WARNING;
	assert_form(
		&r, CONF_LOG_TEXT, LOG_HEAD_TIME, "2026-01-02T03:04:05.678Z warn  auth: link up\n");
	r.level = LOG_NOTICE;
	assert_form(
		&r, CONF_LOG_TEXT, LOG_HEAD_TIME, "2026-01-02T03:04:05.678Z note  auth: link up\n");
	r.level = LOG_DEBUG;
	assert_form(
		&r, CONF_LOG_TEXT, LOG_HEAD_TIME, "2026-01-02T03:04:05.678Z debug auth: link up\n");
}

static void assert_member(const char *json, const char *name, const char *want)
{
	char *found = json_reader_find(json, name);

	assert_non_null(found);
	assert_string_equal(found, want);
	free(found);
}

static void test_json(void **state)
{
	const struct mgmt_log_field fields[] = {mgmt_log_text("port", "wan"),
		mgmt_log_number("rate", UINT64_MAX), mgmt_log_bytes("user", "a\"b\n%\0z", 7)};
	struct log_record r = record("say \"no\" to C:\\");
	char buf[LOG_FORM_LEN];
	size_t n;

	r.fields = fields;
	r.nb = 3;
	assert_form(&r, CONF_LOG_JSON, LOG_HEAD_TIME,
		"{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"info\",\"area\":\"ports\","
		"\"text\":\"say \\\"no\\\" to C:\\\\\",\"port\":\"wan\","
		"\"rate\":18446744073709551615,\"user\":\"a%22b%0A%25%00z\"}\n");
	log_form(buf, &r, CONF_LOG_JSON, LOG_HEAD_TIME);
	assert_member(buf, "user", "\"a%22b%0A%25%00z\"");
	r.level = LOG_CRIT; // slipring does not use this level, but DPDK does
	log_form(buf, &r, CONF_LOG_JSON, LOG_HEAD_PRIORITY);
	assert_memory_equal(buf, "<2>{", 4);
	assert_member(buf + 3, "level", "\"error\"");
	n = log_form(buf, &r, CONF_LOG_JSON, LOG_HEAD_NONE);
	assert_int_equal(n, strlen(buf));
	assert_int_equal(buf[n - 1], '}');
}

// The longest text, and too many fields: the object is still closed.
static void test_json_full(void **state)
{
	static char text[MGMT_LOG_LINE_LEN], name[4000];
	struct mgmt_log_field fields[64];
	struct log_record r = record(text);
	char buf[LOG_FORM_LEN];

	memset(text, '"', sizeof(text) - 1);
	memset(name, '\n', sizeof(name));
	for (size_t len = 0; len < 340; len++) {
		for (unsigned int i = 0; i < 64; i++)
			fields[i] = mgmt_log_bytes("user", name, i == 63 ? 0 : len);
		r.fields = fields;
		r.nb = 64;
		assert_true(log_form(buf, &r, CONF_LOG_JSON, LOG_HEAD_PRIORITY) < LOG_FORM_LEN);
		free(json_reader_find(buf + 3, "text"));
	}
	// an overlong one is left out, and the next ones are not
	fields[0] = mgmt_log_bytes("user", name, sizeof(name));
	fields[1] = mgmt_log_number("more", 7);
	r.nb = 2;
	log_form(buf, &r, CONF_LOG_JSON, LOG_HEAD_TIME);
	assert_member(buf, "more", "7");
	assert_null(json_reader_find(buf, "user"));
}

// Invalid UTF-8 (RFC 3629), and characters that would change the line around them.
static void test_clean(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"a\nb\r\x1b[2Jc\x7f\t\xc3\xa9", "a?b??[2Jc? \xc3\xa9"},
		{"\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"a\xff\xfe z", "a?? z"},
		{"\xc3", "?"},
		{"\xc3(", "?("},
		{"\xe2\x82", "??"},
		{"\x80\xbf", "??"},
		{"\xc0\xaf", "??"}, // overlong '/'
		{"\xe0\x80\xaf", "???"},
		{"\xf0\x80\x80\xaf", "????"},
		{"\xed\xa0\x80", "???"}, // a surrogate
		{"\xf4\x90\x80\x80", "????"}, // beyond U+10FFFF
		{"\xf8\x88\x80\x80\x80", "?????"},
		{"\xc2\x9b"
		 "2J",
			"?2J"}, // CSI
		{"\xc2\x85", "?"}, // next line
		{"\xe2\x80\xa8", "?"}, // line separator
		{"\xe2\x80\xae"
		 "evil",
			"?evil"}, // right to left
		{"\xe2\x81\xa6", "?"},
		{"\xef\xbb\xbf", "?"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(log_form_clean(buf, sizeof(buf), rows[i][0]), strlen(rows[i][1]));
		assert_string_equal(buf, rows[i][1]);
	}
	// cut between characters
	assert_int_equal(log_form_clean(buf, 4, "ab\xc3\xa9"), 2);
	assert_string_equal(buf, "ab");
	assert_int_equal(log_form_clean(buf, 5, "ab\xc3\xa9"), 4);
	assert_int_equal(log_form_clean(buf, 1, "ab"), 0);
	assert_string_equal(buf, "");
}

static void test_escape(void **state)
{
	char buf[64];

	assert_int_equal(mgmt_escape("1767323045:ivan", 15, buf, sizeof(buf)), 15);
	assert_string_equal(buf, "1767323045:ivan");
	assert_int_equal(mgmt_escape("\0\xff\"\\%\n", 6, buf, sizeof(buf)), 18);
	assert_string_equal(buf, "%00%FF%22%5C%25%0A");
	assert_int_equal(mgmt_escape("ab\n\n", 4, buf, 7), 5);
	assert_string_equal(buf, "ab%0A");
	assert_int_equal(mgmt_escape("abc", 3, buf, 1), 0);
	assert_string_equal(buf, "");
}

// Names with one row each, such as realms in telemetry: different names get different labels.
static void test_labels(void **state)
{
	char a[764], b[764], la[128], lb[128];
	struct record ra = {0}, rb = {0};

	mgmt_label("a.test", la, sizeof(la));
	assert_string_equal(la, "a.test");
	for (unsigned int i = 1; i < sizeof(a); i++) {
		const char last = i % 2 == 0 ? '"' : 'y';

		memset(a, i % 3 == 0 ? '"' : 'x', i);
		a[i] = '\0';
		memcpy(b, a, sizeof(b));
		b[i - 1] = last;
		mgmt_label(a, la, sizeof(la));
		mgmt_label(b, lb, sizeof(lb));
		assert_int_equal(strcmp(a, b) != 0, strcmp(la, lb) != 0);
		assert_true(strlen(la) < sizeof(la));
		mgmt_label(a, lb, sizeof(lb));
		assert_string_equal(la, lb);
		records_line_realm(&ra, a);
		records_line_realm(&rb, b);
		assert_int_equal(strcmp(a, b) != 0, strcmp(ra.realm, rb.realm) != 0);
	}
	memset(a, 'x', sizeof(a));
	a[125] = '\0'; // the longest that is left unchanged
	mgmt_label(a, la, sizeof(la));
	assert_string_equal(la, a);
}

// --- the journal ---------------------------------------------------------------------------------

// Parses a datagram by the protocol, and finds a field's value, or NULL if there is no such field.
// Fails on input that journald would not accept.
static const char *journal_find(const char *data, size_t len, const char *name, size_t *value_len)
{
	const char *cursor = data, *end = data + len, *found = NULL;

	while (cursor < end) {
		const size_t n = strcspn(cursor, "=\n"), left = (size_t)(end - cursor) - n;
		const char *value = cursor + n + 1;
		uint64_t size = 0;

		assert_in_range(n, 1, 64);
		assert_int_equal(strspn(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), n);
		assert_true(*cursor != '_');
		if (cursor[n] == '=') {
			const char *feed = memchr(value, '\n', left);

			assert_non_null(feed);
			size = (uint64_t)(feed - value);
		} else {
			assert_true(left > 9);
			for (unsigned int i = 0; i < 8; i++)
				size |= (uint64_t)(uint8_t)value[i] << 8 * i;
			value += 8;
			assert_true(size < left - 9);
		}
		if (n == strlen(name) && memcmp(cursor, name, n) == 0) {
			assert_null(found);
			found = value;
			*value_len = (size_t)size;
		}
		assert_int_equal(value[size], '\n');
		cursor = value + size + 1;
	}
	return found;
}

static void assert_field(
	const char *data, size_t len, const char *name, const char *want, size_t want_len)
{
	size_t value_len;
	const char *value = journal_find(data, len, name, &value_len);

	assert_non_null(value);
	assert_int_equal(value_len, want_len);
	assert_memory_equal(value, want, want_len);
}

static void test_journal(void **state)
{
	static const char hostile[] = "x\nPRIORITY=0\nMESSAGE=gone\n\0\xff";
	const struct mgmt_log_field fields[] = {mgmt_log_text("client", "[2001:db8::1]:3478"),
		mgmt_log_bytes("user", hostile, sizeof(hostile)), mgmt_log_number("more", 4211)};
	struct log_record r = record("caf\xc3\xa9");
	char buf[LOG_FORM_LEN];
	size_t n;

	r.level = LOG_ERR;
	r.fields = fields;
	r.nb = 3;
	n = log_journal_form(buf, &r);
	assert_field(buf, n, "PRIORITY", "3", 1);
	assert_field(buf, n, "SYSLOG_IDENTIFIER", "slipring", 8);
	assert_field(buf, n, "SLIPRING_AREA", "ports", 5);
	assert_field(buf, n, "MESSAGE", "caf\xc3\xa9", 5);
	assert_field(buf, n, "SLIPRING_CLIENT", "[2001:db8::1]:3478", 18);
	assert_field(buf, n, "SLIPRING_MORE", "4211", 4);
	assert_field(buf, n, "SLIPRING_USER", hostile, sizeof(hostile));
}

// Fields of all lengths and bytes: each field that is included is whole.
static void test_journal_full(void **state)
{
	struct test_rand rnd = test_rand_start("log_forms");
	static char bytes[LOG_FORM_LEN + 8], text[MGMT_LOG_LINE_LEN];
	struct mgmt_log_field fields[2];
	struct log_record r = record(text);
	char buf[LOG_FORM_LEN];

	memset(text, 'x', sizeof(text) - 1);
	r.fields = fields;
	r.nb = 2;
	for (size_t len = 0; len < sizeof(bytes); len++) {
		const char *user;
		size_t n, got;

		bytes[len] = (char)test_rand_below(&rnd, 256);
		fields[0] = mgmt_log_bytes("user", bytes, len);
		fields[1] = mgmt_log_number("more", 1);
		n = log_journal_form(buf, &r);
		assert_true(n <= LOG_FORM_LEN);
		user = journal_find(buf, n, "SLIPRING_USER", &got);
		assert_true((user != NULL) || len > LOG_FORM_LEN - MGMT_LOG_LINE_LEN - 150);
		if (user != NULL) {
			assert_int_equal(got, len);
			assert_memory_equal(user, bytes, len);
		} else {
			assert_field(buf, n, "SLIPRING_MORE", "1", 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_full),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_journal_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
