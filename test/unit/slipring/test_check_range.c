// SPDX-License-Identifier: BSD-3-Clause
// Our ports that the kernel may choose for its own sockets: the messages of --check, and that its
// advice leaves the kernel enough ports.
#include <unistd.h>

#include "check_range.h"
#include "feature_names.h"
#include "heard.h"
#include "test.h"

#define ON "'packet:slipring-none'" // a device for conf_good

static char dir[] = "/tmp/check_range.XXXXXX";

static void put_file(const char *name, const char *text)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

// The messages of --check about c, on a kernel with this port range and these reserved ports.
static struct heard ranges_of(struct conf *c, const char *range, const char *reserved)
{
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	put_file("ip_local_port_range", range);
	put_file("ip_local_reserved_ports", reserved);
	check_range(c, dir, &r);
	conf_free(c);
	return h;
}

static void test_ranges(void **state)
{
	static const struct {
		const char *range, *reserved;
		unsigned int errors;
	} rows[] = {
		{"32768\t60999\n", "\n", 1},
		{"32768\t49151\n", "\n", 0},
		{"32768\t49152\n", "\n", 1},
		{"32768\t60999\n", "49152-65535\n", 0},
		{"32768\t60999\n", "49152-60999\n", 0},
		{"32768\t60999\n", "49152-60998\n", 1},
		{"32768\t60999\n", "49153-65535\n", 1},
		{"32768\t60999\n", "80,8000-9000,49152-65535\n", 0},
		{"32768\t60999\n", "49152-50000,50002-65535\n", 1},
		{"32768\t60999\n", "49152-50000,50001,50002-65535\n", 0},
		{"", "", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard h = ranges_of(load("net_a", ON), rows[i].range, rows[i].reserved);

		if (h.nb[CONF_ERROR] != rows[i].errors || h.nb[CONF_WARNING] != 0)
			fail_msg("row %zu: %s", i, h.text);
	}
	struct heard h = ranges_of(load("net_a", ON), "32768\t60999\n", "8000\n");
	assert_non_null(strstr(h.text, "relay.ports: the kernel gives ports 32768 to 60999"));
	assert_non_null(strstr(h.text,
		"leave it 16384 by `sysctl -w net.ipv4.ip_local_reserved_ports=8000,49152-65535`, "
		"and the same in /etc/sysctl.d"));
}

// The messages of --check about a packet port with these relay ports.
static struct heard relaying(const char *relay, const char *range, const char *reserved)
{
	char ports[64], *text, error[CONF_ERROR_LEN], *on = conf_file_edit("net_a", ON);
	struct conf *c;

	snprintf(ports, sizeof(ports), "  ports: %s\n", relay);
	text = conf_text_edit(on, "  ports: 49152-65535\n", ports);
	c = conf_file_load(text, strlen(text), error);
	free(text);
	free(on);
	return ranges_of(c, range, reserved);
}

#define BY_RANGE(range) "`sysctl -w net.ipv4.ip_local_port_range=\"" range "\"`, and the same in "
#define USUAL "32768\t60999\n"
#define NODE_PORTS "30000-32767" // reserved by another package

// The advice leaves the kernel its own ports, whatever must be excluded.
static void test_ports_left(void **state)
{
	static const char many[] =
		"1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39,41,43,45,"
		"47,49,51,53,55,57,59,61,63,65,67,69,71,73,75,77,79,81,83,85,87,"
		"89,91,93,95,97,99,101,103,105,107,109,111,113\n";
	static const struct {
		const char *relay, *range, *reserved;
		unsigned int errors;
		const char *advice;
	} rows[] = {
		{"32769-65535", USUAL, "\n", 1,
			"leave it 22768 by " BY_RANGE(
				"10001 32768") "/etc/sysctl.d (reserving ours would leave it 1)"},
		{"32769-65535", USUAL, NODE_PORTS "\n", 1,
			"leave it 20000 by " BY_RANGE("10001 32768")},
		{"49152-65535", USUAL, "\n", 1, "leave it 16384 by "},
		{"36864-65535", USUAL, "\n", 1,
			"leave it 4096 by `sysctl -w "
			"net.ipv4.ip_local_reserved_ports=36864-65535`"},
		{"36863-65535", USUAL, "\n", 1, "leave it 26862 by "},
		{"1024-40000", "32768\t40100\n", "\n", 1,
			"leave it 15534 by " BY_RANGE("50002 65535")},
		{"1024-63000", USUAL, "\n", 1,
			"relay ports: reserving ours would leave it 0: make relay.ports smaller, "
			"so that it has 4096 in a row"},
		// a list too long for a line is not suggested in part
		{"49152-65535", USUAL, many, 1,
			"leave it 16384 by adding 49152-65535 to "
			"net.ipv4.ip_local_reserved_ports\n"},
		// the kernel avoids them, and has no ports left
		{"32769-65535", USUAL, "32769-65535\n", 0,
			"relay.ports: the kernel has 1 ports left for its own sockets, DNS clients "
			"for instance: leave it 22768 by " BY_RANGE("10001 32768")},
		{"36864-65535", USUAL, "36864-65535\n", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard h = relaying(rows[i].relay, rows[i].range, rows[i].reserved);

		if (h.nb[CONF_ERROR] != rows[i].errors || strstr(h.text, rows[i].advice) == NULL)
			fail_msg("row %zu: %s", i, h.text);
	}
	struct heard h = relaying("36864-65535", USUAL, "36864-65535\n");
	assert_heard(&h, 0, 0, "");
}

#define LISTENER "  - {transport: udp, address: 10.0.0.1, port: 3478}\n"
#define ALSO(listener) LISTENER "  - {" listener "}\n"
#define RELAYS "10.0.0.1, 'fd00::1', 10.1.0.2-10.1.0.4]\n"
#define TCP(ports) "10.0.0.1]\n  tcp: {enabled: true, ports: " ports "}\n"

// conf_good on an interface, with two further changes.
static struct conf *load_packet(const char *listeners, const char *relays)
{
	char *on = conf_file_edit("net_a", ON),
	     *listening = conf_text_edit(on, LISTENER, listeners);
	char *text = conf_text_edit(listening, RELAYS, relays), error[CONF_ERROR_LEN];
	struct conf *c = conf_file_load(text, strlen(text), error);

	free(on);
	free(listening);
	free(text);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

// The kernel may choose the ports of listeners, and those that relay TCP, as well as relay ports.
static void test_other_ports(void **state)
{
	static const struct {
		const char *listeners, *relays, *range;
		unsigned int warnings;
		const char *place, *list;
	} rows[] = {
		{ALSO("address: 10.0.0.1, port: 40000"), RELAYS, "32768 60999\n", 1,
			"17:31: listeners[1].port: the kernel gives ports 32768 to 60999 to its "
			"own sockets",
			"=80,49152-65535,40000`"},
		{ALSO("address: 10.0.0.1, port: 40000"), RELAYS, "40000 40000\n", 1,
			"listeners[1].port: ", "ip_local_port_range=\"10000 39999\"`"},
		{ALSO("address: 10.0.0.1, port: 40000"), RELAYS, "32768 39999\n", 0, "", ""},
		{ALSO("address: 10.0.0.1, port: 80"), RELAYS, "32 3000\n", 0, "",
			""}, // the kernel excludes that one
		{ALSO("address: 10.0.0.1, port: 4000"), RELAYS, "3000 4000\n", 2,
			"listeners[1].port: ", "ip_local_port_range=\"10000 49151\"`"},
		{ALSO("address: 'fd00::1', port: 3478"), RELAYS, "3478 3478\n", 1,
			"listeners[0].port: ", "ip_local_port_range=\"10000 49151\"`"}, // once
		// on another port, and the kernel's own
		{ALSO("address: 10.1.0.1, port: 40000"), RELAYS, "32768 60999\n", 0, "", ""},
		{ALSO("transport: tcp, address: 10.0.0.1, port: 40000"), RELAYS, "32768 60999\n", 0,
			"", ""},
#ifdef FEATURE_TCP
		{ALSO("transport: tcp, address: 10.0.0.1, port: 40000"), TCP("60000-60999"),
			"32768 60999\n", 0, "", ""}, // among those that the kernel excludes
		{ALSO("transport: tcp, address: 10.0.0.1, port: 40000"), TCP("41000-41999"),
			"32768 60999\n", 1, "21:31: relay.tcp.ports: the kernel gives ports ",
			"=80,49152-65535,41000-41999`"},
#endif
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard h = ranges_of(load_packet(rows[i].listeners, rows[i].relays),
			rows[i].range, "80,49152-65535\n");

		if (h.nb[CONF_ERROR] != 0 || h.nb[CONF_WARNING] != rows[i].warnings ||
			strstr(h.text, rows[i].place) == NULL ||
			strstr(h.text, rows[i].list) == NULL)
			fail_msg("row %zu: %s", i, h.text);
	}
}

static int begin(void **state)
{
	return mkdtemp(dir) == NULL ? -1 : conf_file_open(state);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0 || conf_file_close(state) != 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_ports_left),
		cmocka_unit_test(test_other_ports),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
