// SPDX-License-Identifier: BSD-3-Clause
// ports[].vlans: each entry becomes a port on the device of its port, and its errors are reported
// at their position in the file.
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
// Replaces a line of port wan, which has 10.0.0.0/24 and fd00::/64, a gateway and the MTU 1500
#define AT "    vlan: 0\n"
#define LAN "    addresses: [10.1.0.1-10.1.0.9/16]\n" // of port lan, net_b

static void each_vlan_becomes_a_port(void **state)
{
	struct conf *c = conf_file_changed(AT,
		"    steering: port-bits\n    uso: off\n    vlans:\n"
		"      - {id: 100, addresses: [10.2.0.1/24], gateway: [10.2.0.254]}\n"
		"      - id: 4094\n        name: voice\n        mtu: 1400\n"
		"        addresses: [10.3.0.1-10.3.0.4/24, 'fd03::1/64']\n"
		"        routes: [{to: 172.16.0.0/12, via: 10.3.0.254}]\n"
		"        exception: {name: sr9, allow: [tcp/22]}\n");
	const struct conf_port *p = c->ports;
	const struct addr dst = addr_text("172.16.1.1");

	assert_int_equal(c->nb_ports, 4);
	// the ports of the file keep their places
	assert_string_equal(p[0].name, "wan");
	assert_string_equal(p[1].name, "lan");
	assert_false(p[0].shares || p[1].shares || p[0].tagged_only);
	assert_int_equal(p[0].vlan, 0);
	assert_string_equal(p[2].name, "wan.100");
	assert_string_equal(p[3].name, "voice");
	for (unsigned int i = 2; i < 4; i++) {
		assert_true(p[i].shares);
		assert_int_equal(p[i].on, 0);
		assert_string_equal(p[i].device, "net_a");
		assert_int_equal(p[i].steering, CONF_STEERING_PORT_BITS);
		assert_int_equal(p[i].uso, CONF_USO_OFF);
	}
	assert_int_equal(p[2].vlan, 100);
	assert_int_equal(p[2].mtu, 1500);
	assert_int_equal(p[2].nb_gateways, 1);
	assert_null(p[2].exception.name);
	assert_int_equal(p[3].vlan, 4094);
	assert_int_equal(p[3].mtu, 1400);
	assert_int_equal(p[3].nb_addresses, 5);
	assert_string_equal(p[3].exception.name, "sr9");
	assert_int_equal(p[3].exception.rate, 100000);
	// 2 + 9 addresses of the file's ports, and 1 + 5
	assert_int_equal(c->turn.nb_local, 17);
	assert_int_equal(c->turn.local[11].port, 2);
	assert_int_equal(c->turn.local[16].port, 3);
	assert_int_equal(routes_find(c->turn.routes, c->turn.nb_routes, 0, &dst)->port, 3);
	conf_free(c);
}

static void a_port_may_have_only_vlans(void **state)
{
	struct conf *c = conf_file_changed("    device: net_b\n" LAN,
		"    device: net_b\n    vlans: [{id: 1, addresses: [10.1.0.1-10.1.0.9/16]}]\n");

	assert_int_equal(c->nb_ports, 3);
	assert_true(c->ports[1].tagged_only);
	assert_int_equal(c->ports[1].nb_addresses, 0);
	assert_int_equal(c->ports[2].on, 1);
	assert_string_equal(c->ports[2].name, "lan.1");
	assert_int_equal(c->turn.local[10].port, 2);
	conf_free(c);
}

// Two devices may have VLANs with equal ids, and an empty list means no VLAN.
static void ids_are_unique_on_a_device(void **state)
{
	struct conf *c = conf_file_changed(LAN,
		LAN "    vlans: [{id: 7, addresses: [10.7.0.1/24]}]\n"
		    "  - {name: third, device: net_c, addresses: [10.8.0.1/24], vlans: []}\n"
		    "  - {name: fourth, device: net_d, vlans: [{id: 7, name: seven, "
		    "addresses: [10.9.0.1/24]}]}\n");

	assert_int_equal(c->nb_ports, 6);
	assert_int_equal(c->ports[4].on, 1);
	assert_int_equal(c->ports[5].on, 3);
	assert_int_equal(c->ports[5].vlan, c->ports[4].vlan);
	conf_free(c);
}

// Listeners and relay addresses may be on any network.
static void listeners_and_relays_may_be_on_a_vlan(void **state)
{
	char error[CONF_ERROR_LEN] = "";
	char *edited = conf_file_edit(
		AT, "    vlans: [{id: 5, addresses: [10.5.0.1/24], exception: {name: sr5}}]\n");
	char *all = conf_text_edit(edited, "{transport: udp, address: 10.0.0.1, port: 3478}",
		"{transport: tcp, address: all, port: 3478}");
	char *text = conf_text_edit(all, "10.1.0.2-10.1.0.4]", "10.5.0.1]");
	struct conf *c = conf_file_load(text, strlen(text), error);
	const struct addr vlan_addr = addr_text("10.5.0.1");

	if (c == NULL)
		fail_msg("%s", error);
	assert_int_equal(c->turn.nb_listeners, 2);
	assert_true(addr_eq(&c->turn.listeners[0].endpoint.addr, &vlan_addr));
	conf_free(c);
	free(text);
	free(all);
	free(edited);
}

#define VLANS(list, error)                           \
	{                                            \
		AT, "    vlans: [" list "]\n", error \
	}
#define OK "id: 100, addresses: [10.2.0.1/24]"

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		VLANS("^{addresses: [10.2.0.1/24]}", "ports[0].vlans[0].id: missing"),
		VLANS("^{id: 100}", "ports[0].vlans[0].addresses: missing"),
		VLANS("{id: ^0, addresses: [10.2.0.1/24]}",
			"ports[0].vlans[0].id: 0 is out of range"),
		VLANS("{id: ^4095, addresses: [10.2.0.1/24]}",
			"ports[0].vlans[0].id: 4095 is out of range"),
		VLANS("{" OK "}, {id: ^100, addresses: [10.3.0.1/24]}",
			"ports[0].vlans[1].id: vlans[0] has this id, too: put all addresses "
			"into one entry"),
		VLANS("{" OK "}, {id: 101, addresses: [^10.2.0.1/24]}",
			"ports[0].vlans[1].addresses[0]: 10.2.0.1 is given twice, first at "
			"line 10"),
		VLANS("{id: 101, addresses: [^10.0.0.1/24]}",
			"ports[0].vlans[0].addresses[0]: 10.0.0.1 is given twice, first at line 8"),
		VLANS("{" OK ", gateway: [^10.0.0.254]}",
			"ports[0].vlans[0].gateway[0]: 10.0.0.254 is not on-link: write an "
			"address in a subnet of this port (any address is possible only if all "
			"addresses of the port's family are /"),
		VLANS("{" OK ", gateway: [^10.2.0.1]}",
			"ports[0].vlans[0].gateway[0]: 10.2.0.1 is an address of this box: "
			"write the router's address"),
		VLANS("{" OK ", routes: [{to: 10.9.0.0/16, via: ^10.3.0.1}]}",
			"ports[0].vlans[0].routes[0].via: 10.3.0.1 is not on-link: write an "
			"address in a subnet of this port (any address is possible only if all "
			"addresses of the port's family are /"),
		VLANS("{" OK ", mtu: ^1501}",
			"ports[0].vlans[0].mtu: 1501 is above the port's mtu 1500: raise that, "
			"or lower this"),
		VLANS("{id: 9, addresses: ['fd09::1/64'], mtu: ^1279}",
			"ports[0].vlans[0].mtu: 1279 is too small"),
		VLANS("{" OK ", name: ^lan}",
			"ports[0].vlans[0].name: another port has the name 'lan'"),
		VLANS("{" OK ", name: ^'a b'}", "ports[0].vlans[0].name: "),
		VLANS("{" OK ", name: wan.101}, {id: ^101, addresses: [10.3.0.1/24]}",
			"ports[0].vlans[1].id: another port has the name 'wan.101'"),
		VLANS("{" OK ", exception: ^{allow: [icmp]}}",
			"ports[0].vlans[0].exception.name: missing"),
		VLANS("{" OK ", exception: {name: sr0}}, {id: 101, addresses: [10.3.0.1/24], "
		      "exception: {name: ^sr0}}",
			"ports[0].vlans[1].exception.name: the exception port of port "
			"'wan.100' has this name: choose another"),
		VLANS("{" OK ", ^uso: on}", "ports[0].vlans[0].uso: unknown key, "),
		VLANS("{" OK ", ^device: net_x}", "ports[0].vlans[0].device: "),
		VLANS("^100", "ports[0].vlans[0]: must be a mapping"),
		{AT, "    vlans: ^{" OK "}\n", "ports[0].vlans: must be a list"},
		{AT, "    vlan: ^5\n    vlans: [{" OK "}]\n",
			"ports[0].vlan: the port has 'vlans', so these addresses are untagged: "
			"move the id and the addresses to an entry there"},
		// without untagged addresses
		{LAN, "", "ports[1].addresses: missing, give it", "name: lan"},
		{LAN, "    vlans: []\n", "ports[1].addresses: missing, give it", "name: lan"},
		{LAN, "    addresses: ^[]\n    vlans: [{" OK "}]\n",
			"ports[1].addresses: must not be empty"},
		{LAN, "    vlans: [{" OK "}]\n    gateway: ^[10.2.0.254]\n",
			"ports[1].gateway: is for untagged addresses"},
		{LAN, "    vlans: [{" OK "}]\n    exception: ^{name: sr0}\n",
			"ports[1].exception: is for untagged addresses"},
		// later checks know the positions, in earlier and later ports
		{LAN,
			"    addresses: [10.1.0.1/16]\n    mtu: ^600\n"
			"    vlans: [{id: 3, addresses: ['fd03::1/64']}]\n",
			"ports[1].mtu: 600 is too small"},
		{LAN, LAN "    gateway: [^10.9.0.1]\n    vlans: [{" OK "}]\n",
			"ports[1].gateway[0]: 10.9.0.1 is not on-link: write an address in a "
			"subnet of this port (any address is possible only if all addresses of "
			"the port's family are /"},
	};

	CHECK(list);
}

static void ports_are_limited(void **state)
{
	char list[2048] = "    vlans:\n";
	struct conf *c;

	for (unsigned int i = 1; i <= 14; i++)
		sprintf(list + strlen(list), "      - {id: %u, addresses: [10.20.%u.1/24]}\n", i,
			i);
	c = conf_file_changed(AT, list);
	assert_int_equal(c->nb_ports, CONF_PORTS_MAX);
	conf_free(c);
	strcat(list, "      - {id: 15, addresses: [10.20.15.1/24]}\n");
	conf_file_mistakes(
		&(struct conf_file_mistake){AT, list,
			"ports[0].vlans: the file has 17 ports and VLANs up to here: at most 16 "
			"are possible, remove some",
			"- {id: 1,"},
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_vlan_becomes_a_port),
		cmocka_unit_test(a_port_may_have_only_vlans),
		cmocka_unit_test(ids_are_unique_on_a_device),
		cmocka_unit_test(listeners_and_relays_may_be_on_a_vlan),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(ports_are_limited),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
