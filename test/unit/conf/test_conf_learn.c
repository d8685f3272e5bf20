// SPDX-License-Identifier: BSD-3-Clause
// Addresses from the network: `dhcp`, `slaac`, and conf_resolve.
#include <errno.h>
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define WAN                                            \
	"    addresses: [10.0.0.1/24, 'fd00::1/64']\n" \
	"    gateway: [10.0.0.254]\n"                  \
	"    vlan: 0\n"
#define KERNEL "    exception: {name: sr0}\n"
#define LISTEN                                                  \
	"  - {transport: udp, address: 10.0.0.1, port: 3478}\n" \
	"  - {transport: udp, address: 'fd00::1', port: 50000}\n"
#define RELAY "  addresses: [10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"

// Loads a file with entry `wan` for the addresses of port wan. All are used for listeners and
// relaying.
static struct conf *load(const char *wan)
{
	char error[CONF_ERROR_LEN] = "", port[512];
	char *text, *listeners, *relay;
	struct conf *c;

	snprintf(port, sizeof(port), "    addresses: %s\n" KERNEL, wan);
	text = conf_file_edit(WAN, port);
	listeners = conf_text_edit(text, LISTEN, "  - {address: all}\n");
	relay = conf_text_edit(listeners, RELAY, "  addresses: all\n");
	c = conf_file_load(relay, strlen(relay), error);
	free(text);
	free(listeners);
	free(relay);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static struct conf_learned learned(uint32_t index, const char *addr, uint8_t len, const char *via)
{
	struct conf_learned l = {.index = index, .addr = addr_text(addr), .prefix_len = len};

	if (via != NULL)
		l.gateway = addr_text(via);
	return l;
}

static int resolve(struct conf *c, const struct conf_learned *l, uint32_t nb, char *error)
{
	return conf_resolve(c, l, nb, NULL, error);
}

static void ignore(void *ctx, enum conf_weight weight, const char *line)
{
}

static void the_words_ask_for_an_address(void **state)
{
	struct conf *c = load("[dhcp, slaac]");
	const struct conf_port *p = &c->ports[0];

	assert_true(conf_pending(c));
	assert_int_equal(p->nb_addresses, 2);
	assert_int_equal(p->addresses[0].learn, CONF_LEARN_DHCP);
	assert_int_equal(p->addresses[1].learn, CONF_LEARN_SLAAC);
	assert_true(addr_is_v4(&p->addresses[0].addr));
	assert_false(addr_is_v4(&p->addresses[1].addr));
	assert_true(conf_learns(p, true) && conf_learns(p, false));
	assert_false(conf_learns(&c->ports[1], true));
	assert_int_equal(p->learn_wait_s, 60);
	// as many listeners and relay addresses as there will be, because memory is sized by them
	assert_int_equal(c->turn.nb_listeners, 2 + 9);
	assert_int_equal(c->turn.nb_relay, 2 + 9);
	conf_free(c);
}

static void a_learned_address_replaces_the_word_everywhere(void **state)
{
	struct conf *c = load("[{address: dhcp, external: 203.0.113.5}, slaac]");
	const struct conf_learned l[] = {learned(0, "10.7.0.9", 120, "10.7.0.1"),
		learned(1, "2001:db8:7::9", 64, "fe80::1")};
	struct conf_report r = {.say = ignore};
	char error[CONF_ERROR_LEN] = "";

	assert_int_equal(conf_resolve(c, l, 2, &r, error), 0);
	assert_false(conf_pending(c));
	assert_addr(&c->ports[0].addresses[0].addr, "10.7.0.9");
	assert_int_equal(c->ports[0].addresses[0].prefix_len, 120);
	assert_addr(&c->ports[0].addresses[0].external, "203.0.113.5");
	assert_addr(&c->ports[0].addresses[1].addr, "2001:db8:7::9");
	assert_int_equal(c->ports[0].nb_gateways, 2);
	assert_addr(&c->ports[0].gateways[0], "10.7.0.1");
	assert_addr(&c->ports[0].gateways[1], "fe80::1");
	assert_addr(&c->turn.listeners[0].endpoint.addr, "10.7.0.9");
	assert_addr(&c->turn.listeners[1].endpoint.addr, "2001:db8:7::9");
	assert_addr(&c->turn.relay[0], "10.7.0.9");
	assert_addr(&c->turn.relay[1], "2001:db8:7::9");
	assert_int_equal(c->turn.nb_local, 2 + 9);
	assert_addr(&c->turn.local[0].addr, "10.7.0.9");
	assert_addr(&c->turn.local[0].subnet.addr, "10.7.0.0");
	assert_addr(&c->turn.local[0].external, "203.0.113.5");
	// both subnets of wan, the one of lan, and two gateways
	assert_int_equal(c->turn.nb_routes, 5);
	assert_int_equal(c->turn.nb_gateways, 2);
	conf_free(c);
}

// A VLAN learns like a port, and waits as long as the port that has its device.
static void a_vlan_learns_too(void **state)
{
	struct conf *c = load("[dhcp]\n    vlans:\n"
			      "      - id: 100\n        addresses: [dhcp, slaac]\n"
			      "        exception: {name: sr100}");
	struct conf_learned l[] = {learned(0, "10.7.0.9", 120, NULL),
		learned(0, "10.8.0.9", 120, NULL), learned(1, "2001:db8:8::9", 64, "fe80::1")};
	struct conf_report r = {.say = ignore};
	char error[CONF_ERROR_LEN] = "";

	assert_int_equal(c->nb_ports, 3);
	assert_int_equal(c->ports[2].vlan, 100);
	assert_int_equal(c->ports[0].learn_wait_s, 60);
	assert_int_equal(c->ports[2].learn_wait_s, 60);
	l[1].port = l[2].port = 2;
	assert_int_equal(conf_resolve(c, l, 3, &r, error), 0);
	assert_false(conf_pending(c));
	assert_addr(&c->ports[0].addresses[0].addr, "10.7.0.9");
	assert_addr(&c->ports[2].addresses[0].addr, "10.8.0.9");
	assert_addr(&c->ports[2].addresses[1].addr, "2001:db8:8::9");
	assert_addr(&c->ports[2].gateways[0], "fe80::1");
	conf_free(c);
}

// The checks of a file run again: values that the first run filled in are no errors then.
static void a_bond_learns_too(void **state)
{
	char *text = conf_file_edit("    device: net_a\n", "    bond: {members: [net_a, net_c]}\n");
	char *learning = conf_text_edit(
		text, WAN, "    addresses: [10.0.0.1/24, 'fd00::1/64', dhcp]\n" KERNEL);
	struct conf_learned l = learned(2, "10.7.0.9", 120, NULL);
	struct conf_report r = {.say = ignore};
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(learning, strlen(learning), error);

	if (c == NULL)
		fail_msg("%s", error);
	if (conf_resolve(c, &l, 1, &r, error) != 0)
		fail_msg("%s", error);
	assert_string_equal(c->ports[0].device, "bond:wan");
	assert_addr(&c->ports[0].addresses[2].addr, "10.7.0.9");
	conf_free(c);
	free(learning);
	free(text);
}

// The operator's setting overrides the network's.
static void a_gateway_of_the_file_stays(void **state)
{
	struct conf *c = load("[dhcp, slaac]\n    gateway: [10.7.0.254]");
	const struct conf_learned l[] = {learned(0, "10.7.0.9", 120, "10.7.0.1"),
		learned(1, "2001:db8:7::9", 64, "fe80::1")};
	struct conf_report r = {.say = ignore};
	char error[CONF_ERROR_LEN] = "";

	assert_int_equal(conf_resolve(c, l, 2, &r, error), 0);
	assert_int_equal(c->ports[0].nb_gateways, 2);
	assert_addr(&c->ports[0].gateways[0], "10.7.0.254");
	assert_addr(&c->ports[0].gateways[1], "fe80::1");
	conf_free(c);
}

// Some clouds assign a /32 and a router outside it.
static void a_router_outside_all_subnets_is_accepted(void **state)
{
	struct conf *c = load("[dhcp]");
	const struct conf_learned l = learned(0, "10.7.0.9", 128, "10.7.0.1");
	struct conf_report r = {.say = ignore};
	char error[CONF_ERROR_LEN] = "";

	assert_int_equal(conf_resolve(c, &l, 1, &r, error), 0);
	assert_addr(&c->ports[0].gateways[0], "10.7.0.1");
	conf_free(c);
}

// piece: the piece of the file at which the error is.
static void assert_refused(
	const char *wan, const struct conf_learned *l, const char *piece, const char *reason)
{
	struct conf *c = load(wan);
	char error[CONF_ERROR_LEN] = "";
	const char *want = conf_file_at(piece, reason);

	assert_int_equal(resolve(c, l, 1, error), -EINVAL);
	if (strstr(error, want) == NULL)
		fail_msg("%s\nwanted: %s", error, want);
	conf_free(c);
}

// Reported like errors of a file with that address, at the position of the word.
static void addresses_that_do_not_fit_are_told_at_the_word(void **state)
{
	const struct conf_learned twice = learned(0, "10.1.0.5", 112, NULL);
	const struct conf_learned loose = learned(0, "10.7.0.9", 120, NULL);
	const struct conf_learned zeroconf = learned(0, "169.254.3.4", 112, NULL);
	const struct conf_learned itself = learned(0, "10.7.0.9", 120, NULL);

	assert_refused("[dhcp]", &twice, "10.1.0.1",
		"ports[1].addresses[0]: 10.1.0.5 is given twice, first");
	assert_refused("[dhcp]\n    gateway: [10.8.0.1]", &loose, "10.8.0.1",
		"ports[0].gateway[0]: 10.8.0.1 is not on-link: write an address in a subnet of "
		"this port (any address is possible only if all addresses of the port's family "
		"are /");
	assert_refused("[dhcp]", &zeroconf, "dhcp",
		"ports[0].addresses[0]: the network has given 169.254.3.4, which is a link-local");
	assert_refused("[{address: dhcp, external: 10.7.0.9}]", &itself, "{address: dhcp",
		"ports[0].addresses[0]: external: 10.7.0.9 is an address of this box: "
		"write the address to which the network translates it");
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{WAN, "    addresses: [10.0.0.1/24, 'fd00::1/64', ^dhcp]\n",
			"ports[0].addresses[2]: 'dhcp' takes the address of the port's kernel "
			"interface, which is missing: add exception: {name: sr0} to the port"},
		{WAN, "    addresses: [10.0.0.1/24, 'fd00::1/64', slaac, ^slaac]\n" KERNEL,
			"ports[0].addresses[3]: a port has one 'slaac': remove the second"},
		{WAN, "    addresses: [10.0.0.1/24, 'fd00::1/64', ^auto]\n" KERNEL,
			"ports[0].addresses[2]: 'auto' is not an address or a range"},
		{WAN, "    addresses: [10.0.0.1/24, 'fd00::1/64', ^dhcp/24]\n" KERNEL,
			"ports[0].addresses[2]: 'dhcp/24' is not an address or a range"},
		{WAN,
			"    addresses: [10.0.0.1/24, 'fd00::1/64', "
			"{address: dhcp, external: ^'fd00::7'}]\n" KERNEL,
			"ports[0].addresses[2].external: is IPv6, and 'address' is IPv4: give "
			"both one family"},
		{WAN,
			"    addresses: [10.0.0.1/24, 'fd00::1/64', "
			"{address: dhcp, external: ^203.0.113.5-203.0.113.6}]\n" KERNEL,
			"ports[0].addresses[2].external: has more addresses than 'address': "
			"give both the same number"},
		{WAN "    mtu: 1500\n",
			"    addresses: [10.0.0.1/24, 'fd00::1/64', slaac]\n"
			"    mtu: ^1000\n" KERNEL,
			"ports[0].mtu: 1000 is too small"},
	};

	CHECK(list);
}

// A pending address has a placeholder, which must not be configured or shown.
static void placeholders_may_not_be_configured(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"address: 10.0.0.1,", "address: ^0.0.0.1,",
			"listeners[0].address: no host can have 0.0.0.1: write the right address"},
		{"udp, address: 10.0.0.1,", "tcp, address: ^0.1.0.0,",
			"listeners[0].address: no host can have 0.1.0.0: write the right address"},
		{"address: 'fd00::1',", "address: ^'::100:0',",
			"listeners[1].address: no host can have ::1.0.0.0: write the right "
			"address"},
		{"[10.0.0.1, 'fd00::1', 10.1.0.2", "[10.0.0.1, ^0.1.0.0, 10.1.0.2",
			"relay.addresses[1]: no host can have 0.1.0.0: write the right address"},
		{"[10.0.0.1, 'fd00::1', 10.1.0.2", "[10.0.0.1, ^'::ff:fffe-::100:1', 10.1.0.2",
			"relay.addresses[1]: no host can have ::1.0.0.1: write the right address"},
		{"  ports: 49152-65535\n",
			"  pools: [{name: x, addresses: [^0.1.0.0], peers: [10.8.0.0/16]}]\n",
			"relay.pools[0].addresses[0]: no host can have 0.1.0.0: write the "
			"right address"},
		{"[10.0.0.254]", "[^0.1.0.0]",
			"ports[0].gateway[0]: no host can have 0.1.0.0: write the right address"},
	};
	char *text = conf_file_edit(WAN, "    addresses: [dhcp]\n" KERNEL);
	char *listen = conf_text_edit(text, LISTEN, "  - {address: all, port: 3478}\n");
	char *relay = conf_text_edit(
		listen, RELAY "  ports: 49152-65535\n", "  addresses: all\n  ports: ^3478-3478\n");
	char *outside =
		conf_text_edit(text, "[dhcp]\n", "[{address: dhcp, external: 203.0.113.5}]\n");
	char *named = conf_text_edit(outside, LISTEN, "  - {address: ^203.0.113.5}\n");

	CHECK(list);
	conf_file_refused(relay, strlen(relay),
		"relay.ports: listeners take every port of the range on the address that the "
		"network gives: make it larger");
	conf_file_refused(named, strlen(named),
		"listeners[0].address: 203.0.113.5 is the external address of an address that "
		"the network gives: write 'all' here");
	free(named);
	free(outside);
	free(relay);
	free(listen);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_words_ask_for_an_address),
		cmocka_unit_test(a_learned_address_replaces_the_word_everywhere),
		cmocka_unit_test(a_vlan_learns_too),
		cmocka_unit_test(a_bond_learns_too),
		cmocka_unit_test(a_gateway_of_the_file_stays),
		cmocka_unit_test(a_router_outside_all_subnets_is_accepted),
		cmocka_unit_test(addresses_that_do_not_fit_are_told_at_the_word),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(placeholders_may_not_be_configured),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
