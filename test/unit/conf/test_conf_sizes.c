// SPDX-License-Identifier: BSD-3-Clause
// Time to read, check and compare a file as it grows. Times are CPU time of this thread, and bounds
// are between n log n and n squared: other work on the machine changes neither.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "conf_changes.h"
#include "conf_file.h"
#include "feature_names.h"
#include "test.h"

#define SMALL 2000
#define TIMES 16 // factor between the file sizes
#define GROWTH 64 // allowed factor of the time: a square takes 256
#define RUNS 3 // the best one counts

static void say(void *ctx, enum conf_weight weight, const char *line)
{
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static const char base[] =
	"workers: {count: 1}\n"
	"ports: [{name: wan, device: net_a, addresses: [10.0.0.1/24], gateway: [10.0.0.254]}]\n"
	"listeners: [{address: 10.0.0.1}]\n"
	"relay: {addresses: [10.0.0.1]}\n"
	"auth: {realm: turn.test, users: [{name: ivan, password: Kestrel7Quartz}]}\n";

// --- files ---------------------------------------------------------------------------------------

static void write_prefixes(FILE *f, unsigned int n, bool changed)
{
	fprintf(f, "peers:\n  deny:\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "    - %u.%u.%u.0/25\n",
			20 + i / 65536 + (changed && i == n / 2 ? 40 : 0), i / 256 % 256, i % 256);
}

// No address ever matches these prefixes.
static void write_odd_prefixes(FILE *f, unsigned int n, bool changed)
{
	fprintf(f, "peers:\n  deny:\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "    - 64:ff9b::1:%x%s\n", i,
			changed && i == n / 2 ? "-64:ff9b::1:ffff" : "");
}

#ifdef FEATURE_REALMS
static void write_users(FILE *f, unsigned int n, bool changed)
{
	fprintf(f, "realms:\n  - name: other.test\n    users:\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "      - {name: u%u, password: P%u}\n", i, i + (changed && i == n / 2));
}

static void write_origins(FILE *f, unsigned int n, bool changed)
{
	fprintf(f, "realms:\n");
	for (unsigned int i = 0; i < n; i++) {
		if (i % 16 == 0)
			fprintf(f,
				"  - name: r%u\n    secrets: [JuniperGranite0001]\n    origins:\n",
				i);
		fprintf(f, "      - https://%u.test\n", i + (changed && i == n / 2 ? 90000 : 0));
	}
}
#endif

typedef void (*writer)(FILE *f, unsigned int n, bool changed);

// The caller frees it.
static char *text_of(writer more, unsigned int n, bool changed)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	fputs(base, f);
	more(f, n, changed);
	assert_int_equal(fclose(f), 0);
	return text;
}

// --- measurement --------------------------------------------------------------------------------

// The time of the three steps of a reload: reading the file, checking it for warnings, and
// comparing it with another file.
static uint64_t time_of(writer more, unsigned int n)
{
	char *one = text_of(more, n, false), *two = text_of(more, n, true);
	struct conf_report r = {.say = say};
	struct conf *before = conf_file_said(one), *after;
	const uint64_t began = now_us();
	uint64_t took;

	after = conf_file_said(two);
	conf_warnings(after, &r);
	assert_true(conf_changes(before, after, NULL, NULL) > 0);
	took = now_us() - began;
	conf_free(before);
	conf_free(after);
	free(one);
	free(two);
	return took;
}

static uint64_t best_of(writer more, unsigned int n)
{
	uint64_t best = UINT64_MAX;

	for (unsigned int i = 0; i < RUNS; i++) {
		const uint64_t took = time_of(more, n);

		best = took < best ? took : best;
	}
	return best;
}

static void assert_grows(writer more, unsigned int small)
{
	const uint64_t least = best_of(more, small), most = best_of(more, small * TIMES);

	print_message("%u: %lu us, %u: %lu us\n", small, (unsigned long)least, small * TIMES,
		(unsigned long)most);
	assert_true(most < GROWTH * least);
}

static void prefixes_take_no_square(void **state)
{
	assert_grows(write_prefixes, SMALL);
}

static void odd_prefixes_take_no_square(void **state)
{
	assert_grows(write_odd_prefixes, SMALL);
}

#ifdef FEATURE_REALMS
static void users_take_no_square(void **state)
{
	assert_grows(write_users, 1000);
}

static void origins_take_no_square(void **state)
{
	assert_grows(write_origins, 120);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_take_no_square),
		cmocka_unit_test(odd_prefixes_take_no_square),
#ifdef FEATURE_REALMS
		cmocka_unit_test(users_take_no_square),
		cmocka_unit_test(origins_take_no_square),
#endif
	};

	return cmocka_run_group_tests_name("sizes", tests, conf_file_open, conf_file_close);
}
