// SPDX-License-Identifier: BSD-3-Clause
// relay.addresses: all
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
// Ports wan (10.0.0.1, fd00::1) and lan (10.1.0.1 to 10.1.0.9)
#define RELAY "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"

#define PORTS "  ports: 49152-65535\n"

static struct conf *load(const char *replacement)
{
	return conf_file_changed(RELAY PORTS, replacement);
}

static bool has(const struct conf *c, const char *text)
{
	const struct addr a = addr_text(text);
	uint32_t found = 0;

	for (uint32_t i = 0; i < c->turn.nb_relay; i++)
		found += addr_eq(&c->turn.relay[i], &a);
	assert_true(found <= 1);
	return found == 1;
}

static void all_is_every_address_of_the_ports(void **state)
{
	struct conf *c = load("  addresses: all\n");

	assert_int_equal(c->turn.nb_relay, 2 + 9);
	assert_true(has(c, "10.0.0.1") && has(c, "fd00::1"));
	assert_true(has(c, "10.1.0.1") && has(c, "10.1.0.9"));
	conf_free(c);
}

static void a_family_may_be_chosen(void **state)
{
	struct conf *c = load("  addresses: all-ipv6\n");

	assert_int_equal(c->turn.nb_relay, 1);
	assert_true(has(c, "fd00::1"));
	conf_free(c);
	c = load("  addresses: all-ipv4\n");
	assert_int_equal(c->turn.nb_relay, 1 + 9);
	assert_false(has(c, "fd00::1"));
	conf_free(c);
}

// A pool has as many addresses as there are relay addresses of its family, and shares none with
// them.
static void addresses_of_pools_are_left_out(void **state)
{
	struct conf *c = load("  addresses: all-ipv4\n"
			      "  pools: [{name: lan, addresses: [10.1.0.5-10.1.0.9], "
			      "for: [10.5.0.0/16]}]\n");

	assert_int_equal(c->turn.nb_relay, 1 + 4);
	assert_true(has(c, "10.0.0.1") && has(c, "10.1.0.4"));
	assert_false(has(c, "10.1.0.5"));
	conf_free(c);
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{RELAY, "  addresses: ^everything\n",
			"relay.addresses: 'everything' is not 'all', 'all-ipv4' or"},
		{RELAY, "  addresses: ^10.0.0.1\n",
			"relay.addresses: '10.0.0.1' is not 'all', 'all-ipv4' or"},
		{RELAY, "  addresses: [^all]\n",
			"relay.addresses[0]: write 'all' without brackets, and"},
		{RELAY, "  addresses:^\n", "relay.addresses: has no value"},
		{RELAY, "  addresses: ^{all: true}\n",
			"relay.addresses: must be a list of addresses, or all"},
		{RELAY,
			"  addresses: ^all-ipv6\n"
			"  pools: [{name: l, addresses: ['fd00::1'], for: ['fd05::/16']}]\n",
			"relay.addresses: all addresses of the ports are in pools: add one to "
			"ports[].addresses"},
		// the position of an address is that of the word
		{RELAY,
			"  addresses: all\n"
			"  pools: [{name: lan, addresses: ^[10.1.0.5], for: [10.5.0.0/16]}]\n",
			"relay.pools[0].addresses: has 1 IPv4 addresses, and relay.addresses "
			"has 9: give one for each"},
	};

	CHECK(list);
}

static void all_are_no_more_than_a_list_may_have(void **state)
{
	char *text = conf_file_edit("10.1.0.1-10.1.0.9/16", "10.1.0.1-10.1.15.255/16");
	char *all = conf_text_edit(text, RELAY, "  addresses: ^all\n");

	conf_file_refused(all, strlen(all), "relay.addresses: 4097 addresses: at most 4096");
	free(text);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_every_address_of_the_ports),
		cmocka_unit_test(a_family_may_be_chosen),
		cmocka_unit_test(addresses_of_pools_are_left_out),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(all_are_no_more_than_a_list_may_have),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
