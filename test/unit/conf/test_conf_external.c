// SPDX-License-Identifier: BSD-3-Clause
// ports[].addresses[] as a mapping: addresses of ports and their external addresses.
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define WAN "[10.0.0.1/24, 'fd00::1/64']"
#define LAN "[10.1.0.1-10.1.0.9/16]"

static void assert_pair(const struct conf_address *a, const char *local, const char *external)
{
	const struct addr x = addr_text(local), y = addr_text(external);

	assert_true(addr_eq(&a->addr, &x));
	assert_true(addr_eq(&a->external, &y));
}

static void single_addresses_have_external_ones(void **state)
{
	struct conf *c = conf_file_changed(WAN,
		"[{address: 10.0.0.1/24, external: 203.0.113.1}, "
		"{external: '2001:db8::1', address: 'fd00::1/64'}]");

	assert_int_equal(c->ports[0].nb_addresses, 2);
	assert_pair(&c->ports[0].addresses[0], "10.0.0.1", "203.0.113.1");
	assert_int_equal(c->ports[0].addresses[0].prefix_len, 96 + 24);
	assert_pair(&c->ports[0].addresses[1], "fd00::1", "2001:db8::1");
	// the addresses that requests are checked against have them, too
	assert_true(addr_eq(&c->turn.local[0].external, &c->ports[0].addresses[0].external));
	assert_true(addr_eq(&c->turn.local[1].external, &c->ports[0].addresses[1].external));
	conf_free(c);
}

static void a_run_is_translated_to_a_run(void **state)
{
	struct conf *c = conf_file_changed(
		LAN, "[{address: 10.1.0.1-10.1.0.9/16, external: 203.0.113.254-203.0.114.6}]");

	assert_int_equal(c->ports[1].nb_addresses, 9);
	assert_pair(&c->ports[1].addresses[0], "10.1.0.1", "203.0.113.254");
	assert_pair(&c->ports[1].addresses[2], "10.1.0.3", "203.0.114.0");
	assert_pair(&c->ports[1].addresses[8], "10.1.0.9", "203.0.114.6");
	conf_free(c);
}

static void entries_of_both_kinds_may_be_mixed(void **state)
{
	struct conf *c = conf_file_changed(LAN,
		"[10.1.0.1/16, {address: 10.1.0.2/16}, "
		"{address: 10.1.0.3-10.1.0.4/16, external: "
		"203.0.113.3-203.0.113.4}]");

	assert_int_equal(c->ports[1].nb_addresses, 4);
	assert_pair(&c->ports[1].addresses[0], "10.1.0.1", "::");
	assert_pair(&c->ports[1].addresses[1], "10.1.0.2", "::");
	assert_pair(&c->ports[1].addresses[3], "10.1.0.4", "203.0.113.4");
	conf_free(c);
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{WAN, "[{address: 10.0.0.1/24, external: ^'fd01::1'}, 'fd00::1/64']",
			"ports[0].addresses[0].external: is IPv6, and 'address' is IPv4: give "
			"both one family"},
		{WAN, "[{address: 10.0.0.1/24, external: ^203.0.113.1-203.0.113.2}, 'fd00::1/64']",
			"ports[0].addresses[0].external: has more addresses than 'address': "
			"give both the same number"},
		{LAN, "[{address: 10.1.0.1-10.1.0.9/16, external: ^203.0.113.1-203.0.113.8}]",
			"ports[1].addresses[0].external: has fewer addresses than 'address': "
			"give both the same number"},
		{LAN, "[{address: 10.1.0.1-10.1.0.9/16, external: ^203.0.113.1}]",
			"ports[1].addresses[0].external: has fewer addresses than 'address': "
			"give both the same number"},
		{WAN, "[{address: 10.0.0.1/24, external: ^203.0.113.1/24}, 'fd00::1/64']",
			"ports[0].addresses[0].external: '203.0.113.1/24' is not an address or "
			"a range a-b"},
		{WAN, "[{address: 10.0.0.1/24, external: ^224.0.0.1}, 'fd00::1/64']",
			"ports[0].addresses[0].external: 224.0.0.1 is a multicast address"},
		{WAN, "[{address: 10.0.0.1/24, external: ^0.0.0.0}, 'fd00::1/64']",
			"ports[0].addresses[0].external: 0.0.0.0 is unspecified"},
		{WAN, "[{address: 10.0.0.1/24, external: ^}, 'fd00::1/64']",
			"ports[0].addresses[0].external: has no value"},
		{WAN, "[{address: 10.0.0.1/24, external: ^[203.0.113.1]}, 'fd00::1/64']",
			"ports[0].addresses[0].external: must be an address or a range"},
		{WAN, "[{address: 10.0.0.1/24, ^externals: 203.0.113.1}, 'fd00::1/64']",
			"ports[0].addresses[0].externals: unknown key, did you mean 'external'?"},
		{WAN, "[^{external: 203.0.113.1}, 'fd00::1/64']",
			"ports[0].addresses[0].address: missing"},
		{WAN, "[{address: ^10.0.0.1, external: 203.0.113.1}, 'fd00::1/64']",
			"ports[0].addresses[0].address: '10.0.0.1' is not an address or a "
			"range with the prefix length"},
		{WAN, "[{address: ^10.0.0.255/24, external: 203.0.113.1}, 'fd00::1/64']",
			"ports[0].addresses[0].address: 10.0.0.255 is the broadcast address of "
			"its subnet: write the port's address"},
		{WAN, "[^{address: 10.0.0.1/24, external: 10.0.0.1}, 'fd00::1/64']",
			"ports[0].addresses[0]: external: 10.0.0.1 is an address of this "
			"box: write the address to which the network translates it"},
		{WAN, "[^{address: 10.0.0.1/24, external: 10.1.0.9}, 'fd00::1/64']",
			"ports[0].addresses[0]: external: 10.1.0.9 is an address of this "
			"box: write the address to which the network translates it"},
		{LAN,
			"[{address: 10.1.0.1/16, external: 203.0.113.1}, "
			"^{address: 10.1.0.2-10.1.0.9/16, external: 203.0.112.250-203.0.113.1}]",
			"ports[1].addresses[1]: 203.0.113.1 is given twice"},
		{WAN, "[^{address: 10.0.0.1/24, external: 10.0.0.254}, 'fd00::1/64']",
			"ports[0].addresses[0]: external: 10.0.0.254 is a router"},
		{WAN "\n", "[{address: 10.0.0.2/24, external: 10.0.0.1}, 'fd00::1/64']\n",
			"listeners[0].address: 10.0.0.1 is the external address of 10.0.0.2: "
			"write 10.0.0.2 here",
			"10.0.0.1,"},
		{LAN, "[^[10.1.0.1-10.1.0.9/16]]", "ports[1].addresses[0]: must be a single"},
	};

	CHECK(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_addresses_have_external_ones),
		cmocka_unit_test(a_run_is_translated_to_a_run),
		cmocka_unit_test(entries_of_both_kinds_may_be_mixed),
		cmocka_unit_test(mistakes_are_told_at_their_places),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
