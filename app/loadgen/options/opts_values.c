// SPDX-License-Identifier: BSD-3-Clause
// Reads the values of options: numbers, shares, texts, lists.
#include "options/opts_values.h"

#include <stdlib.h>
#include <string.h>

#define PAYLOAD_MIN 28 // the stamp
#define PAYLOAD_MAX 9216

bool opts_values_number(const char *text, double *out)
{
	const size_t n = strspn(text, "0123456789."), dots = strcspn(text, ".");
	double v, unit;

	// strtod alone would accept "0x10", "inf", "nan" and "1e3"
	if (n == 0 || n > 32 || strcspn(text, "0123456789") >= n ||
		(dots < n && memchr(text + dots + 1, '.', n - dots - 1) != NULL))
		return false;
	if (text[n] == '\0')
		unit = 1;
	else if (text[n + 1] != '\0')
		return false;
	else if (text[n] == 'k' || text[n] == 'K')
		unit = 1e3;
	else if (text[n] == 'M')
		unit = 1e6;
	else if (text[n] == 'G')
		unit = 1e9;
	else
		return false;
	v = strtod(text, NULL);
	*out = v * unit;
	return true;
}

int opts_values_flag(struct opts *o, const struct opt_row *row, const char *text)
{
	*(bool *)((char *)o->config + row->offset) = true;
	return 0;
}

// Reads a number and checks it against the bounds of the row.
static int take_number(struct opts *o, const struct opt_row *row, const char *text, double *v)
{
	if (!opts_values_number(text, v))
		return option_fail(o, o->now, "not a number (500, 0.5, 1k, 2.5M)");
	if (*v < row->lo)
		return option_fail(o, o->now, "%.15g at least", row->lo);
	if (*v > row->hi)
		return option_fail(o, o->now, "%.15g at most", row->hi);
	return 0;
}

int opts_values_count(struct opts *o, const struct opt_row *row, const char *text)
{
	char *field = (char *)o->config + row->offset;
	double v;

	if (take_number(o, row, text, &v) != 0)
		return -1;
	if (v != (double)(uint32_t)v)
		return option_fail(o, o->now, "not a whole number");
	if (row->size == sizeof(uint16_t))
		*(uint16_t *)field = (uint16_t)v;
	else
		*(uint32_t *)field = (uint32_t)v;
	return 0;
}

int opts_values_real(struct opts *o, const struct opt_row *row, const char *text)
{
	double v;

	if (take_number(o, row, text, &v) != 0)
		return -1;
	*(double *)((char *)o->config + row->offset) = v;
	return 0;
}

// Reads a share of len characters: "1%" or "0.01".
static bool parse_share(const char *text, size_t len, double *out)
{
	const bool percent = len > 0 && text[len - 1] == '%';
	char digits[40];

	len -= percent ? 1 : 0;
	if (len == 0 || len >= sizeof(digits) || strspn(text, "0123456789.") < len)
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (!opts_values_number(digits, out))
		return false;
	*out /= percent ? 100 : 1;
	return *out <= 1;
}

int opts_values_share(struct opts *o, const struct opt_row *row, const char *text)
{
	double v;

	if (!parse_share(text, strlen(text), &v))
		return option_fail(o, o->now, "not a share (write 1%% or 0.01)");
	if (v < row->lo)
		return option_fail(o, o->now, "%g%% at least", row->lo * 100);
	if (v > row->hi)
		return option_fail(o, o->now, "%g%% at most", row->hi * 100);
	*(double *)((char *)o->config + row->offset) = v;
	return 0;
}

int opts_values_text(struct opts *o, const struct opt_row *row, const char *text)
{
	const size_t n = strlen(text);

	if (n == 0)
		return option_fail(o, o->now, "must not be empty");
	if (n >= row->size)
		return option_fail(o, o->now, "%zu bytes at most", row->size - 1);
	memcpy((char *)o->config + row->offset, text, n + 1);
	return 0;
}

int opts_values_string(struct opts *o, const struct opt_row *row, const char *text)
{
	if (text[0] == '\0')
		return option_fail(o, o->now, "must not be empty");
	*(const char **)((char *)o->config + row->offset) = text;
	return 0;
}

int opts_values_sizes(struct opts *o, const struct opt_row *row, const char *text)
{
	struct config *c = o->config;

	c->nb_sizes = 0;
	for (const char *pos = text;; pos++) {
		char *end;
		const unsigned long v = strtoul(pos, &end, 10);

		if (*pos < '0' || *pos > '9' || (*end != ',' && *end != '\0'))
			return option_fail(
				o, o->now, "not a list of payload sizes in bytes (120,1200)");
		if (v < PAYLOAD_MIN)
			return option_fail(o, o->now, "%d at least (the stamp needs %d bytes)",
				PAYLOAD_MIN, PAYLOAD_MIN);
		if (v > PAYLOAD_MAX)
			return option_fail(o, o->now, "%d at most", PAYLOAD_MAX);
		if (c->nb_sizes == CONFIG_SIZES_MAX)
			return option_fail(o, o->now, "%d sizes at most", CONFIG_SIZES_MAX);
		c->size[c->nb_sizes++] = (uint16_t)v;
		pos = end;
		if (*pos == '\0')
			return 0;
	}
}

// Reads one "key=value" of len bytes.
static int take_impairment(struct opts *o, const char *text, size_t len)
{
	static const struct {
		const char *name;
		size_t offset;
	} shares[] = {
		{"loss=", offsetof(struct impair, loss)},
		{"duplicate=", offsetof(struct impair, duplicate)},
		{"reorder=", offsetof(struct impair, reorder)},
		{"corrupt=", offsetof(struct impair, corrupt)},
	};
	struct impair *impair = &o->config->impair;

	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		const size_t n = strlen(shares[i].name);

		if (strncmp(text, shares[i].name, n) != 0)
			continue;
		if (!parse_share(text + n, len - n, (double *)((char *)impair + shares[i].offset)))
			return option_fail(o, o->now, "%.*s is not a share (write 1%% or 0.01)",
				(int)len, text);
		return 0;
	}
	if (strncmp(text, "delay=", 6) == 0) {
		char *end;
		const unsigned long us = strtoul(text + 6, &end, 10);

		if (text[6] < '0' || text[6] > '9' || end != text + len || us > 10000000)
			return option_fail(o, o->now,
				"%.*s is not a number of microseconds (10000000 at most)", (int)len,
				text);
		impair->delay_us = (uint32_t)us;
		return 0;
	}
	return option_fail(o, o->now,
		"unknown impairment '%.*s' (loss=P, duplicate=P, reorder=P, corrupt=P, delay=US)",
		(int)len, text);
}

int opts_values_impair(struct opts *o, const struct opt_row *row, const char *text)
{
	o->config->impair = (struct impair){0};
	for (;;) {
		const size_t n = strcspn(text, ",");

		if (take_impairment(o, text, n) != 0)
			return -1;
		if (text[n] == '\0')
			return 0;
		text += n + 1;
	}
}
