// SPDX-License-Identifier: BSD-3-Clause
// Exception ports in the file: their settings, and refused values.
#include <netinet/in.h>
#include <stdlib.h>

#include "conf_file.h"
#include "test.h"

// Replaces the first port's " vlan: 0".
#define AT "vlan: 0"

static struct conf *load(const char *piece, const char *replacement, char error[CONF_ERROR_LEN])
{
	char *text = conf_file_edit(piece, replacement);
	struct conf *c = conf_file_load(text, strlen(text), error);

	free(text);
	return c;
}

static void test_the_section_belongs_to_its_port(void **state)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = load(AT, "exception: {name: sr0}", error);

	if (c == NULL)
		fail_msg("%s", error);
	assert_string_equal(c->ports[0].exception.name, "sr0");
	assert_null(c->ports[1].exception.name);
	conf_free(c);
}

static void test_each_key_is_taken(void **state)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = load(AT, "exception: {name: sr0, netns: host}\n    uso: off", error);
	const struct conf_exception *e;

	if (c == NULL)
		fail_msg("%s", error);
	e = &c->ports[0].exception;
	assert_string_equal(e->name, "sr0");
	assert_string_equal(e->netns, "host");
	assert_null(e->device);
	assert_int_equal(e->rate, 100000);
	assert_int_equal(e->buffers, 512);
	assert_int_equal(e->client_lo, 32768);
	assert_int_equal(e->client_hi, 60999);
	assert_int_equal(e->tso, CONF_USO_OFF);
	conf_free(c);
}

static void test_services_are_taken_in_their_order(void **state)
{
	static const struct conf_service want[] = {{IPPROTO_TCP, false, 22},
		{IPPROTO_TCP, true, 179}, {IPPROTO_UDP, false, 65535}, {IPPROTO_UDP, true, 53},
		{IPPROTO_ICMP, false, 0}, {IPPROTO_ICMP, true, 0}};
	char error[CONF_ERROR_LEN];
	struct conf *c = load(AT,
		"exception: {name: sr0,"
		" allow: [tcp/22, tcp-to/179, udp/65535, udp-to/53, icmp, icmp-to]}",
		error);
	const struct conf_exception *e;

	if (c == NULL)
		fail_msg("%s", error);
	e = &c->ports[0].exception;
	assert_int_equal(e->nb_allow, sizeof(want) / sizeof(want[0]));
	for (uint32_t i = 0; i < e->nb_allow; i++) {
		assert_int_equal(e->allow[i].proto, want[i].proto);
		assert_int_equal(e->allow[i].away, want[i].away);
		assert_int_equal(e->allow[i].port, want[i].port);
	}
	conf_free(c);
}

// No exception ports without the section, nor if all of its lines are commented out; else the
// defaults.
static void test_defaults(void **state)
{
	char error[CONF_ERROR_LEN];
	struct conf *c = load(AT, "vlan: 0", error);

	assert_non_null(c);
	assert_null(c->ports[0].exception.name);
	conf_free(c);
	c = load(AT, "exception: # nothing", error);
	assert_non_null(c);
	assert_null(c->ports[0].exception.name);
	conf_free(c);
	c = load(AT, "exception: {name: sr0}", error);
	assert_non_null(c);
	assert_null(c->ports[0].exception.netns);
	assert_int_equal(c->ports[0].exception.nb_allow, 0);
	assert_int_equal(c->ports[0].exception.rate, 100000);
	assert_int_equal(c->ports[0].exception.buffers, 512);
	assert_int_equal(c->ports[0].exception.client_lo, 32768);
	assert_int_equal(c->ports[0].exception.client_hi, 60999);
	assert_int_equal(c->ports[0].exception.tso, CONF_USO_AUTO);
	conf_free(c);
	// with equal names, but in two namespaces
	c = load("net_b", "net_b\n    exception: {name: t0, netns: a}", error);
	assert_non_null(c);
	conf_free(c);
}

#define ALLOW(list) AT, "exception: {name: sr0, allow: [" list "]}"
#define NONE_OF "ports[0].exception.allow[0]: '"
#define TWO(first, second)                                             \
	"net_a\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n"          \
	"    gateway: [10.0.0.254]\n    vlan: 0\n    mtu: 1500\n"      \
	"  - name: lan\n    device: net_b",                            \
		first "\n    addresses: [10.0.0.1/24, 'fd00::1/64']\n" \
		      "  - name: lan\n    device: net_b\n    exception: " second

static void test_refused(void **state)
{
	static const struct conf_file_mistake list[] = {
		{ALLOW("^ssh"), NONE_OF "ssh' is not a service: write tcp/PORT, tcp-to"},
		{ALLOW("^TCP/22"), NONE_OF "TCP/22' is not a service"},
		{ALLOW("^/22"), NONE_OF "/22' is not a service"},
		{ALLOW("^tcp-/22"), NONE_OF "tcp-/22' is not a service"},
		{ALLOW("^tcp"), "ports[0].exception.allow[0]: the port is missing: write tcp/PORT"},
		{ALLOW("^tcp/"), NONE_OF "tcp/' has no port from 1 to 65535"},
		{ALLOW("^tcp/0"), NONE_OF "tcp/0' has no port"},
		{ALLOW("^tcp/022"), NONE_OF "tcp/022' has no port"},
		{ALLOW("^tcp/65536"), NONE_OF "tcp/65536' has no port"},
		{ALLOW("^tcp/4294967318"), NONE_OF "tcp/4294967318' has no port"},
		{ALLOW("^tcp/22/23"), NONE_OF "tcp/22/23' has no port"},
		{ALLOW("^udp/-1"), NONE_OF "udp/-1' has no port"},
		{ALLOW("^icmp/8"), "ports[0].exception.allow[0]: ICMP has no ports"},
		{ALLOW("tcp/1, ^~"), "ports[0].exception.allow[1]: has no value"},
		{AT, "exception: ^{allow: [icmp]}", "ports[0].exception.name: missing"},
		{AT, "exception: ^sr0", "ports[0].exception: must be a mapping"},
		{AT, "exception: {name: ^a123456789012345}",
			"ports[0].exception.name: has 16 bytes, at most 15 are allowed: "
			"shorten it"},
		{AT, "exception: {name: ^a/b}", "ports[0].exception.name: may hold only"},
		{AT, "exception: {name: ^'..'}",
			"ports[0].exception.name: '..' cannot be the name of an interface: "
			"choose another"},
		{AT, "exception: {name: sr0, ^alow: []}",
			"ports[0].exception.alow: unknown key, did you mean 'allow'?"},
		{AT, "exception: {name: sr0, device: ^'vtap:x'}",
			"ports[0].exception.device: without this key the exception port is a "
			"vtap: remove it"},
		{AT, "exception: {name: sr0, netns: ^a, device: virtio_user0}",
			"ports[0].exception.netns: a DPDK device makes its interface in the "
			"namespace of the process: remove netns, or the device"},
		{TWO("'vtap:t0,netns=a'", "{name: ^t0, netns: a}"),
			"ports[1].exception.name: port 'wan' is a vtap with this interface "
			"name: choose another"},
		{TWO("net_a\n    exception: {name: t0, netns: a}", "{name: ^t0, netns: a}"),
			"ports[1].exception.name: the exception port of port 'wan' has this "
			"name: choose another"},
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

// A connection to an address of a port reaches the kernel through an exception port.
static void test_streams_of_ports(void **state)
{
	static const char listener[] = "  - {transport: udp, address: 10.0.0.1, port: 3478}";
	static const char tcp[] = "  - {transport: tcp, address: 10.0.0.1}";
	static const char marked[] = "  - {transport: tcp, address: ^10.0.0.1}";
	char *text = conf_file_edit(listener, marked), *changed, error[CONF_ERROR_LEN];
	struct conf *c;

	conf_file_refused(text, strlen(text),
		"listeners[0].address: TCP needs this address in the kernel, and port 'wan' "
		"has no exception port for it: add exception: {name: sr0} to the port");
	changed = conf_text_edit(text, "    vlan: 0\n", "    exception: {name: sr0, netns: ns}\n");
	conf_file_refused(changed, strlen(changed),
		"listeners[0].address: port 'wan' gives the kernel this address in namespace "
		"'ns', and streams.netns is '': make them the same");
	free(changed);
	free(text);
	text = conf_file_edit(listener, tcp);
	changed = conf_text_edit(text, "    vlan: 0\n", "    exception: {name: sr0}\n");
	c = conf_file_load(changed, strlen(changed), error);
	if (c == NULL)
		fail_msg("%s", error);
	conf_free(c);
	free(changed);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_section_belongs_to_its_port),
		cmocka_unit_test(test_each_key_is_taken),
		cmocka_unit_test(test_services_are_taken_in_their_order),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_streams_of_ports),
	};

	return cmocka_run_group_tests(tests, conf_file_open, NULL);
}
