// SPDX-License-Identifier: BSD-3-Clause
// Random files, a quarter of them damaged: equal files have no differences, differences are found
// in both directions, and after a merge the running configuration equals the file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "conf_changes.h"
#include "conf_file.h"
#include "hash.h"
#include "test.h"
#include "test_rand.h"

#define PAIRS 1500
#define LEN 4096

static const struct hash_key hash = {{1, 2, 3, 4}};
static struct test_rand rnd;

// Lines of a file, each in several forms; the lines of one list may come in any order.
static const char *const sections[][5] = {
	{"workers: {count: 1}\n", "workers: {count: 1, idle: busy}\n",
		"workers: {count: 1, idle: saving}\n", "workers: {count: 2}\n"},
	{"tls: {}\n", "tls: {ciphers: DEFAULT}\n", "tls: {min-version: '1.3'}\n"},
	{"relay: {addresses: [10.0.0.1]}\n",
		"relay: {addresses: [10.0.0.1], default-family: ipv6}\n",
		"relay: {addresses: [10.0.0.1], ports: 50000-50999}\n"},
	{"limits: {}\n", "limits: {per-user: 3, on-lower: end}\n",
		"limits: {binding: {rate: 5}, lifetime: {max: 4000}}\n",
		"limits: {per-source: 9, unauthenticated: {rate: 0}}\n"},
	{"peers: {}\n", "peers: {allow: [10.0.0.0/8], deny: [192.0.2.0/24, 192.0.2.7]}\n",
		"peers: {deny: [192.0.2.7], hairpin: false}\n",
		"peers: {nat64: ['64:ff9b::/96']}\n"},
	{"icmp: {}\n", "icmp: {tell: none}\n", "icmp: {unreachable: true, tell: all}\n"},
	{"log: {}\n", "log: {level: debug, to: journal}\n", "log: {areas: {auth: warn}}\n"},
	{"records: {}\n", "records: {file: /var/log/a, rotate: 1M}\n",
		"records: {syslog: true, interim: 60}\n"},
	{"test-constants: {}\n", "test-constants: {limits.requests: 3}\n",
		"test-constants: {relay.quarantine: 7}\n"},
	{"streams: {}\n", "streams: {trusted: [10.0.0.0/8], per-source: 2}\n",
		"streams: {threads: 2}\n"},
};
static const char *const ports[][4] = {
	{"  - {name: wan, device: net_a, addresses: [10.0.0.1/24, 10.0.0.2/24]}\n",
		"  - {name: wan, device: net_a, addresses: [10.0.0.1/24, {address: 10.0.0.2/24, "
		"external: 203.0.113.2}], gateway: [10.0.0.254]}\n",
		"  - {name: wan, device: net_a, addresses: [10.0.0.2/24, {address: 10.0.0.1/24, "
		"external: 203.0.113.2}], routes: [{to: 10.8.0.0/16, via: 10.0.0.9}, {to: "
		"10.9.0.0/16, via: 10.0.0.8}]}\n",
		"  - {name: wan, device: net_c, addresses: [10.0.0.1/24, 10.0.0.2/24]}\n"},
	{"  - {name: lan, device: net_b, addresses: [10.1.0.1/24]}\n",
		"  - {name: lan, device: net_b, addresses: [10.1.0.1/24], gateway: [10.1.0.9]}\n",
		"  - {name: lan, device: net_b, addresses: [10.1.0.1/24], routes: [{to: "
		"10.9.0.0/16, via: 10.1.0.8}]}\n"},
};
static const char *const listeners[][4] = {
	{"  - {address: 10.0.0.1}\n", "  - {address: 10.0.0.1, dscp: 46}\n"},
	{"  - {address: 10.0.0.2, port: 3479}\n", "  - {address: 10.0.0.2, port: 3479, dscp: 0}\n",
		"  - {address: 10.0.0.2, port: 3480}\n"},
};
static const char *const users[][4] = {
	{"    - {name: ivan, password: Kestrel7Quartz}\n",
		"    - {name: ivan, password: Walnut3Cobalt}\n"},
	{"    - {name: olga, password: Walnut3Cobalt}\n", "",
		"    - {name: olga, key: 0123456789abcdef0123456789abcdef}\n"},
};

// Half of the results are the first form, the others any.
static const char *choose_form(const char *const *forms, unsigned int most)
{
	unsigned int n = 0;

	while (n < most && forms[n] != NULL)
		n++;
	return forms[test_rand_below(&rnd, 2) == 0 ? 0 : test_rand_below(&rnd, n)];
}

// Two entries of a list, in either order.
static void add_list(char *text, const char *const list[][4])
{
	const unsigned int first = test_rand_below(&rnd, 2);

	strcat(text, choose_form(list[first], 4));
	strcat(text, choose_form(list[1 - first], 4));
}

static void make_file(char text[LEN])
{
	strcpy(text, "ports:\n");
	add_list(text, ports);
	strcat(text, "listeners:\n");
	add_list(text, listeners);
	strcat(text, "auth:\n  realm: turn.test\n  users:\n");
	add_list(text, users);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		strcat(text, choose_form(sections[i], 5));
}

// Most damage causes an error; some makes a different valid file.
static void damage_file(char *text)
{
	static const char bytes[] = "0123456789:/.-, {}[]'\"\n#aez~";

	for (unsigned int n = 1 + test_rand_below(&rnd, 3); n > 0; n--)
		text[test_rand_below(&rnd, (uint32_t)strlen(text))] =
			bytes[test_rand_below(&rnd, sizeof(bytes) - 1)];
}

static struct conf *load(const char *text)
{
	conf_file_write(text, strlen(text));
	return conf_load_and_report(conf_path, NULL, &hash);
}

static void count_cold(void *ctx, const struct conf_change *c)
{
	unsigned int *cold = ctx;

	*cold += !c->hot;
	assert_true(!c->secret || (c->before == NULL && c->after == NULL));
	assert_false(c->before != NULL && c->after != NULL && strcmp(c->before, c->after) == 0);
}

// Merges b into a, and checks that a then equals the file of b, and b that of a.
static void merge_and_check(struct conf *a, struct conf *b, const char *text_a, const char *text_b)
{
	struct conf *merged = conf_merge(a, b), *again_a, *again_b;

	assert_non_null(merged);
	conf_adopt(a, b, merged);
	conf_merge_free(merged);
	again_a = load(text_a);
	again_b = load(text_b);
	assert_int_equal(conf_changes(a, again_b, NULL, NULL), 0);
	assert_int_equal(conf_changes(b, again_a, NULL, NULL), 0);
	conf_forget(a);
	conf_free(again_a);
	conf_free(again_b);
}

static void changes_of_random_files(void **state)
{
	unsigned int adopted = 0, refused = 0, cold_pairs = 0;
	char text[2][LEN];

	rnd = test_rand_start("conf_changes_fuzz");
	for (unsigned int n = 0; n < PAIRS; n++) {
		struct conf *c[2], *again;
		unsigned int cold = 0, back = 0;

		for (unsigned int i = 0; i < 2; i++) {
			make_file(text[i]);
			if (test_rand_below(&rnd, 4) == 0)
				damage_file(text[i]);
			c[i] = load(text[i]);
			refused += c[i] == NULL;
		}
		if (c[0] != NULL && c[1] != NULL) {
			again = load(text[0]);
			assert_int_equal(conf_changes(c[0], again, NULL, NULL), 0);
			conf_free(again);
			assert_int_equal(conf_changes(c[0], c[1], count_cold, &cold),
				conf_changes(c[1], c[0], count_cold, &back));
			assert_int_equal(cold, back);
			cold_pairs += cold > 0;
			if (cold == 0) {
				merge_and_check(c[0], c[1], text[0], text[1]);
				adopted++;
			}
		}
		conf_free(c[0]);
		conf_free(c[1]);
	}
	assert_true(adopted > PAIRS / 50 && refused > PAIRS / 50 && cold_pairs > PAIRS / 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(changes_of_random_files)};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
