// SPDX-License-Identifier: BSD-3-Clause
// Writes the text of a crash report without the C library's printf, which may take locks and
// allocate memory.
#include "crash/crash_out.h"

#include <unistd.h>

static void put_char(struct crash_out *o, char c)
{
	if (o->len < sizeof(o->line) - 1) // keep room for the newline
		o->line[o->len++] = c;
}

void crash_out_text(struct crash_out *o, const char *text)
{
	for (; *text != '\0'; text++)
		put_char(o, *text >= 0x20 && *text < 0x7f ? *text : '?');
}

static void put_digits(struct crash_out *o, uint64_t v, unsigned int base, unsigned int least)
{
	char digits[20];
	unsigned int n = 0;

	for (; v > 0 || n < least; v /= base)
		digits[n++] = "0123456789abcdef"[v % base];
	while (n > 0)
		put_char(o, digits[--n]);
}

void crash_out_number(struct crash_out *o, uint64_t v)
{
	put_digits(o, v, 10, 1);
}

void crash_out_hex(struct crash_out *o, uint64_t v)
{
	crash_out_text(o, "0x");
	put_digits(o, v, 16, 1);
}

void crash_out_bytes(struct crash_out *o, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_digits(o, bytes[i], 16, 2);
}

void crash_out_end(struct crash_out *o)
{
	size_t done = 0;

	o->line[o->len++] = '\n';
	while (done < o->len && o->total + o->len <= CRASH_REPORT_MAX) {
		const ssize_t n = write(o->fd, o->line + done, o->len - done);

		if (n <= 0)
			break; // a full disk, or a pipe without a reader
		done += (size_t)n;
	}
	o->total += o->len;
	o->len = 0;
}

// Converts days since 1970 to a date: the calendar repeats each 400 years, and a year that begins
// in March has its leap day last.
void crash_out_time(struct crash_out *o, int64_t seconds)
{
	const uint64_t s = seconds > 0 ? (uint64_t)seconds : 0;
	const uint64_t days = s / 86400 + 719468, era = days / 146097, day = days % 146097;
	const uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	const uint64_t of_year = day - (365 * year + year / 4 - year / 100);
	const uint64_t march = (5 * of_year + 2) / 153; // months since March
	const uint64_t month = march < 10 ? march + 3 : march - 9;
	const struct {
		uint64_t value;
		char end;
		unsigned int digits;
	} parts[] = {
		{year + era * 400 + (month <= 2), '-', 4},
		{month, '-', 2},
		{of_year - (153 * march + 2) / 5 + 1, 'T', 2},
		{s / 3600 % 24, ':', 2},
		{s / 60 % 60, ':', 2},
		{s % 60, 'Z', 2},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		put_digits(o, parts[i].value, 10, parts[i].digits);
		put_char(o, parts[i].end);
	}
}
