// SPDX-License-Identifier: BSD-3-Clause
// The section alternate and drain.alternates: their keys and values, and each error with its
// position.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "conf_section.h"
#include "test.h"

static struct conf *load_section(const char *alternate)
{
	return conf_section("alternate", alternate);
}

static void assert_alternate(const struct conf *c, uint32_t i, const char *addr)
{
	const struct addr want = addr_text(addr);

	assert_in_range(i, 0, c->turn.alternate.nb_drain - 1);
	assert_true(addr_eq(&c->turn.alternate.drain[i].addr, &want));
}

static void without_the_section_no_client_is_sent_away(void **state)
{
	struct conf *c = conf_file_changed(CONF_SECTION_AT, CONF_SECTION_AT);

	assert_int_equal(c->turn.alternate.nb_servers, 0);
	assert_int_equal(c->turn.alternate.allocations, 0);
	assert_int_equal(c->turn.alternate.datagrams, 0);
	assert_int_equal(c->turn.alternate.nb_drain, 0);
	conf_free(c);
}

static void values_are_read(void **state)
{
	struct conf *c = load_section(
		"servers: [203.0.113.9, {address: 'fd07::9', port: 3479, tls-port: 443, "
		"name: turn2.example.org}], allocations: 90000, "
		"datagrams-per-second: 1500000");
	const struct addr first = addr_text("203.0.113.9"), second = addr_text("fd07::9");

	assert_int_equal(c->turn.alternate.nb_servers, 2);
	assert_true(addr_eq(&c->turn.alternate.servers[0].addr, &first));
	assert_true(addr_eq(&c->turn.alternate.servers[1].addr, &second));
	assert_int_equal(c->turn.alternate.servers[1].port, 3479);
	assert_int_equal(c->turn.alternate.servers[1].tls_port, 443);
	assert_string_equal(c->turn.alternate.servers[1].name, "turn2.example.org");
	assert_int_equal(c->turn.alternate.allocations, 90000);
	assert_int_equal(c->turn.alternate.datagrams, 1500000);
	assert_int_equal(c->turn.alternate.nb_drain, 0);
	conf_free(c);
}

// An entry is an address, or a mapping.
static void a_drain_has_a_list_of_its_own(void **state)
{
	struct conf *c = conf_section("drain",
		"alternates: [203.0.113.9, 'fd07::9', {address: 10.7.0.1, port: 3479, "
		"tls-port: 443, name: turn2.example.org}]");

	assert_int_equal(c->turn.alternate.nb_drain, 3);
	assert_alternate(c, 0, "203.0.113.9");
	assert_alternate(c, 1, "fd07::9");
	assert_alternate(c, 2, "10.7.0.1");
	assert_null(c->turn.alternate.drain[0].name);
	assert_int_equal(c->turn.alternate.drain[0].port, 0);
	assert_int_equal(c->turn.alternate.drain[0].tls_port, 0);
	assert_string_equal(c->turn.alternate.drain[2].name, "turn2.example.org");
	assert_int_equal(c->turn.alternate.drain[2].port, 3479);
	assert_int_equal(c->turn.alternate.drain[2].tls_port, 443);
	conf_free(c);
}

#define WRONG(text, error)                                                        \
	{                                                                         \
		CONF_SECTION_AT, CONF_SECTION_AT "alternate: {" text "}\n", error \
	}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG("servers: [^'203.0.113.9:3478']",
			"alternate.servers[0].address: '203.0.113.9:3478' is not"),
		WRONG("servers: [^turn2.example.org]", "alternate.servers[0].address: '"),
		WRONG("servers: ^203.0.113.9", "alternate.servers: must be a list"),
		WRONG("servers: [^{port: 3478}]", "alternate.servers[0].address: missing"),
		WRONG("servers: [^127.0.0.1]",
			"alternate.servers[0].address: 127.0.0.1 is a loopback address"),
		WRONG("servers: [203.0.113.9, ^10.0.0.1]",
			"alternate.servers[1].address: 10.0.0.1 is an address of this server"),
		WRONG("servers: [203.0.113.9, ^203.0.113.9]",
			"alternate.servers[1].address: 203.0.113.9 is given twice: remove one"),
		WRONG("servers: [{address: 203.0.113.9, tls-port: ^0}]",
			"alternate.servers[0].tls-port: 0 is out of range"),
		WRONG("servers: [{address: 203.0.113.9, name: ^turn_2.example.org}]",
			"alternate.servers[0].name: must be the DNS name"),
		WRONG("allocations: ^5",
			"alternate.allocations: there are no servers for these clients: name "
			"some in alternate.servers, or remove this key"),
		WRONG("datagrams-per-second: ^5",
			"alternate.datagrams-per-second: there are no servers"),
		WRONG("servers: [203.0.113.9], allocations: ^16777217",
			"alternate.allocations: 16777217 is out of range"),
		WRONG("servers: [203.0.113.9], allocations: ^-1",
			"alternate.allocations: must be a decimal number"),
		WRONG("servers: [203.0.113.9], datagrams-per-second: ^1000000001",
			"alternate.datagrams-per-second: 1000000001 is out of range"),
		WRONG("^server: 203.0.113.9", "alternate.server: unknown key"),
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

#define WRONG_DRAIN(text, error)                                              \
	{                                                                     \
		CONF_SECTION_AT, CONF_SECTION_AT "drain: {" text "}\n", error \
	}

static void mistakes_of_a_drain_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG_DRAIN("alternates: [^203.0.113.9/32]",
			"drain.alternates[0].address: '203.0.113.9/32' is not"),
		WRONG_DRAIN("alternates: [^'203.0.113.9:3478']",
			"drain.alternates[0].address: '203.0.113.9:3478' is not"),
		WRONG_DRAIN("alternates: [^turn2.example.org]", "drain.alternates[0].address: '"),
		WRONG_DRAIN("alternates: ^203.0.113.9", "drain.alternates: must be a list"),
		WRONG_DRAIN(
			"alternates: [^[203.0.113.9]]", "drain.alternates[0]: must be a mapping"),
		WRONG_DRAIN("alternates: [^null]", "drain.alternates[0]: must be a mapping"),
		WRONG_DRAIN("alternates: [^{port: 3478}]", "drain.alternates[0].address: missing"),
		WRONG_DRAIN("alternates: [^127.0.0.1]",
			"drain.alternates[0].address: 127.0.0.1 is a loopback address"),
		WRONG_DRAIN("alternates: [^'ff02::1']",
			"drain.alternates[0].address: ff02::1 is a multicast address"),
		WRONG_DRAIN("alternates: [^10.0.0.1]",
			"drain.alternates[0].address: 10.0.0.1 is an address of this server"),
		WRONG_DRAIN("alternates: [203.0.113.9, {address: ^203.0.113.9, port: 1}]",
			"drain.alternates[1].address: 203.0.113.9 is given twice: remove one"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, port: ^0}]",
			"drain.alternates[0].port: 0 is out of range"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, tls-port: ^65536}]",
			"drain.alternates[0].tls-port: 65536 is out of range"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, name: ^''}]",
			"drain.alternates[0].name: must not be empty"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, name: ^turn_2.example.org}]",
			"drain.alternates[0].name: must be the DNS name"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, name: ^-a.example}]",
			"drain.alternates[0].name: must be the DNS name"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, name: ^a..example}]",
			"drain.alternates[0].name: must be the DNS name"),
		WRONG_DRAIN("alternates: [{address: 203.0.113.9, ^names: a}]",
			"drain.alternates[0].names: unknown key"),
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

// conf_good has listeners of both families.
static void doubtful_values_are_warnings(void **state)
{
	static const struct conf_section_doubt t[] = {
		{"servers: [203.0.113.9]",
			"no server has an IPv6 address: clients of the IPv6 listeners are "
			"served here, whatever the load, and get 508 while this server drains"},
		{"servers: ['2001:db8::9']", "no server has an IPv4 address: clients of the IPv"},
		{"servers: [203.0.113.9, '2001:db8::9']", ""},
		{"servers: [203.0.113.9, '2001:db8::9'], allocations: 1001",
			"1001 is above limits.allocations (1000): clients get 486 before this "
			"server sends any away"},
		{"servers: [203.0.113.9, '2001:db8::9'], allocations: 1000", ""},
	};

	conf_section_doubts("alternate", t, sizeof(t) / sizeof(t[0]));
}

static void a_drain_without_a_family_is_a_warning(void **state)
{
	static const struct conf_section_doubt t[] = {
		{"alternates: [203.0.113.9]",
			"no server has an IPv6 address: clients of the IPv6 listeners get 508"},
		{"alternates: ['2001:db8::9']",
			"no server has an IPv4 address: clients of the "
			"IPv"},
		{"alternates: [203.0.113.9, '2001:db8::9']", ""},
	};

	conf_section_doubts("drain", t, sizeof(t) / sizeof(t[0]));
}

// --- reload --------------------------------------------------------------------------------------

static void assert_changes(const char *before, const char *after, unsigned int nb)
{
	conf_section_changes("alternate", before, after, nb, 0);
}

static void a_reload_takes_all_of_it(void **state)
{
	struct conf *running = conf_section_said("alternate", "servers: [203.0.113.9]");
	struct conf *fresh =
		conf_section_said("alternate", "servers: [203.0.113.8, 10.7.0.1], allocations: 3");

	assert_changes("servers: [203.0.113.9]", "servers: [{address: 203.0.113.9}]", 0);
	assert_changes("servers: [203.0.113.9]", "servers: [203.0.113.9, 10.7.0.1]", 1);
	assert_changes("servers: [203.0.113.9]", "servers: [{address: 203.0.113.9, port: 1}]", 1);
	assert_changes("servers: [203.0.113.9], allocations: 3",
		"servers: [203.0.113.9], datagrams-per-second: 3", 2);
	conf_section_adopt(running, fresh);
	assert_int_equal(running->turn.alternate.nb_servers, 2);
	assert_int_equal(running->turn.alternate.allocations, 3);
	conf_free(running);
}

static void a_reload_takes_the_list_of_drains(void **state)
{
	struct conf *running = conf_section_said("drain", "alternates: [203.0.113.9]");
	struct conf *fresh = conf_section_said("drain", "alternates: [203.0.113.8, 10.7.0.1]");

	conf_section_changes(
		"drain", "alternates: [203.0.113.9]", "alternates: [{address: 203.0.113.9}]", 0, 0);
	conf_section_changes(
		"drain", "alternates: [203.0.113.9]", "alternates: [203.0.113.9, 10.7.0.1]", 1, 0);
	conf_section_changes("drain", "alternates: [203.0.113.9]",
		"alternates: [{address: 203.0.113.9, port: 1}]", 1, 0);
	conf_section_adopt(running, fresh);
	assert_int_equal(running->turn.alternate.nb_drain, 2);
	assert_alternate(running, 0, "203.0.113.8");
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_section_no_client_is_sent_away),
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(a_drain_has_a_list_of_its_own),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(mistakes_of_a_drain_are_told_at_their_places),
		cmocka_unit_test(doubtful_values_are_warnings),
		cmocka_unit_test(a_drain_without_a_family_is_a_warning),
		cmocka_unit_test(a_reload_takes_all_of_it),
		cmocka_unit_test(a_reload_takes_the_list_of_drains),
	};

	return cmocka_run_group_tests_name(
		"conf_alternate", tests, conf_file_open, conf_file_close);
}
