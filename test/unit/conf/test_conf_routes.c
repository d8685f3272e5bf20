// SPDX-License-Identifier: BSD-3-Clause
// ports[].routes, and the table of routes gathered from all ports.
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
// The addresses of port lan, in 10.1.0.0/16.
#define LAN "    addresses: [10.1.0.1-10.1.0.9/16]\n"

// The route to a destination from address 0, of port wan.
static const struct route *find_route(const struct conf *c, const char *dst)
{
	const struct addr a = addr_text(dst);

	return routes_find(c->turn.routes, c->turn.nb_routes, 0, &a);
}

static void subnets_routes_and_gateways_are_gathered(void **state)
{
	struct conf *c = conf_file_changed(LAN,
		LAN "    routes: [{to: 172.16.0.0/12, via: 10.1.0.254}, "
		    "{via: 10.1.0.253, to: 172.16.5.5}]\n");
	const struct addr router = addr_text("10.1.0.254"), gateway = addr_text("10.1.0.253");

	// wan's two subnets, lan's one (nine addresses), two routes, one gateway
	assert_int_equal(c->turn.nb_routes, 6);
	assert_true(find_route(c, "10.0.0.7")->direct);
	assert_int_equal(find_route(c, "10.1.7.7")->port, 1);
	assert_true(find_route(c, "10.1.7.7")->direct);
	assert_int_equal(find_route(c, "172.16.9.9")->port, 1);
	assert_true(addr_eq(&find_route(c, "172.16.9.9")->via, &router));
	assert_true(addr_eq(&find_route(c, "172.16.5.5")->via, &gateway));
	assert_int_equal(find_route(c, "198.51.100.1")->port, 0);
	assert_null(find_route(c, "2001:db8::1"));
	// routers are no peers
	assert_int_equal(c->turn.nb_gateways, 3);
	conf_free(c);
}

static void a_subnet_of_one_address_is_no_route(void **state)
{
	struct conf *c = conf_file_changed(LAN,
		"    addresses: [10.1.0.1/32, 10.1.0.2/32, 10.1.0.3/32, "
		"10.1.0.4/32]\n");

	assert_int_equal(c->turn.nb_routes, 3);
	assert_false(find_route(c, "10.1.0.2")->direct);
	conf_free(c);
}

static void the_gateway_of_lone_addresses_may_be_anywhere(void **state)
{
	struct conf *c = conf_file_changed(LAN,
		"    addresses: [10.1.0.1/32, 10.1.0.2/32, "
		"10.1.0.3/32, 10.1.0.4/32]\n"
		"    gateway: [172.31.1.1]\n"
		"    routes: [{to: 10.9.0.0/16, via: 172.31.1.2}]\n");
	const struct addr router = addr_text("172.31.1.1"), lan = addr_text("9.9.9.9");
	const struct route *r = routes_find(c->turn.routes, c->turn.nb_routes, 1, &lan);

	assert_true(r->port == 1 && !r->direct && addr_eq(&r->via, &router));
	// a next hop in the range of the addresses is not on-link
	assert_addr(&find_route(c, "10.9.1.1")->via, "172.31.1.2");
	conf_free(c);
}

static void a_router_may_be_link_local(void **state)
{
	struct conf *c = conf_file_changed(LAN,
		"    addresses: [10.1.0.1-10.1.0.9/16, 'fd01::1/64']\n"
		"    routes: [{to: 'fd10::/16', via: 'fe80::1'}]\n");

	assert_int_equal(find_route(c, "fd10::7")->port, 1);
	assert_false(find_route(c, "fd10::7")->direct);
	conf_free(c);
}

#define WRONG(routes, error)                                 \
	{                                                    \
		LAN, LAN "    routes: [" routes "]\n", error \
	}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG("{to: 172.16.0.0/12, via: ^10.2.0.1}",
			"ports[1].routes[0].via: 10.2.0.1 is not on-link: write an address in "
			"a subnet of this port (any address is possible only if all addresses "
			"of the port's family are /"),
		WRONG("{to: 172.16.0.0/12, via: ^10.1.0.9}",
			"ports[1].routes[0].via: 10.1.0.9 is an address of this box: write the "
			"router's address"),
		WRONG("{to: 172.16.0.0/12, via: ^10.1.255.255}",
			"ports[1].routes[0].via: 10.1.255.255 is the broadcast address of its "
			"subnet: write the router's address"),
		WRONG("{to: 172.16.0.0/12, via: ^'fe80::1'}",
			"ports[1].routes[0].via: is IPv6, and 'to' is IPv4: give both one family"),
		WRONG("{to: ^172.16.0.1/12, via: 10.1.0.254}",
			"ports[1].routes[0].to: '172.16.0.1/12' has bits set behind the "
			"prefix: write 172.16.0.0/12"),
		WRONG("{to: ^172.16.0.1-172.16.0.9, via: 10.1.0.254}",
			"ports[1].routes[0].to: '172.16.0.1-172.16.0.9' is not a prefix"),
		WRONG("{to: ^0.0.0.0/0, via: 10.1.0.254}",
			"ports[1].routes[0].to: holds all addresses: name the router in "
			"ports[].gateway"),
		WRONG("{to: ^'::/0', via: 'fe80::1'}", "ports[1].routes[0].to: holds all addr"),
		WRONG("{to: 10.3.0.0/16, via: 10.1.0.254}, {to: ^10.3.0.0/16, via: 10.1.0.253}",
			"ports[1].routes[1].to: routes[0].to is this prefix, too: remove one"),
		WRONG("^{to: 10.3.0.0/16}", "ports[1].routes[0].via: missing"),
		WRONG("^{via: 10.1.0.254}", "ports[1].routes[0].to: missing"),
		WRONG("^10.3.0.0/16", "ports[1].routes[0]: must be a mapping"),
		WRONG("{to: ^office, via: 10.1.0.254}",
			"ports[1].routes[0].to: 'office' is not an address"),
	};

	CHECK(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subnets_routes_and_gateways_are_gathered),
		cmocka_unit_test(a_subnet_of_one_address_is_no_route),
		cmocka_unit_test(the_gateway_of_lone_addresses_may_be_anywhere),
		cmocka_unit_test(a_router_may_be_link_local),
		cmocka_unit_test(mistakes_are_told_at_their_places),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
