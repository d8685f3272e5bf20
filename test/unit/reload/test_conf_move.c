// SPDX-License-Identifier: BSD-3-Clause
// Other addresses replace those from the network.
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "conf.h"
#include "conf_changes.h"
#include "conf_file.h"
#include "test.h"

#define GIVEN                                                                                \
	"ports:\n"                                                                           \
	"  - {name: wan, device: 'packet:eth0', addresses: [dhcp, slaac, 203.0.113.9/32]}\n" \
	"  - {name: lan, device: 'packet:eth1', addresses: [dhcp], gateway: [10.2.0.254]}\n" \
	"listeners: [{address: all}, {address: all, transport: tcp}]\n"                      \
	"relay: {addresses: all}\n"                                                          \
	"auth: {realm: turn.test, users: [{name: ivan, password: Kestrel7Quartz}]}\n"

static struct conf_learned make_learned(
	uint32_t port, uint32_t index, const char *addr, const char *via)
{
	struct conf_learned l = {.port = port, .index = index, .addr = addr_text(addr)};

	l.prefix_len = addr_is_v4(&l.addr) ? 120 : 64;
	if (via != NULL)
		l.gateway = addr_text(via);
	return l;
}

// The addresses that the network gave at the start.
static struct conf *running(void)
{
	const struct conf_learned l[] = {make_learned(0, 0, "10.1.0.7", "10.1.0.254"),
		make_learned(0, 1, "2001:db8:1::7", "fe80::1"),
		make_learned(1, 0, "10.2.0.7", "10.2.0.253")};
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_file_said(GIVEN);

	if (conf_resolve(c, l, 3, NULL, error) != 0)
		fail_msg("%s", error);
	return c;
}

static void move(struct conf *c, const struct conf_learned *list, uint32_t nb)
{
	char error[CONF_ERROR_LEN];
	struct conf *m = conf_move(c, list, nb, error);

	if (m == NULL)
		fail_msg("%s", error);
	conf_moved_adopt(c, m);
	conf_moved_free(m);
}

static void the_new_address_replaces_the_old_one_everywhere(void **state)
{
	const struct conf_learned l[] = {make_learned(0, 1, "2001:db8:2::8", "fe80::2"),
		make_learned(0, 0, "10.7.0.7", "10.7.0.254")};
	const struct conf_learned back = make_learned(0, 0, "10.1.0.7", "10.1.0.254");
	struct conf *c = running(), *again;

	move(c, l, 2);
	assert_addr(&c->ports[0].addresses[0].addr, "10.7.0.7");
	assert_addr(&c->ports[0].addresses[1].addr, "2001:db8:2::8");
	assert_addr(&c->ports[0].addresses[2].addr, "203.0.113.9");
	assert_int_equal(c->ports[0].nb_gateways, 2);
	assert_addr(&c->ports[0].gateways[0], "10.7.0.254");
	assert_addr(&c->ports[0].gateways[1], "fe80::2");
	assert_int_equal(c->turn.nb_listeners, 8);
	for (unsigned int i = 0; i < 8; i += 4) {
		assert_addr(&c->turn.listeners[i].endpoint.addr, "10.7.0.7");
		assert_addr(&c->turn.listeners[i + 1].endpoint.addr, "2001:db8:2::8");
		assert_addr(&c->turn.listeners[i + 2].endpoint.addr, "203.0.113.9");
		assert_addr(&c->turn.listeners[i + 3].endpoint.addr, "10.2.0.7");
	}
	assert_addr(&c->turn.relay[0], "10.7.0.7");
	assert_addr(&c->turn.relay[1], "2001:db8:2::8");
	assert_addr(&c->turn.local[0].subnet.addr, "10.7.0.0");
	// a reloaded file gets the addresses in use now, and reports no change
	again = conf_load_again(c, NULL);
	assert_non_null(again);
	assert_int_equal(conf_changes(c, again, NULL, NULL), 0);
	assert_addr(&again->turn.relay[1], "2001:db8:2::8");
	assert_addr(&again->ports[0].gateways[1], "fe80::2");
	conf_free(again);
	// and again with another one
	move(c, &back, 1);
	assert_addr(&c->turn.relay[0], "10.1.0.7");
	conf_free(c);
}

static void the_router_of_the_file_stays(void **state)
{
	const struct conf_learned l = make_learned(1, 0, "10.3.0.7", "10.3.0.254");
	struct conf *c = running();

	move(c, &l, 1);
	assert_addr(&c->ports[1].addresses[0].addr, "10.3.0.7");
	assert_int_equal(c->ports[1].nb_gateways, 1);
	assert_addr(&c->ports[1].gateways[0], "10.2.0.254");
	conf_free(c);
}

static void a_router_alone_may_be_another(void **state)
{
	const struct conf_learned l = make_learned(0, 0, "10.1.0.7", "10.1.0.1");
	struct conf *c = running();

	move(c, &l, 1);
	assert_addr(&c->ports[0].gateways[0], "10.1.0.1");
	assert_addr(&c->turn.relay[0], "10.1.0.7");
	conf_free(c);
}

// As if two cables were swapped.
static void two_ports_may_change_places(void **state)
{
	const struct conf_learned l[] = {
		make_learned(0, 0, "10.2.0.7", "10.2.0.254"), make_learned(1, 0, "10.1.0.7", NULL)};
	struct conf *c = running();

	move(c, l, 2);
	assert_addr(&c->turn.relay[0], "10.2.0.7");
	assert_addr(&c->turn.relay[3], "10.1.0.7");
	assert_addr(&c->turn.listeners[0].endpoint.addr, "10.2.0.7");
	assert_addr(&c->turn.listeners[3].endpoint.addr, "10.1.0.7");
	conf_free(c);
}

static void impossible_addresses_are_refused(void **state)
{
	const struct {
		struct conf_learned target;
		const char *reason;
	} wrong[] = {
		{make_learned(0, 0, "10.2.0.7", NULL),
			"10.2.0.7, which is an address of this box already"},
		{make_learned(0, 0, "10.2.0.254", NULL),
			"10.2.0.254, which is a router of this box"},
		{make_learned(0, 0, "10.7.0.7", "203.0.113.9"),
			"whose router has an address of this box"},
		{make_learned(0, 0, "127.0.0.1", NULL), "127.0.0.1, which is a loopback"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct conf *c = running();
		char error[CONF_ERROR_LEN];

		assert_null(conf_move(c, &wrong[i].target, 1, error));
		if (strstr(error, wrong[i].reason) == NULL)
			fail_msg("%s\nwanted: %s", error, wrong[i].reason);
		assert_addr(&c->turn.relay[0], "10.1.0.7");
		conf_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_new_address_replaces_the_old_one_everywhere),
		cmocka_unit_test(the_router_of_the_file_stays),
		cmocka_unit_test(a_router_alone_may_be_another),
		cmocka_unit_test(two_ports_may_change_places),
		cmocka_unit_test(impossible_addresses_are_refused),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
