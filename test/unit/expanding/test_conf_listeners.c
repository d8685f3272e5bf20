// SPDX-License-Identifier: BSD-3-Clause
// Listeners on all addresses.
#include <stdio.h>
#include <stdlib.h>

#include "addr_text.h"
#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
// Ports wan (10.0.0.1, fd00::1) and lan (10.1.0.1 to 10.1.0.9); another listener is on fd00::1,
// port 50000
#define FIRST "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
#define SECOND "  - {transport: udp, address: 'fd00::1', port: 50000}\n"

static void assert_at(const struct conf *c, uint32_t i, const char *addr, uint16_t port)
{
	const struct addr a = addr_text(addr);

	assert_true(addr_eq(&c->turn.listeners[i].endpoint.addr, &a));
	assert_int_equal(c->turn.listeners[i].endpoint.port, port);
	assert_int_equal(c->turn.listeners[i].on, TURN_LISTEN_ONE);
}

static void all_is_every_address_of_the_ports(void **state)
{
	struct conf *c = conf_file_changed(FIRST, "  - {address: all}\n");

	assert_int_equal(c->turn.nb_listeners, 2 + 9 + 1);
	assert_at(c, 0, "10.0.0.1", 3478);
	assert_at(c, 1, "fd00::1", 3478);
	assert_at(c, 2, "10.1.0.1", 3478);
	assert_at(c, 10, "10.1.0.9", 3478);
	assert_at(c, 11, "fd00::1", 50000);
	conf_free(c);
}

static void a_family_may_be_chosen(void **state)
{
	struct conf *c = conf_file_changed(FIRST,
		"  - {address: all-ipv4, port: 3479}\n"
		"  - {address: all-ipv6}\n");

	assert_int_equal(c->turn.nb_listeners, 10 + 1 + 1);
	assert_at(c, 0, "10.0.0.1", 3479);
	assert_at(c, 9, "10.1.0.9", 3479);
	assert_at(c, 10, "fd00::1", 3478);
	conf_free(c);
}

// The kernel has the addresses of ports with an exception port.
static void over_tcp_all_are_those_that_the_kernel_has(void **state)
{
	char error[CONF_ERROR_LEN] = "";
	char *text = conf_file_edit("    mtu: 1500\n", "    exception: {name: sr0}\n");
	char *all = conf_text_edit(text, FIRST, "  - {transport: tcp, address: all}\n");
	struct conf *c = conf_file_load(all, strlen(all), error);

	free(text);
	free(all);
	if (c == NULL)
		fail_msg("%s", error);
	assert_int_equal(c->turn.nb_listeners, 2 + 1);
	assert_at(c, 0, "10.0.0.1", 3478);
	assert_at(c, 1, "fd00::1", 3478);
	assert_int_equal(c->turn.listeners[1].transport, TURN_OVER_TCP);
	conf_free(c);
}

static void a_dscp_is_copied_unless_there_is_one(void **state)
{
	static const struct {
		const char *key;
		bool copied;
		uint8_t tos;
	} list[] = {{"", true, 0}, {", dscp: copy", true, 0}, {", dscp: 0", false, 0},
		{", dscp: 46", false, 0xb8}, {", dscp: 63", false, 0xfc}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char text[128];
		struct conf *c;

		snprintf(text, sizeof(text), "  - {address: all-ipv6%s}\n", list[i].key);
		c = conf_file_changed(FIRST, text); // for each address that it expands to
		assert_int_equal(c->turn.listeners[0].dscp == TURN_DSCP_COPY, list[i].copied);
		assert_int_equal(turn_listener_tos(&c->turn.listeners[0]), list[i].tos);
		assert_int_equal(c->turn.listeners[1].dscp, TURN_DSCP_COPY);
		conf_free(c);
	}
}

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		{FIRST, "  - {transport: tcp, address: ^all}\n",
			"listeners[0].address: no port has 'exception' and"},
		{FIRST, "  - {address: ^everything}\n",
			"listeners[0].address: 'everything' is not an IPv4 or IPv6 address"},
		{FIRST, "  - {address: ^[all]}\n",
			"listeners[0].address: must be an address, or all"},
		{FIRST, "  - {address: all}\n  - ^{address: 10.1.0.5}\n",
			"listeners[1]: listeners[0] has this transport, address and port: "
			"remove one"},
		{FIRST, "  - {address: 10.1.0.5}\n  - ^{address: all-ipv4}\n",
			"listeners[1]: listeners[0] has this transport, address and port: "
			"remove one"},
		{FIRST, "  - {transport: ^dtls, address: all}\n",
			"listeners[0].transport: tls.certificate is missing: name the PEM file"},
		{FIRST, "  - {address: 10.0.0.1, dscp: ^64}\n",
			"listeners[0].dscp: must be copy, or a DSCP as a decimal number from 0 "
			"to 63 (EF is 46, AF41 is 34), not '64'"},
		{FIRST, "  - {address: 10.0.0.1, dscp: ^ef}\n",
			"listeners[0].dscp: must be copy, or a DSCP"},
		{FIRST, "  - {address: 10.0.0.1, dscp: ^0xb8}\n",
			"listeners[0].dscp: must be copy, or a DSCP"},
		{FIRST, "  - {address: 10.0.0.1, dscp: ^'46'}\n",
			"listeners[0].dscp: must be copy, or a DSCP"},
		{FIRST, "  - {address: 10.0.0.1, dscp: ^-1}\n",
			"listeners[0].dscp: must be copy, or a DSCP"},
		{FIRST, "  - {address: 10.0.0.1, dscp: ^[46]}\n",
			"listeners[0].dscp: must be copy or a number"},
		// positions after an entry that expands to several listeners
		{SECOND, "  - ^{address: all}\n  - {address: 10.2.0.1}\n",
			"listeners[1]: listeners[0] has this transport, address and port: "
			"remove one"},
		{FIRST, "  - {address: all}\n  - {address: ^10.2.0.1}\n",
			"listeners[1].address: 10.2.0.1 is not an address of any port: add it "
			"to ports[].addresses, or, if the network translates to it, as "
			"'external' of the port's own address"},
	};
	char *text = conf_file_edit("10.1.0.1-10.1.0.9/16", "10.1.0.1-10.1.1.9/16");
	char *all = conf_text_edit(text, FIRST, "  - ^{address: all}\n");
	static const char many[] = "listeners[0]: 268 listeners, with one on each address: at "
				   "most 255 are possible";

	CHECK(list);
	conf_file_refused(all, strlen(all), many);
	free(text);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_every_address_of_the_ports),
		cmocka_unit_test(a_family_may_be_chosen),
		cmocka_unit_test(over_tcp_all_are_those_that_the_kernel_has),
		cmocka_unit_test(a_dscp_is_copied_unless_there_is_one),
		cmocka_unit_test(mistakes_are_told_at_their_places),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
