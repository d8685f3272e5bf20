// SPDX-License-Identifier: BSD-3-Clause
// Certificates that end while the server runs: a line a day, starting when a third of the validity
// is left.
#include <stdio.h>
#include <string.h>

#include "dp.h"
#include "log/log.h"
#include "reload/expiry_told.h"
#include "test.h"

#define DAY 86400
#define TICK_S 60 // between two ticks; the server's are shorter
#define START 1900000000 // time of day

bool __wrap_dp_certificate(const struct dp *d, unsigned int index, struct stream_certificate *out);
void __wrap_mgmt_log_fields(enum conf_area area, int level, const struct mgmt_log_field *fields,
	unsigned int nb, const char *fmt, ...);

static struct stream_certificate certs[2];
static unsigned int nb_own, lines;
static char line[512];

bool __wrap_dp_certificate(const struct dp *d, unsigned int index, struct stream_certificate *out)
{
	if (index >= nb_own)
		return false;
	*out = certs[index];
	return true;
}

void __wrap_mgmt_log_fields(enum conf_area area, int level, const struct mgmt_log_field *fields,
	unsigned int nb, const char *fmt, ...)
{
	va_list ap;

	assert_int_equal(area, CONF_AREA_STREAMS);
	assert_int_equal(level, LOG_WARNING);
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	lines++;
}

// Gives identity i a certificate that is just issued at the start and valid for `days` days.
static void has(unsigned int i, const char *path, unsigned int days)
{
	struct stream_certificate *c = &certs[i];

	snprintf(c->path, sizeof(c->path), "%s", path);
	c->validity =
		(struct stream_validity){.not_before = START, .until = START + (time_t)days * DAY};
	c->validity.renew = stream_expiry_renew(&c->validity, c->validity.until);
}

// Runs from one day to another. Returns the number of lines.
static unsigned int run(struct expiry_told *t, unsigned int first_day, unsigned int end_day)
{
	lines = 0;
	for (uint64_t s = (uint64_t)first_day * DAY; s < (uint64_t)end_day * DAY; s += TICK_S)
		expiry_told_tick(t, NULL, s * 1000, (time_t)(START + s));
	return lines;
}

static void a_line_a_day_from_a_third_on(void **state)
{
	static const struct {
		unsigned int days, quiet; // validity; days without a line
	} rows[] = {{6, 4}, {20, 13}, {45, 30}, {90, 60}, {398, 368}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct expiry_told t;

		nb_own = 1;
		has(0, "/etc/turn.pem", rows[i].days);
		expiry_told_start(&t, 0);
		assert_int_equal(run(&t, 0, rows[i].quiet + 1), 0);
		assert_int_equal(
			run(&t, rows[i].quiet + 1, rows[i].days + 1), rows[i].days - rows[i].quiet);
		assert_non_null(strstr(line, "certificate in use: /etc/turn.pem: expires on "));
		assert_int_equal(run(&t, rows[i].days + 1, rows[i].days + 4), 3);
		assert_non_null(strstr(line, "expired on "));
		has(0, "/etc/turn.pem", 2000); // renewed
		assert_int_equal(run(&t, rows[i].days + 4, rows[i].days + 9), 0);
	}
}

static void each_is_told(void **state)
{
	struct expiry_told t;

	(void)state;
	nb_own = 2;
	has(0, "/etc/long.pem", 90);
	has(1, "/etc/short.pem", 6);
	expiry_told_start(&t, 0);
	assert_int_equal(run(&t, 0, 10), 5);
	assert_non_null(strstr(line, "/etc/short.pem"));
	assert_int_equal(run(&t, 70, 75), 10);
	nb_own = 0; // no listener has a certificate
	assert_int_equal(run(&t, 75, 90), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_a_day_from_a_third_on),
		cmocka_unit_test(each_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
