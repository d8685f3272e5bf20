// SPDX-License-Identifier: BSD-3-Clause
// Formats lines of the log, as text and as JSON.
#include "log/log_form.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log/escape.h"

#define FIELD_LEN 1024 // limit of a field's bytes

// --- cleaning ------------------------------------------------------------------------------------

// Length in bytes of the UTF-8 character at s, which ends with a NUL; 0 if it is not valid. *c
// becomes its code point.
static size_t decode_utf8(const unsigned char *s, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const size_t n = s[0] < 0x80 ? 1
		: s[0] >> 5 == 6     ? 2
		: s[0] >> 4 == 14    ? 3
		: s[0] >> 3 == 30    ? 4
				     : 0;

	*c = n < 2 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	return n > 0 && *c >= least[n] && *c <= 0x10ffff && *c >> 11 != 0x1b ? n : 0;
}

// True for controls, and for invisible characters that change the text around them.
static bool is_odd(uint32_t c)
{
	static const uint32_t odd[][2] = {{0, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
		{0xe0000, 0x10ffff}};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (c >= odd[i][0] && c <= odd[i][1])
			return true;
	return false;
}

size_t log_form_clean(char *buf, size_t len, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t used = 0;

	while (*s != '\0') {
		uint32_t c;
		const size_t n = decode_utf8(s, &c);
		const bool good = n > 0 && !is_odd(c);
		const size_t out = good ? n : 1;

		if (used + out >= len)
			break;
		if (good)
			memcpy(buf + used, s, n);
		else
			buf[used] = c == '\t' ? ' ' : '?';
		used += out;
		s += n > 0 ? n : 1;
	}
	buf[used] = '\0';
	return used;
}

// --- forms ---------------------------------------------------------------------------------------

// Four or five letters, so that the text after them is aligned.
static const char *short_level(int level)
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

// "2026-01-02T03:04:05.678Z"
static void format_time(char buf[32], const struct timespec *wall)
{
	struct tm tm;
	size_t n;

	gmtime_r(&wall->tv_sec, &tm);
	n = strftime(buf, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, 32 - n, ".%03uZ", (unsigned int)(wall->tv_nsec / 1000000) % 1000);
}

// Appends clean text as the inside of a JSON string; at most twice its length.
static size_t put_json(char *buf, const char *text)
{
	size_t used = 0;

	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			buf[used++] = '\\';
		buf[used++] = *text;
	}
	return used;
}

// Appends a whole member to the object, or nothing. Leaves room for the object's end.
static size_t put_field(char *buf, size_t len, const struct mgmt_log_field *f)
{
	char value[FIELD_LEN];
	int n;

	if (f->text == NULL) {
		n = snprintf(buf, len, ",\"%s\":%" PRIu64, f->name, f->number);
	} else {
		if (3 * f->len >= sizeof(value))
			return 0;
		mgmt_escape(f->text, f->len, value, sizeof(value));
		n = snprintf(buf, len, ",\"%s\":\"%s\"", f->name, value);
	}
	return n > 0 && (size_t)n < len ? (size_t)n : 0;
}

static size_t form_json(char buf[LOG_FORM_LEN], size_t used, const struct log_record *r)
{
	const size_t end = LOG_FORM_LEN - 3; // limit of the fields: "}\n" and the NUL follow
	const char *level = conf_level_name(r->level);
	char time[32];

	format_time(time, &r->wall);
	used += (size_t)snprintf(buf + used, end - used,
		"{\"time\":\"%s\",\"level\":\"%s\",\"area\":\"%s\",\"text\":\"", time,
		level != NULL ? level : "error", conf_area_name(r->area));
	used += put_json(buf + used, r->text);
	buf[used++] = '"';
	for (unsigned int i = 0; i < r->nb; i++)
		used += put_field(buf + used, end - used, &r->fields[i]);
	buf[used++] = '}';
	return used;
}

static size_t form_text(
	char buf[LOG_FORM_LEN], size_t used, const struct log_record *r, enum log_head head)
{
	char time[32];

	if (head == LOG_HEAD_TIME) {
		format_time(time, &r->wall);
		used += (size_t)snprintf(
			buf + used, LOG_FORM_LEN - used, "%s %-5s ", time, short_level(r->level));
	}
	used += (size_t)snprintf(
		buf + used, LOG_FORM_LEN - used, "%s: %s", conf_area_name(r->area), r->text);
	return used;
}

size_t log_form(char buf[LOG_FORM_LEN], const struct log_record *r, enum conf_log_format format,
	enum log_head head)
{
	size_t used = 0;

	if (head == LOG_HEAD_PRIORITY)
		used = (size_t)snprintf(buf, LOG_FORM_LEN, "<%d>", r->level & 7);
	used = format == CONF_LOG_JSON ? form_json(buf, used, r) : form_text(buf, used, r, head);
	if (head != LOG_HEAD_NONE)
		buf[used++] = '\n';
	buf[used] = '\0';
	return used;
}
