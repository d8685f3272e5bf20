// SPDX-License-Identifier: BSD-3-Clause
// ports[].bond: several devices as one port.
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define DEVICE "    device: net_a\n"
#define TWO "'0000:3b:00.0', '0000:3b:00.1,x=1'"

static struct conf *load(const char *replacement)
{
	return conf_file_changed(DEVICE, replacement);
}

static void a_bond_takes_the_place_of_the_device(void **state)
{
	struct conf *c = load("    bond: {members: [" TWO "]}\n");
	const struct conf_port *p = &c->ports[0];

	assert_int_equal(p->bond.mode, CONF_BOND_LACP);
	assert_null(p->bond.primary);
	assert_string_equal(p->device, "bond:wan");
	assert_int_equal(conf_port_devices(p), 2);
	assert_string_equal(conf_port_device(p, 0), "0000:3b:00.0");
	assert_string_equal(conf_port_device(p, 1), "0000:3b:00.1,x=1");
	assert_int_equal(conf_port_devices(&c->ports[1]), 1);
	assert_string_equal(conf_port_device(&c->ports[1], 0), "net_b");
	conf_free(c);
}

static void a_mode_and_a_preferred_member_may_be_given(void **state)
{
	struct conf *c = load("    bond: {members: [" TWO
			      "], mode: active-backup, primary: '0000:3b:00.1,x=1'}\n");

	assert_int_equal(c->ports[0].bond.mode, CONF_BOND_ACTIVE_BACKUP);
	assert_string_equal(c->ports[0].bond.primary, "0000:3b:00.1,x=1");
	assert_int_equal(conf_bond_primary(&c->ports[0].bond), 1);
	conf_free(c);
	c = load("    bond: {members: [net_tap0], mode: balance}\n");
	assert_int_equal(c->ports[0].bond.mode, CONF_BOND_BALANCE);
	assert_int_equal(conf_bond_primary(&c->ports[0].bond), -1);
	conf_free(c);
}

// The preferred member may be named in any spelling.
static void a_preferred_member_may_be_spelled_in_other_ways(void **state)
{
	static const struct {
		const char *members, *primary;
		int want;
	} list[] = {
		{TWO, "0000:3b:00.1,x=1", 1},
		{TWO, "3b:00.1", 1},
		{TWO, "0:3B:00.0,y=2", 0},
		{"'3b:00.0', '0000:3B:0.1'", "0000:3b:00.1", 1},
		{"'net_tap0,iface=a', 'net_tap1,iface=b'", "net_tap1", 1},
		{"'net_af_packet0,iface=a', 'net_af_packet1,iface=b'", "net_af_packet0", 0},
		// one NIC, distinguished by an argument
		{"'3b:00.0,mac=02:00:00:00:00:01', '3b:00.0,mac=02:00:00:00:00:02'",
			"0000:3b:00.0,mac=02:00:00:00:00:02", 1},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char text[256];
		struct conf *c;

		snprintf(text, sizeof(text),
			"    bond: {members: [%s], mode: active-backup, primary: '%s'}\n",
			list[i].members, list[i].primary);
		c = load(text);
		assert_int_equal(conf_bond_primary(&c->ports[0].bond), list[i].want);
		conf_free(c);
	}
}

#define VLANS                                                    \
	"    vlans:\n"                                           \
	"      - {id: 7, addresses: [10.7.0.1/24], mtu: 1400}\n" \
	"      - {id: 8, addresses: [dhcp], exception: {name: sr8}}\n"

// VLANs use the device of their port, which may be a bond.
static void a_bond_may_have_vlans(void **state)
{
	struct conf *c = load("    bond: {members: [" TWO "], mode: active-backup}\n" VLANS);

	assert_int_equal(c->nb_ports, 4);
	assert_int_equal(conf_port_devices(&c->ports[0]), 2);
	for (unsigned int i = 2; i < 4; i++) {
		assert_true(c->ports[i].shares);
		assert_int_equal(c->ports[i].on, 0);
		assert_int_equal(c->ports[i].bond.nb_members, 0);
		assert_int_equal(conf_port_devices(&c->ports[i]), 0);
		assert_string_equal(c->ports[i].device, "bond:wan");
	}
	assert_int_equal(c->ports[2].mtu, 1400);
	conf_free(c);
}

// Learned addresses are checked as if they were in the file: the whole file is checked again.
static void addresses_of_a_bond_may_be_learned(void **state)
{
	char *text = conf_file_edit("    gateway: [10.0.0.254]\n", "    exception: {name: sr0}\n");
	char *learns = conf_text_edit(
		text, DEVICE "    addresses: [10.0.0.1/24,", DEVICE "    addresses: [dhcp,");
	char *bond = conf_text_edit(learns, DEVICE, "    bond: {members: [" TWO "]}\n" VLANS);
	char *listen = conf_text_edit(bond, "address: 10.0.0.1,", "address: all-ipv4,");
	char *all = conf_text_edit(listen, "[10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]", "all");
	char error[CONF_ERROR_LEN] = "";
	struct conf *c = conf_file_load(all, strlen(all), error);
	const struct conf_learned l[] = {
		{.port = 0, .addr = addr_text("10.20.0.9"), .prefix_len = 120},
		{.port = 3, .addr = addr_text("10.8.0.9"), .prefix_len = 120},
	};

	if (c == NULL)
		fail_msg("%s", error);
	if (conf_resolve(c, l, 2, NULL, error) != 0)
		fail_msg("%s", error);
	assert_false(conf_pending(c));
	assert_string_equal(c->ports[0].device, "bond:wan");
	assert_addr(&c->ports[0].addresses[0].addr, "10.20.0.9");
	assert_addr(&c->ports[3].addresses[0].addr, "10.8.0.9");
	conf_free(c);
	free(all);
	free(listen);
	free(bond);
	free(learns);
	free(text);
}

#define WRONG(bond, error)                            \
	{                                             \
		DEVICE, "    bond: " bond "\n", error \
	}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{DEVICE, "    bond: {}\n",
			"ports[0].device: missing, give it text, or several devices as", "name:"},
		// whatever else needs the device
		{DEVICE, VLANS, "ports[0].device: missing, give it text, or several", "name:"},
		{DEVICE, "    exception: {name: sr0}\n", "ports[0].device: missing, give it",
			"name:"},
		{DEVICE, "    bond: ^{mode: lacp}\n    exception: {name: sr0}\n",
			"ports[0].bond.members: missing, give it a list"},
		{DEVICE, "    bond: {primary: ^net_c}\n" VLANS,
			"ports[0].bond.primary: the bond has no members"},
		{DEVICE, DEVICE "    bond: {members: [net_c]}\n" VLANS,
			"ports[0].device: the port has a bond, too: remove one of the two",
			"net_a"},
		WRONG("^{mode: lacp}", "ports[0].bond.members: missing, give it a list"),
		WRONG("{members: ^[]}", "ports[0].bond.members: "),
		WRONG("{primary: ^net_c}", "ports[0].bond.primary: the bond has no members"),
		WRONG("{members: [net_c], mode: ^802.3ad}",
			"ports[0].bond.mode: '802.3ad' is not one of: lacp, active-backup, "
			"balance"),
		WRONG("{members: [net_c, net_d, ^net_c]}",
			"ports[0].bond.members[2]: is in this bond twice: remove one"),
		WRONG("{members: ['0000:3b:00.0', ^'3B:00.0,x=2']}",
			"ports[0].bond.members[1]: is in this bond twice: remove one"),
		WRONG("{members: ['3b:00.0,mac=02:00:00:00:00:01', "
		      "^'0:3b:0.0,mac=02:00:00:00:00:01']}",
			"ports[0].bond.members[1]: is in this bond twice: remove one"),
		WRONG("{members: ['net_af_packet0,iface=e1', ^'net_af_packet1,qpairs=2,iface=e1']}",
			"ports[0].bond.members[1]: is in this bond twice: remove one"),
		WRONG("{members: [net_c, ^net_b]}",
			"ports[0].bond.members[1]: port 'lan' has this device, too: remove one"),
		WRONG("{members: [^'vtap:t0']}",
			"ports[0].bond.members[0]: 'vtap:t0' cannot be a member of a bond"),
		WRONG("{members: [^eth1]}", "ports[0].bond.members[0]: 'eth1' is not a device"),
		WRONG("{members: [^net_bonding0]}",
			"ports[0].bond.members[0]: a bond is written in place of"),
		WRONG("{members: [net_c, net_d], primary: ^net_c}",
			"ports[0].bond.primary: all links of a bond in this mode carry"),
		WRONG("{members: [net_c, net_d], mode: active-backup, primary: ^net_e}",
			"ports[0].bond.primary: is not a member of the bond: name a member"),
		WRONG("{members: ['3b:00.0,mac=02:00:00:00:00:01'], mode: active-backup, primary: "
		      "^'3b:00.0'}",
			"ports[0].bond.primary: is not a member of the bond: name a member"),
		{DEVICE, DEVICE "    bond: {members: [net_c]}\n",
			"ports[0].device: the port has a bond, too: remove one of the two",
			"net_a"},
		{"net_a", "^'net_bonding0,mode=4,slave=0000:3b:00.0'",
			"ports[0].device: a bond is written in place of 'device'"},
		{"net_b", "^'bond:lan'", "ports[1].device: a bond is written in place"},
	};

	CHECK(list);
}

static void a_device_is_in_one_bond(void **state)
{
	static const char two[] = "net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n    gateway: "
				  "[10.0.0.254]\n    vlan: 0\n    mtu: 1500\n  - name: lan\n    "
				  "device: net_b";
	static const struct conf_file_mistake list[] = {
		{two,
			"net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n  - name: lan\n    "
			"bond: {members: [net_c, ^net_a]}",
			"ports[1].bond.members[1]: port 'wan' has this device, too: remove one"},
		{"device: net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n    gateway: "
		 "[10.0.0.254]\n    vlan: 0\n    mtu: 1500\n  - name: lan\n    device: net_b",
			"bond: {members: [net_c, net_d]}\n    addresses: [10.0.0.1/24, "
			"'fd00::1/64']\n  - name: lan\n    bond: {members: [net_e, ^net_d]}",
			"ports[1].bond.members[1]: port 'wan' has this device, too: remove one"},
	};

	CHECK(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bond_takes_the_place_of_the_device),
		cmocka_unit_test(a_mode_and_a_preferred_member_may_be_given),
		cmocka_unit_test(a_preferred_member_may_be_spelled_in_other_ways),
		cmocka_unit_test(a_bond_may_have_vlans),
		cmocka_unit_test(addresses_of_a_bond_may_be_learned),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(a_device_is_in_one_bond),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
