// SPDX-License-Identifier: BSD-3-Clause
// Ports that share an interface with the kernel: their other settings.
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))

#define FIRST "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
#define TWO_PORTS                                                                        \
	"net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n    gateway: [10.0.0.254]\n" \
	"    vlan: 0\n    mtu: 1500\n  - name: lan\n    device: net_b"
#define PORTS(first, second) \
	"'" first            \
	"'\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n  - name: lan\n    device: '" second "'"

static void test_wrong(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"net_a", "^'packet:'", "ports[0].device: interface name is empty: write"},
		{"net_a", "^packet:a/b", "ports[0].device: interface name 'a/b' is not valid"},
		{"net_a", "^'packet:a234567890123456'",
			"ports[0].device: interface name 'a234567890123456' is too long"},
		{"net_a", "^'packet:e0,queues=65'",
			"ports[0].device: queues=65: must be a number from 1 to 64"},
		{"net_b", "^'packet:e0,iface=e1'",
			"ports[1].device: a packet port has no option 'iface=e1'"},
		{TWO_PORTS, PORTS("packet:e0", "packet:e0,queues=1"),
			"ports[1].device: port 'wan' has the interface e0, too: give all",
			"'packet:e0,queues=1'"},
		{TWO_PORTS, PORTS("packet:e0", "packet:e0"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'packet:e0'\n    addresses: [10.1.0.1-10.1.0.9/16"},
		{TWO_PORTS, PORTS("net_af_packet0,iface=e0", "packet:e0"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'packet:e0'"},
		{"net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n    gateway: "
		 "[10.0.0.254]\n    vlan: 0",
			"'packet:e0'\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n    gateway: "
			"[10.0.0.254]\n    vlan: ^7",
			"ports[0].vlan: the kernel handles the VLANs of e0: write the VLAN's "
			"interface, like packet:e0.7, and remove the key"},
		{TWO_PORTS,
			"'packet:e0'\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n"
			"    vlans:\n      - {id: ^5, addresses: [10.5.0.1/24]}\n"
			"  - name: lan\n    device: net_b",
			"ports[0].vlans[0].id: the kernel handles the VLANs of e0: make this a "
			"separate port with device: packet:"},
		{TWO_PORTS,
			"'packet:e0'\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n"
			"    exception: {name: ^sr0}\n  - name: lan\n    device: net_b",
			"ports[0].exception.name: the kernel has e0, and its packets that "
			"slipring does not take: remove the exception port"},
		{TWO_PORTS,
			"'packet:e0'\n    addresses: [dhcp, slaac, ^dhcp]\n"
			"  - name: lan\n    device: net_b",
			"ports[0].addresses[2]: a port has one 'dhcp': remove the second"},
		{"device: net_a", "bond: {members: [^'packet:e0']}",
			"ports[0].bond.members[0]: 'packet:e0' cannot be a member of a bond"},
	};

	(void)state;
	CHECK(list);
}

// Two ports may have separate interfaces, even if everything else is equal.
static void test_right(void **state)
{
	static const char *const pairs[] = {PORTS("packet:e0", "packet:e1"),
		PORTS("packet:e0", "packet:e0.7"), PORTS("packet:e0", "net_af_packet0,iface=e1"),
		PORTS("packet:e0", "vtap:t0")};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		conf_free(conf_file_changed(TWO_PORTS, pairs[i]));
}

static struct conf *load(const char *listener, const char *more, char error[CONF_ERROR_LEN])
{
	char *device = conf_file_edit("net_a", "'packet:e0'");
	char *text = conf_text_edit(device, FIRST, listener);
	char *all = conf_text_edit(text, "log:", more);
	struct conf *c = conf_file_load(all, strlen(all), error);

	free(device);
	free(text);
	free(all);
	return c;
}

// The kernel handles TCP, and has the address without an exception port.
static void test_streams(void **state)
{
	static const char *const listeners[] = {"  - {transport: tcp, address: 10.0.0.1}\n",
		"  - {transport: tcp, address: all-ipv4}\n"};
	const struct addr a = addr_text("10.0.0.1");
	char error[CONF_ERROR_LEN];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct conf *c = load(listeners[i], "log:", error);

		if (c == NULL)
			fail_msg("%s", error);
		assert_int_equal(c->turn.nb_listeners, 2);
		assert_true(addr_eq(&c->turn.listeners[0].endpoint.addr, &a));
		assert_int_equal(c->turn.listeners[0].transport, TURN_OVER_TCP);
		conf_free(c);
	}
	assert_null(load(listeners[0], "streams: {netns: x}\nlog:", error));
	assert_non_null(strstr(error,
		"port 'wan' shares this address with the kernel in the namespace of the "
		"process: remove streams.netns"));
}

// Only a peers.allow entry for the address itself needs a port on the loopback interface; a network
// does not count.
static void test_beside(void **state)
{
	static const char *const allow[] = {"10.0.0.0/24", "10.0.0.0/24, 10.0.0.9", "10.0.0.1"};
	char error[CONF_ERROR_LEN];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *device = conf_file_edit("net_a", "'packet:e0'");
		char *text = conf_text_edit(device, "10.0.0.0/24, 10.1.0.1-10.1.0.6", allow[i]);
		struct conf *c = conf_file_load(text, strlen(text), error);

		free(device);
		free(text);
		if (c == NULL)
			fail_msg("%s", error);
		assert_int_equal(c->nb_ports, i == 2 ? 3 : 2);
		assert_int_equal(c->turn.local[0].beside, i == 2);
		if (i == 2) {
			assert_string_equal(c->ports[2].name, "lo");
			assert_true(c->ports[2].loopback);
			assert_int_equal(c->ports[2].nb_addresses, 0);
		}
		conf_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_beside),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
