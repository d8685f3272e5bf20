// SPDX-License-Identifier: BSD-3-Clause
// Errors of ports and their devices, of addresses, listeners and gateways are refused, with their
// position and key.
#include <stdlib.h>

#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))

#define TWO_PORTS                                                                        \
	"net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n    gateway: [10.0.0.254]\n" \
	"    vlan: 0\n    mtu: 1500\n  - name: lan\n    device: net_b"
#define VTAP_PORTS(first, second) \
	"'" first                 \
	"'\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n  - name: lan\n    device: '" second "'"

static void test_vtap(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"net_a", "^'vtap:'", "ports[0].device: interface name is empty"},
		{"net_a", "^vtap:t0/x", "ports[0].device: interface name 't0/x' may hold"},
		{"net_a", "^'vtap:t0,queues=300'",
			"ports[0].device: queues=300: must be a number from 1 to 64"},
		{"net_b", "^'vtap:t0,offload=lro'",
			"ports[1].device: offload=lro: must be uso, tso, csum or none"},
		{TWO_PORTS, VTAP_PORTS("vtap:t0", "vtap:t0,queues=1"),
			"ports[1].device: port 'wan' has the interface t0, too: remove one",
			"'vtap:t0,queues=1'"},
	};
	char error[CONF_ERROR_LEN];
	char *text = conf_file_edit("net_a", "'vtap:t0,netns=a,role=exception'");
	struct conf *c = conf_file_load(text, strlen(text), error);

	CHECK(list);
	assert_non_null(c);
	assert_string_equal(c->ports[0].device, "vtap:t0,netns=a,role=exception");
	conf_free(c);
	free(text);
	// one name in two namespaces, and two names in one
	for (unsigned int i = 0; i < 2; i++) {
		char replacement[512];

		snprintf(replacement, sizeof(replacement),
			VTAP_PORTS("vtap:t0,netns=a", "vtap:%s,netns=%s"), i == 0 ? "t0" : "t1",
			i == 0 ? "b" : "a");
		text = conf_file_edit(TWO_PORTS, replacement);
		c = conf_file_load(text, strlen(text), error);
		if (c == NULL)
			fail_msg("%s", error);
		conf_free(c);
		free(text);
	}
}

static void test_addresses(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"[10.0.0.1/24,", "[^10.0.0.1,",
			"ports[0].addresses[0]: '10.0.0.1' is not an address or a range with "
			"the prefix length"},
		{"[10.0.0.1/24,", "[^10.0.0.1/33,", "ports[0].addresses[0]: '10.0.0.1/33'"},
		{"[10.0.0.1/24,", "[^10.0.0.1/0,", "ports[0].addresses[0]: '10.0.0.1/0'"},
		{"[10.0.0.1/24,", "[^10.0.0.1/,", "ports[0].addresses[0]: '10.0.0.1/'"},
		{"[10.0.0.1/24,", "[^10.0.0.256/24,", "ports[0].addresses[0]: '10.0.0.256/24'"},
		{"[10.0.0.1/24,", "[^10.0.0.9-10.0.0.1/24,",
			"ports[0].addresses[0]: '10.0.0.9-10.0.0.1/24' is not"},
		{"[10.0.0.1/24,", "[^10.0.0.1-10.0.1.9/24,",
			"ports[0].addresses[0]: the range leaves its subnet"},
		{"[10.0.0.1/24,", "[^10.0.0.0/24,",
			"ports[0].addresses[0]: 10.0.0.0 is the subnet itself: write the "
			"port's address in it"},
		{"[10.0.0.1/24,", "[^10.0.0.255/24,",
			"ports[0].addresses[0]: 10.0.0.255 is the broadcast address of its "
			"subnet: write the port's address"},
		{"[10.0.0.1/24,", "[^127.0.0.1/8,",
			"ports[0].addresses[0]: 127.0.0.1 is a loopback address"},
		{"[10.0.0.1/24,", "[^224.0.0.1/8,",
			"ports[0].addresses[0]: 224.0.0.1 is a multicast address"},
		{"'fd00::1/64']", "^'fe80::1/64']",
			"ports[0].addresses[1]: fe80::1 is a link-local address"},
		{"'fd00::1/64']", "^'64:ff9b::a00:1/96']",
			"ports[0].addresses[1]: 64:ff9b::a00:1 is an embedded IPv4 address"},
		{"10.1.0.1-10.1.0.9/16", "^10.1.0.1-10.1.16.1/16",
			"ports[1].addresses[0]: too many addresses: at most 4096"},
		{"'fd00::1/64']", "^'fd00::1-fd00::ffff:ffff:0:0/64']",
			"ports[0].addresses[1]: too many addresses: at most 4096"},
		{"addresses: [10.0.0.1/24, 'fd00::1/64']", "addresses: ^[]",
			"ports[0].addresses: must not be empty"},
		{"[10.1.0.1-10.1.0.9/16]", "[10.1.0.1-10.1.0.9/16, ^10.1.0.9/16]",
			"ports[1].addresses[1]: 10.1.0.9 is given twice, first at line 14"},
		{"[10.1.0.1-10.1.0.9/16]", "[10.1.0.1-10.1.0.9/16, ^10.0.0.1/8]",
			"ports[1].addresses[1]: 10.0.0.1 is given twice, first at line 8"},
		{"[10.0.0.1, 'fd00::1',", "[10.0.0.1, ^10.0.0.1, 'fd00::1',",
			"relay.addresses[1]: 10.0.0.1 is given twice, first at line 19"},
		{"[10.0.0.1, 'fd00::1',", "[^10.0.0.2, 'fd00::1',",
			"relay.addresses[0]: 10.0.0.2 is not an address of any port: add it to "
			"ports[].addresses, or, if the network translates to it, as 'external' "
			"of the port's own address"},
		{"10.1.0.2-10.1.0.4", "^10.1.0.2-10.1.0.10",
			"relay.addresses[2]: 10.1.0.10 is not an address of any port: add it "
			"to ports[].addresses, or, if the network translates to it, as "
			"'external' of the port's own address"},
		{"10.1.0.2-10.1.0.4", "^10.1.0.1/29",
			"relay.addresses[2]: '10.1.0.1/29' has bits set behind the prefix: "
			"write 10.1.0.0/29"},
		{"10.1.0.2-10.1.0.4", "^10.0.0.0/8",
			"relay.addresses[2]: too many addresses: at most 4096"},
		{"10.1.0.2-10.1.0.4", "^'::/0'",
			"relay.addresses[2]: too many addresses: at most 4096"},
		{"address: 10.0.0.1,", "address: ^0.0.0.0,",
			"listeners[0].address: 0.0.0.0 cannot be the address"},
		{"udp, address: 10.0.0.1,", "tcp, address: ^0.0.0.0,",
			"listeners[0].address: 0.0.0.0 cannot be the address"},
		{"udp, address: 10.0.0.1,", "tls, address: ^'::',",
			"listeners[0].address: :: cannot be the address of a listener"},
		{"address: 10.0.0.1,", "address: ^203.0.113.1,",
			"listeners[0].address: 203.0.113.1 is not an address of any port: add "
			"it to ports[].addresses, or, if the network translates to it, as "
			"'external' of the port's own address"},
		{"address: 10.0.0.1,", "address: ^eth0,",
			"listeners[0].address: 'eth0' is not an IPv4 or IPv6 address"},
		{"{transport: udp, address: 'fd00::1', port: 50000",
			"^{transport: udp, address: 10.0.0.1, port: 3478",
			"listeners[1]: listeners[0] has this transport, address and port: "
			"remove one"},
		{"10.1.0.1-10.1.0.6]", "^10.1.0.6-10.1.0.1]",
			"peers.allow[1]: '10.1.0.6-10.1.0.1' is not an address, a range a-b"},
		{"fd00:1::/32", "fd00::/129", "peers.deny[0]: 'fd00::/129' is not", "'fd00::/129'"},
	};

	CHECK(list);
}

#define HAIRPIN "  hairpin: true\n"

static void test_nat64(void **state)
{
	static const struct conf_file_mistake list[] = {
		{HAIRPIN, "  nat64: [^'2a00:64::/95']\n",
			"peers.nat64[0]: '2a00:64::/95' cannot be a NAT64 prefix: its length "
			"must be 32, 40, 48, 56, 64 or 96, and its bits 64 to 71 zero (RFC 6052)"},
		{HAIRPIN, "  nat64: ['2a00::/32', ^'2a00::/24']\n",
			"peers.nat64[1]: '2a00::/24' cannot be a NAT64 prefix: its length must "
			"be 32, 40, 48, 56, 64 or 96, and its bits 64 to 71 zero (RFC 6052)"},
		{HAIRPIN, "  nat64: [^'2a00::/72']\n",
			"peers.nat64[0]: '2a00::/72' cannot be a NAT64 pref"},
		{HAIRPIN, "  nat64: [^'2a00::/128']\n",
			"peers.nat64[0]: '2a00::/128' cannot be a NAT64"},
		{HAIRPIN, "  nat64: [^'2a00:0:0:0:100::/96']\n",
			"peers.nat64[0]: '2a00:0:0:0:100::/96' cannot be a NAT64 prefix: its "
			"length must be 32, 40, 48, 56, 64 or 96, and its bits 64 to 71 zero "
			"(RFC 6052)"},
		{HAIRPIN, "  nat64: [^'64:ff9b:1::1/48']\n",
			"peers.nat64[0]: '64:ff9b:1::1/48' is not an IPv6 prefix"},
		{HAIRPIN, "  nat64: [^'2a00:64::']\n", "peers.nat64[0]: '2a00:64::' is not"},
		{HAIRPIN, "  nat64: [^10.0.0.0/8]\n", "peers.nat64[0]: '10.0.0.0/8' is not"},
		{HAIRPIN, "  nat64: [^'ff00::/32']\n",
			"peers.nat64[0]: 'ff00::/32' is a multicast address, which cannot be a "
			"NAT64 prefix: write the translator's prefix"},
		{HAIRPIN, "  nat64: [^'fe80::/64']\n",
			"peers.nat64[0]: 'fe80::/64' is a link-local address"},
		{HAIRPIN, "  nat64: ^'2a00::/32'\n", "peers.nat64: must be a list of"},
	};

	CHECK(list);
}

#define LISTENER "  - {transport: udp, address: 10.0.0.1, port: 3478}"

static void test_stream_listeners(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"transport: udp", "transport: ^tls",
			"listeners[0].transport: tls.certificate is missing: name the PEM file"},
		{LISTENER,
			LISTENER "\n  - {transport: tcp, address: 203.0.113.1}\n"
				 "  - ^{transport: tcp, address: 203.0.113.1}",
			"listeners[2]: listeners[1] has this transport, address and port: "
			"remove one"},
		{LISTENER,
			LISTENER "\n  - {transport: tcp, address: 1.2.3.4}\n"
				 "  - {transport: ^auto, address: 1.2.3.4}",
			"listeners[2].transport: tls.certificate is missing: name the PEM file"},
		{"listeners:",
			"tls: {certificate: a, key: b}\nlisteners:\n"
			"  - {transport: tcp, address: 1.2.3.4}\n"
			"  - ^{transport: tls, address: 1.2.3.4, port: 3478}",
			"listeners[1]: listeners[0] has this TCP port: give one entry "
			"transport: auto and remove the other"},
		{"listeners:",
			"tls: {certificate: a}\nlisteners:\n"
			"  - {transport: ^tls, address: 1.2.3.4}",
			"listeners[0].transport: tls.key is missing: name the PEM file"},
		{"transport: udp", "transport: ^dtls",
			"listeners[0].transport: tls.certificate is missing: name the PEM file"},
		{"listeners:\n" LISTENER,
			"tls: {certificate: a, key: b, min-version: 1.3}\nlisteners:\n"
			"  - {transport: ^dtls, address: 10.0.0.1, port: 3478}",
			"listeners[0].transport: tls.min-version is 1.3, and slipring has no "
			"DTLS 1.3: lower it, or remove the listener"},
		{"listeners:\n" LISTENER,
			"tls: {certificate: a, key: b}\nlisteners:\n"
			"  - {transport: dtls, address: ^1.2.3.4}",
			"listeners[0].address: 1.2.3.4 is not an address of any port: add it "
			"to ports[].addresses, or, if the network translates to it, as "
			"'external' of the port's own address"},
		{"listeners:\n" LISTENER,
			"tls: {certificate: a, key: b}\nlisteners:\n" LISTENER "\n"
			"  - {transport: dtls, address: 10.0.0.1}\n"
			"  - ^{transport: dtls, address: 10.0.0.1}",
			"listeners[2]: listeners[1] has this transport, address and port: "
			"remove one"},
		{"listeners:", "tls: {certificate: a, key: b, min-version: ^1.1}\nlisteners:",
			"tls.min-version: '1.1' is not one of: 1.2, 1.3"},
		{"listeners:", "streams: {connections: ^0}\nlisteners:",
			"streams.connections: 0 is out of range"},
		{"listeners:", "streams: {netns: ^../x}\nlisteners:",
			"streams.netns: may hold only letters"},
	};

	CHECK(list);
}

static void test_gateways(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"[10.0.0.254]", "[^10.0.1.254]",
			"ports[0].gateway[0]: 10.0.1.254 is not on-link: write an address in a "
			"subnet of this port (any address is possible only if all addresses of "
			"the port's family are /"},
		{"[10.0.0.254]", "[10.0.0.254, ^10.0.0.253]",
			"ports[0].gateway[1]: 10.0.0.253 is a second IPv4 gateway, and a port "
			"has one per family: remove one"},
		{"[10.0.0.254]", "['fd00::fe', ^'fd00::fd']",
			"ports[0].gateway[1]: fd00::fd is a second IPv6 gateway, and a port "
			"has one per family: remove one"},
		{"[10.0.0.254]", "[10.0.0.252, 10.0.0.253, ^10.0.0.254]",
			"ports[0].gateway[2]: too many addresses: at most 2 are allowed in all"},
		{"[10.0.0.254]", "[^10.0.0.255]",
			"ports[0].gateway[0]: 10.0.0.255 is the broadcast address of its "
			"subnet: write the router's address"},
		{"[10.0.0.254]", "[^10.0.0.1]",
			"ports[0].gateway[0]: 10.0.0.1 is an address of this box: write the "
			"router's address"},
		{"[10.0.0.254]", "[^router]", "ports[0].gateway[0]: 'router' is not an address"},
		// a single address may have its router anywhere, but only if all addresses are
		// single
		{"10.0.0.1/24, 'fd00::1/64']\n    gateway: [10.0.0.254]",
			"10.0.0.1/32, 10.0.2.1/24, 'fd00::1/64']\n    gateway: [^10.0.0.254]",
			"ports[0].gateway[0]: 10.0.0.254 is not on-link: write an address in a "
			"subnet of this port (any address is possible only if all addresses of "
			"the port's family are /32)"},
		{"10.0.0.1/24, 'fd00::1/64']\n    gateway: [10.0.0.254]",
			"10.0.0.1/32, 'fd00::1/64']\n    gateway: [^'fd02::1']",
			"ports[0].gateway[0]: fd02::1 is not on-link: write an address in a "
			"subnet of this port (any address is possible only if all addresses of "
			"the port's family are /"},
		{"10.0.0.1/24, 'fd00::1/64']\n    gateway: [10.0.0.254]",
			"10.0.0.1/32, 'fd00::1/64']\n    gateway: [^10.0.0.1]",
			"ports[0].gateway[0]: 10.0.0.1 is an address of this box: write the "
			"router's address"},
		// on-link on the other port does not suffice
		{"[10.0.0.254]", "[^10.1.0.254]",
			"ports[0].gateway[0]: 10.1.0.254 is not on-link: write an address in a "
			"subnet of this port (any address is possible only if all addresses of "
			"the port's family are /"},
	};

	CHECK(list);
}

static void test_ports_and_eal(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"name: lan", "name: ^wan", "ports[1].name: another port has the name 'wan'"},
		{"name: lan", "name: ^'l n'", "ports[1].name: may hold only letters"},
		{"device: net_b", "device: ^net_a",
			"ports[1].device: port 'wan' has this device, too: remove one"},
		{TWO_PORTS, VTAP_PORTS("0000:3b:00.0", "3B:00.0"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'3B:00.0'"},
		{TWO_PORTS, VTAP_PORTS("3b:00.0,x=1", "0:3b:0.0,x=2"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'0:3b:0.0"},
		{TWO_PORTS,
			VTAP_PORTS("3b:00.0,mac=02:00:00:00:00:01",
				"3b:00.0,x=1,mac=02:00:00:00:00:01"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'3b:00.0,x=1"},
		{TWO_PORTS, VTAP_PORTS("net_tap0,iface=a", "net_tap0,iface=b"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'net_tap0,iface=b'"},
		{TWO_PORTS,
			VTAP_PORTS("net_af_packet0,iface=e1", "net_af_packet1,qpairs=2,iface=e1"),
			"ports[1].device: port 'wan' has this device, too: remove one",
			"'net_af_packet1"},
		{"device: net_b", "device: ^''", "ports[1].device: must not be empty"},
		{"0@(0-1),1@0,2@1", "^0@0,1@1",
			"eal.lcores: names 2 lcores, 3 are needed: name one for management and "
			"one for each of "},
		{"0@(0-1),1@0,2@1", "^(0,0,1)",
			"eal.lcores: names 2 lcores, 3 are needed: name one for management and "
			"one for each of "},
		{"0@(0-1),1@0,2@1", "^0@(0-1,1@0", "eal.lcores: must be a list of lcores"},
		{"0@(0-1),1@0,2@1", "^0-", "eal.lcores: must be a list of lcores"},
		{"0@(0-1),1@0,2@1", "^0,,2", "eal.lcores: must be a list of lcores"},
		{"0@(0-1),1@0,2@1", "^0-99999999999999999999", "eal.lcores: must be a list of"},
		{"args: []", "args: [--no-huge, ^-l, 0-1]",
			"eal.args[1]: key eal.lcores sets it: use that instead of -l"},
		{"args: []", "args: [^--file-prefix=x]",
			"eal.args[0]: key eal.file-prefix sets it: use that instead of "
			"--file-prefix"},
		{"args: []", "file-prefix: ^a/b", "eal.file-prefix: may hold only letters"},
		{"listeners:\n  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
		 "  - {transport: udp, address: 'fd00::1', port: 50000}\n",
			"listeners: ^[]\n", "listeners: has 0 entries: write from 1 to "},
	};

	CHECK(list);
}

// Some drivers make several devices from one NIC, distinguished by an argument.
static void test_devices_alike(void **state)
{
	static const char *const pairs[] = {VTAP_PORTS("3b:00.0", "3b:00.1"),
		VTAP_PORTS("3b:00.0", "1:3b:00.0"),
		VTAP_PORTS("3b:00.0,mac=02:00:00:00:00:01", "3b:00.0,mac=02:00:00:00:00:02"),
		VTAP_PORTS("3b:00.0,port=0", "3b:00.0,port=1"),
		VTAP_PORTS("3b:00.0", "3b:00.0,representor=0"),
		VTAP_PORTS("3b:00.0,representor=0", "3b:00.0,representor=01"),
		VTAP_PORTS("net_af_packet0,iface=e1", "net_af_packet1,iface=e10"),
		VTAP_PORTS("net_tap0,iface=e1", "net_tap1,iface=e2")};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		conf_free(conf_file_changed(TWO_PORTS, pairs[i]));
}

static void test_devices(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"net_a", "^eth1", "ports[0].device: 'eth1' is not a device. For an interface"},
		{"net_a", "^enp3s0f0np0", "ports[0].device: 'enp3s0f0np0' is not a device"},
		{"net_a", "^'eth1,queues=2'", "ports[0].device: 'eth1' is not a device"},
		{"net_a", "^0000:3b:00", "ports[0].device: '0000:3b:00' is not a PCI add"},
		{"net_a", "^0000:3b:00:0", "ports[0].device: '0000:3b:00:0' is not a PCI add"},
		{"net_a", "^0000:3b:20.0", "ports[0].device: '0000:3b:20.0' is not a PCI add"},
		{"net_a", "^0000:3b:00.8", "ports[0].device: '0000:3b:00.8' is not a PCI add"},
		{"net_a", "^0000:3b:00.10", "ports[0].device: '0000:3b:00.10' is not a PCI add"},
		{"net_a", "^'3b:00.0:0000'", "ports[0].device: '3b:00.0:0000' is not a PCI add"},
		{"net_a", "^'0000:3b:,x=1'", "ports[0].device: '0000:3b:' is not a PCI add"},
	};
	static const char *const good[] = {"0000:3b:00.0", "3b:00.1", "'0000:3b:1f.7,mprq_en=1'",
		"10000:01:00.0", "0000:AF:00.0", "'net_af_packet0,iface=eth1'", "virtio_user0",
		"'replay:bench'", "'auxiliary:mlx5_core.sf.4'",
		"7ed5d1e2-5d20-4b4e-a0c5-2a2f6b1f0c11"};

	CHECK(list);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char *text = conf_file_edit("net_a", good[i]), error[CONF_ERROR_LEN];
		struct conf *c = conf_file_load(text, strlen(text), error);

		if (c == NULL)
			fail_msg("%s: %s", good[i], error);
		conf_free(c);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vtap),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_nat64),
		cmocka_unit_test(test_stream_listeners),
		cmocka_unit_test(test_gateways),
		cmocka_unit_test(test_ports_and_eal),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_devices_alike),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
