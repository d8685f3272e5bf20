// SPDX-License-Identifier: BSD-3-Clause
// relay.pools: addresses that replace relay addresses one for one.
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"
#include "turn_relay_map.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
// Relay addresses 10.0.0.1 and fd00::1 of port wan; 10.1.0.1 to 10.1.0.9 of port lan are free
#define RELAY "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"
#define ONE "  addresses: [10.0.0.1, 'fd00::1']\n"

static void a_pools_addresses_stand_for_relay_addresses_in_order(void **state)
{
	char error[CONF_ERROR_LEN] = "";
	char *text = conf_file_edit(RELAY,
		"  addresses: ['fd00::1', 10.0.0.1, 10.1.0.9]\n"
		"  pools: [{name: lan, addresses: [10.1.0.5, 10.1.0.6], for: [10.5.0.0/16]}]\n");
	struct conf *c = conf_file_load(text, strlen(text), error);
	static const char *const stands_for[] = {"fd00::1", "10.1.0.5", "10.1.0.6"};
	const struct addr pooled = addr_text("10.1.0.6"), none = addr_text("10.1.0.7");

	free(text);
	if (c == NULL)
		fail_msg("%s", error);
	for (uint32_t i = 0; i < 3; i++) {
		const struct addr want = addr_text(stands_for[i]);
		const struct addr got = turn_relay_pool_addr(&c->turn, 1, i);

		assert_true(addr_eq(&got, &want));
	}
	assert_int_equal(turn_relay_pool_find(&c->turn, &pooled), 3 + 2); // pool 1, address 2
	assert_int_equal(turn_relay_pool_find(&c->turn, &none), -1);
	conf_free(c);
}

#define WRONG(pools, error)                                \
	{                                                  \
		RELAY, ONE "  pools: [" pools "]\n", error \
	}
#define LAN "{name: lan, addresses: [10.1.0.5], for: [10.5.0.0/16]}"

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG("{name: lan, addresses: [^10.9.0.5], for: [10.5.0.0/16]}",
			"relay.pools[0].addresses[0]: 10.9.0.5 is not an address of any"),
		WRONG("{name: lan, addresses: [^10.0.0.1], for: [10.5.0.0/16]}",
			"relay.pools[0].addresses[0]: 10.0.0.1 is in relay.addresses"),
		WRONG("{name: lan, addresses: ^[10.1.0.5-10.1.0.6], for: [10.5.0.0/16]}",
			"relay.pools[0].addresses: has 2 IPv4 addresses, and relay.addresses "
			"has 1: give one for each"),
		WRONG("{name: lan, addresses: [10.1.0.5], for: [^'fd05::/16']}",
			"relay.pools[0].for[0]: fd05::/16 is IPv6, and the pool has no"),
		WRONG(LAN ", {name: dmz, addresses: [^10.1.0.5], for: [10.6.0.0/16]}",
			"relay.pools[1].addresses[0]: 10.1.0.5 is in another pool, too"),
		WRONG(LAN ", {name: dmz, addresses: [10.1.0.6], for: [^10.5.0.0/16]}",
			"relay.pools[1].for[0]: 10.5.0.0/16 is in pool 'lan', too: remove one"),
		WRONG(LAN ", {name: ^lan, addresses: [10.1.0.6], for: [10.6.0.0/16]}",
			"relay.pools[1].name: another pool has the name 'lan'"),
		WRONG("{name: lan, addresses: [10.1.0.5], for: ^[]}",
			"relay.pools[0].for: must not be empty"),
		WRONG("^{name: lan, for: [10.5.0.0/16]}", "relay.pools[0].addresses: missing"),
	};

	CHECK(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pools_addresses_stand_for_relay_addresses_in_order),
		cmocka_unit_test(mistakes_are_told_at_their_places),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
