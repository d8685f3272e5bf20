// SPDX-License-Identifier: BSD-3-Clause
// Lists of prefixes in separate files: their content, the position of errors, and comparison.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf_changes.h"
#include "conf_dir.h"
#include "conf_file.h"
#include "test.h"

#define MANY 1000000

static const char base[] =
	"workers: {count: 1}\n"
	"ports: [{name: wan, device: net_a, addresses: [10.0.0.1/24], gateway: [10.0.0.254]}]\n"
	"listeners: [{address: 10.0.0.1}]\n"
	"relay: {addresses: [10.0.0.1]}\n"
	"auth: {realm: turn.test, users: [{name: ivan, password: Kestrel7Quartz}]}\n"
	"peers: {deny: [192.0.2.0/24], deny-files: [list.txt]}\n";

static char lines[8][CONF_ERROR_LEN];
static unsigned int nb_lines;

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	if (nb_lines < 8)
		snprintf(lines[nb_lines++], CONF_ERROR_LEN, "%s", line);
}

static struct conf *load(const char *list)
{
	static const struct hash_key hash = {{1, 2, 3, 4}};
	struct conf_report r = {.say = hear};

	nb_lines = 0;
	conf_dir_put("box.yaml", base);
	if (list != NULL)
		conf_dir_put("list.txt", list);
	return conf_load_and_report(conf_dir_path("box.yaml"), &r, &hash);
}

static void a_line_is_an_address_range_or_prefix(void **state)
{
	struct conf *c = load("# a list\n"
			      "198.51.100.0/24\n"
			      "\n"
			      "  203.0.113.7\t# one\r\n"
			      "10.1.0.0-10.1.0.2\n"
			      "2001:db8::/32");

	assert_non_null(c);
	assert_int_equal(c->turn.nb_deny, 1);
	assert_int_equal(c->turn.nb_deny_listed, 5);
	assert_int_equal(c->turn.deny_listed[1].len, 128);
	conf_free(c);
	c = load("# nothing\n");
	assert_non_null(c);
	assert_int_equal(c->turn.nb_deny_listed, 0);
	conf_free(c);
}

static void assert_error(const char *list, const char *place, const char *expected)
{
	char want[CONF_ERROR_LEN];

	assert_null(load(list));
	snprintf(want, sizeof(want), "%s%s", conf_dir_path("list.txt"), place);
	assert_int_equal(strncmp(lines[0], want, strlen(want)), 0);
	assert_non_null(strstr(lines[0], expected));
}

static void errors_have_file_and_line(void **state)
{
	assert_error("10.0.0.0/8\n# one\n  10.0.0.0/33\n",
		":3:3: peers.deny-files[0]: ", "'10.0.0.0/33' is not an address, a range");
	assert_error("10.0.0.1/8\n", ":1:1: ", "has bits set behind the prefix: write 10.0.0.0/8");
	assert_error("::ffff:0:0/96\n", ":1:1: ", "would deny all IPv4 peers");
	assert_error("10.0.0.0/8 10.0.0.0/9\n", ":1:1: ", "is not an address");
	load("x\n10.0.0.0/8\ny\n"); // all errors are reported
	assert_int_equal(nb_lines, 2);
	assert_non_null(strstr(lines[1], "list.txt:3:1: "));
}

static void a_file_that_cannot_be_read_is_told_at_its_key(void **state)
{
	conf_dir_remove("list.txt");
	assert_null(load(NULL));
	assert_non_null(strstr(lines[0], "box.yaml:6:44: peers.deny-files[0]: "));
	assert_non_null(strstr(lines[0], "list.txt: No such file"));
}

static char told[256];

static void hear_change(void *ctx, const struct conf_change *c)
{
	assert_true(c->hot);
	snprintf(told, sizeof(told), "%s: %s -> %s", c->key, c->before, c->after);
}

static void prefixes_of_files_are_compared(void **state)
{
	struct conf *before = load("10.0.0.0/8\n# a\n"), *same = load("10.0.0.0/8\n"),
		    *after = load("10.0.0.0/9\n");

	assert_int_equal(conf_changes(before, same, NULL, NULL), 0);
	assert_int_equal(conf_changes(before, after, hear_change, NULL), 1);
	assert_non_null(strstr(told, "peers.deny-files: list.txt (1 prefixes, "));
	conf_free(before);
	conf_free(same);
	conf_free(after);
}

// Every third one is IPv6, so that both families are long. The caller frees it.
static char *long_list(unsigned int n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (unsigned int i = 0; i < n; i++)
		if (i % 3 == 0)
			fprintf(f, "2a00:%x:%x::/48\n", i >> 16, i & 0xffff);
		else
			fprintf(f, "%u.%u.%u.0/25\n", 20 + i / 65536, i / 256 % 256, i % 256);
	fclose(f);
	return text;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void a_million_is_read_and_checked_in_two_seconds(void **state)
{
	char *text = long_list(MANY);
	struct conf_report r = {.say = hear};
	uint64_t best = UINT64_MAX;

	conf_dir_put("list.txt", text);
	for (unsigned int run = 0; run < 3; run++) {
		const uint64_t began = now_ms();
		struct conf *c = load(NULL);

		assert_non_null(c);
		assert_int_equal(c->turn.nb_deny_listed, MANY);
		conf_warnings(c, &r);
		best = now_ms() - began < best ? now_ms() - began : best;
		conf_free(c);
	}
	print_message("%u prefixes: %lu ms of a CPU\n", MANY, (unsigned long)best);
	assert_true(best < 2000);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_an_address_range_or_prefix),
		cmocka_unit_test(errors_have_file_and_line),
		cmocka_unit_test(a_file_that_cannot_be_read_is_told_at_its_key),
		cmocka_unit_test(prefixes_of_files_are_compared),
		cmocka_unit_test(a_million_is_read_and_checked_in_two_seconds),
	};

	return cmocka_run_group_tests_name("prefix files", tests, conf_dir_open, conf_dir_close);
}
