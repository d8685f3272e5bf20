// SPDX-License-Identifier: BSD-3-Clause
// The section alternate: what it may say, what it becomes, and each mistake at its place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "conf_changes.h"
#include "conf_file.h"
#include "hash.h"

#define LOG "log: {to: stderr, level: info}\n"

static struct conf *with(const char *alternate)
{
	char text[1024];

	snprintf(text, sizeof(text), LOG "alternate: {%s}\n", alternate);
	return conf_file_changed(LOG, text);
}

static void without_it_nobody_is_sent_away(void **state)
{
	struct conf *c = conf_file_changed(LOG, LOG);

	assert_int_equal(c->alternate.nb_servers, 0);
	assert_int_equal(c->alternate.allocations, 0);
	assert_int_equal(c->alternate.datagrams, 0);
	conf_free(c);
}

static void what_it_says(void **state)
{
	struct conf *c =
		with("servers: [203.0.113.9, {address: 'fd07::9', port: 3479, tls-port: 443, "
		     "name: turn2.example.org}], when: {allocations: 90000, "
		     "datagrams-per-second: 1500000}");
	const struct addr first = addr_text("203.0.113.9"), second = addr_text("fd07::9");

	assert_int_equal(c->alternate.nb_servers, 2);
	assert_true(addr_eq(&c->alternate.servers[0].addr, &first));
	assert_true(addr_eq(&c->alternate.servers[1].addr, &second));
	assert_int_equal(c->alternate.servers[1].port, 3479);
	assert_int_equal(c->alternate.servers[1].tls_port, 443);
	assert_string_equal(c->alternate.servers[1].name, "turn2.example.org");
	assert_int_equal(c->alternate.allocations, 90000);
	assert_int_equal(c->alternate.datagrams, 1500000);
	assert_int_equal(c->drain.nb_alternates, 0);
	conf_free(c);
}

#define WRONG(text, error)                                \
	{                                                 \
		LOG, LOG "alternate: {" text "}\n", error \
	}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG("servers: ['203.0.113.9:3478']",
			"38:23: alternate.servers[0].address: '203.0.113.9:3478' is not"),
		WRONG("servers: [turn2.example.org]", "38:23: alternate.servers[0].address: '"),
		WRONG("servers: 203.0.113.9", "38:22: alternate.servers: must be a list"),
		WRONG("servers: [{port: 3478}]", "38:23: alternate.servers[0].address: missing"),
		WRONG("servers: [127.0.0.1]",
			"38:23: alternate.servers[0].address: 127.0.0.1 is a loopback address"),
		WRONG("servers: [203.0.113.9, 10.0.0.1]",
			"38:36: alternate.servers[1].address: 10.0.0.1 is an address of this "
			"server"),
		WRONG("servers: [203.0.113.9, 203.0.113.9]",
			"38:36: alternate.servers[1].address: 203.0.113.9 is there already"),
		WRONG("servers: [{address: 203.0.113.9, tls-port: 0}]",
			"38:56: alternate.servers[0].tls-port: 0 is out of range"),
		WRONG("servers: [{address: 203.0.113.9, name: turn_2.example.org}]",
			"38:52: alternate.servers[0].name: must be the DNS name"),
		WRONG("when: {allocations: 5}",
			"38:33: alternate.when.allocations: there are no servers to send clients "
			"to: name some in alternate.servers, or leave it out"),
		WRONG("when: {datagrams-per-second: 5}",
			"38:42: alternate.when.datagrams-per-second: there are no servers"),
		WRONG("servers: [203.0.113.9], when: {allocations: 16777217}",
			"38:57: alternate.when.allocations: 16777217 is out of range"),
		WRONG("servers: [203.0.113.9], when: {allocations: -1}",
			"38:57: alternate.when.allocations: must be a decimal number"),
		WRONG("servers: [203.0.113.9], when: {datagrams-per-second: 1000000001}",
			"38:66: alternate.when.datagrams-per-second: 1000000001 is out of range"),
		WRONG("servers: [203.0.113.9], when: always",
			"38:43: alternate.when: must be a mapping"),
		WRONG("server: 203.0.113.9", "38:13: alternate.server: unknown key"),
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

static char warned[1024];

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	const size_t at = strlen(warned);

	assert_int_equal(weight, CONF_WARNING);
	if (strstr(line, "alternate") != NULL)
		snprintf(warned + at, sizeof(warned) - at, "%s\n", line);
}

// conf_good has listeners of both families.
static void doubts(void **state)
{
	static const struct {
		const char *text, *want;
	} t[] = {{"servers: [203.0.113.9]",
			 "none is of IPv6: clients of the IPv6 listeners are served here, whatever "
			 "the load, and get 508 while this server drains"},
		{"servers: ['2001:db8::9']", "none is of IPv4"},
		{"servers: [203.0.113.9, '2001:db8::9']", ""},
		{"servers: [203.0.113.9, '2001:db8::9'], when: {allocations: 1001}",
			"1001 are more than limits.allocations (1000): clients get 486"},
		{"servers: [203.0.113.9, '2001:db8::9'], when: {allocations: 1000}", ""}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct conf_report r = {.say = hear};
		struct conf *c = with(t[i].text);

		warned[0] = '\0';
		conf_warnings(c, &r);
		assert_non_null(strstr(warned, t[i].want));
		assert_int_equal(warned[0] == '\0', t[i].want[0] == '\0');
		conf_free(c);
	}
}

// --- a file that is read again -------------------------------------------------------------------

static struct conf *said(const char *alternate)
{
	static const struct hash_key hash = {{1, 2, 3, 4}};
	char text[1024], *all;
	struct conf *c;

	snprintf(text, sizeof(text), LOG "alternate: {%s}\n", alternate);
	all = conf_file_edit(LOG, text);
	conf_file_write(all, strlen(all));
	c = conf_load_said(conf_path, NULL, &hash);
	assert_non_null(c);
	free(all);
	return c;
}

static unsigned int hot;

static void count(void *ctx, const struct conf_change *c)
{
	assert_true(c->hot);
	hot++;
}

static void assert_changes(const char *from, const char *to, unsigned int nb)
{
	struct conf *a = said(from), *b = said(to);

	hot = 0;
	conf_changes(a, b, count, NULL);
	assert_int_equal(hot, nb);
	conf_free(a);
	conf_free(b);
}

static void a_reload_takes_all_of_it(void **state)
{
	struct conf *running = said("servers: [203.0.113.9]"), *merged;
	struct conf *fresh = said("servers: [203.0.113.8, 10.7.0.1], when: {allocations: 3}");

	assert_changes("servers: [203.0.113.9]", "servers: [{address: 203.0.113.9}]", 0);
	assert_changes("servers: [203.0.113.9]", "servers: [203.0.113.9, 10.7.0.1]", 1);
	assert_changes("servers: [203.0.113.9]", "servers: [{address: 203.0.113.9, port: 1}]", 1);
	assert_changes("servers: [203.0.113.9], when: {allocations: 3}",
		"servers: [203.0.113.9], when: {datagrams-per-second: 3}", 2);
	merged = conf_merge(running, fresh);
	assert_non_null(merged);
	conf_adopt(running, fresh, merged);
	conf_merge_free(merged);
	conf_free(fresh);
	assert_int_equal(running->alternate.nb_servers, 2);
	assert_int_equal(running->alternate.allocations, 3);
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_it_nobody_is_sent_away),
		cmocka_unit_test(what_it_says),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(doubts),
		cmocka_unit_test(a_reload_takes_all_of_it),
	};

	return cmocka_run_group_tests_name(
		"conf_alternate", tests, conf_file_open, conf_file_close);
}
