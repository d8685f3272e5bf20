// SPDX-License-Identifier: BSD-3-Clause
// Conflicts between a configuration and a machine. The tests make up the parts of the machine.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_config.h>
#include <rte_version.h>

#include "check.h"
#include "check_packet.h"
#include "check_said.h"
#include "check_taken.h"
#include "conf_file.h"
#include "heard.h"
#include "test.h"

static char dir[] = "/tmp/check.XXXXXX";

// --- a simulated /sys ----------------------------------------------------------------------------

__attribute__((format(printf, 1, 2))) static char *path(const char *fmt, ...)
{
	static char text[256];
	va_list ap;
	int n = snprintf(text, sizeof(text), "%s/", dir);

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	return text;
}

static void make_cpu(unsigned int i, bool online)
{
	FILE *f;

	assert_int_equal(mkdir(path("cpu%u", i), 0700), 0);
	if (!online)
		return;
	assert_int_equal(mkdir(path("cpu%u/topology", i), 0700), 0);
	f = fopen(path("cpu%u/topology/core_id", i), "w");
	assert_non_null(f);
	fclose(f);
}

static void make_pci(const char *bdf, const char *driver)
{
	char target[128];

	assert_int_equal(mkdir(path("%s", bdf), 0700), 0);
	snprintf(target, sizeof(target), "../../bus/pci/drivers/%s", driver != NULL ? driver : "");
	if (driver != NULL)
		assert_int_equal(symlink(target, path("%s/driver", bdf)), 0);
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(path("%s", name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int begin(void **state)
{
	// CPUs 0 to 3, of which 2 is offline
	if (mkdtemp(dir) == NULL || conf_file_open(state) != 0)
		return -1;
	for (unsigned int i = 0; i < 4; i++)
		make_cpu(i, i != 2);
	make_pci("0000:3b:00.0", "ixgbe");
	make_pci("0000:3b:00.1", "vfio-pci");
	make_pci("0000:3b:00.2", NULL);
	make_pci("0000:3b:00.3", "mlx5_core");
	return 0;
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) != 0 || conf_file_close(state) != 0 ? -1 : 0;
}

// --- tests ---------------------------------------------------------------------------------------

static struct heard lcores(const char *text)
{
	struct conf *c = load("0@(0-1),1@0,2@1", text);
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	check_lcores(c, dir, &r);
	conf_free(c);
	return h;
}

static void test_lcores(void **state)
{
	struct heard h = lcores("0@0,1@0,2@0");

	assert_heard(&h, 0, 0, "");
	h = lcores("0@0,1@(0,4),2@0");
	assert_heard(&h, 1, 0,
		"2:11: eal.lcores: there is no CPU 4 on this machine, which has 3: name CPUs that "
		"`lscpu -e` shows as online, or leave the key out");
	// offline
	h = lcores("0@0,1@2,2@0");
	assert_heard(&h, 1, 0, "2:11: eal.lcores: there is no CPU 2 on this machine");
	// without '@' lcores are CPUs
	h = lcores("0-4");
	assert_heard(&h, 1, 0, "2:11: eal.lcores: there is no CPU 2 on this machine");
}

// DPDK's number of lcores is fixed when it is built: 128 for Debian's x86-64, 256 for its arm64.
// The last number is valid, the next is not.
static void test_lcore_numbers(void **state)
{
	char text[64], wanted[128];
	struct heard h;

	snprintf(text, sizeof(text), "0@0,1@0,%d@0", RTE_MAX_LCORE - 1);
	h = lcores(text);
	assert_heard(&h, 0, 0, "");
	snprintf(text, sizeof(text), "0@0,1@0,%d@0", RTE_MAX_LCORE);
	snprintf(wanted, sizeof(wanted),
		"2:11: eal.lcores: there is no lcore %d, DPDK has 0 to %d: name the CPU after an "
		"'@', like 1@%d",
		RTE_MAX_LCORE, RTE_MAX_LCORE - 1, RTE_MAX_LCORE);
	h = lcores(text);
	assert_heard(&h, 1, 0, wanted);
}

static void test_affinity(void **state)
{
	cpu_set_t before, none;
	struct heard h;
	bool fits;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	fits = CPU_ISSET(0, &before) && CPU_ISSET(1, &before);
	if (!fits)
		skip();
	CPU_ZERO(&none);
	CPU_SET(1, &none);
	assert_int_equal(sched_setaffinity(0, sizeof(none), &none), 0);
	h = lcores("0@1,1@0,2@1");
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_heard(&h, 0, 1, "2:11: eal.lcores: CPU 0 is not among those that this process may");
}

static void test_drivers(void **state)
{
	struct conf *c = load("workers:", "drivers: /nonexistent/d\nworkers:");
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	assert_false(check_drivers(c, &r));
	assert_heard(&h, 1, 0,
		"4:10: drivers: /nonexistent/d: No such file or directory: name the directory of "
		"driver profiles, or leave the key out\n");
	conf_free(c);
	for (unsigned int i = 0; i < 3; i++) {
		static const char *const good[] = {
			"workers:", "drivers: /\nworkers:", "drivers: ''\nworkers:"};

		c = load("workers:", good[i]);
		assert_true(check_drivers(c, &r));
		conf_free(c);
	}
	assert_int_equal(h.nb[CONF_ERROR], 1);
}

static struct heard device(const char *text)
{
	struct conf *c = load("net_a", text);
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	check_devices(c, dir, &r);
	conf_free(c);
	return h;
}

static void test_devices(void **state)
{
	struct heard h = device("0000:3b:00.1");

	assert_heard(&h, 0, 0, "");
	h = device("0000:3b:00.3");
	assert_heard(&h, 0, 0, "");
	h = device("0000:3b:00.0");
	assert_heard(&h, 0, 1,
		"7:13: ports[0].device: 0000:3b:00.0 is bound to the kernel's driver ixgbe: most "
		"NICs need `dpdk-devbind.py -b vfio-pci 0000:3b:00.0`");
	h = device("'3b:00.2,x=1'");
	assert_heard(
		&h, 0, 1, "7:13: ports[0].device: 0000:3b:00.2 is bound to no driver: most NICs");
	h = device("0000:af:00.0");
	assert_heard(&h, 0, 1,
		"7:13: ports[0].device: there is no PCI device 0000:af:00.0 on this machine");
	// a message about a device appears once, whatever VLANs it carries
	h = device("0000:af:00.0\n    vlans: [{id: 5, addresses: [10.5.0.1/24]}]");
	assert_heard(&h, 0, 1, "7:13: ports[0].device: there is no PCI device 0000:af:00.0");
	h = device("net_null0");
	assert_heard(&h, 0, 0, "");
	h = device("'net_af_packet0,iface=eth1,qpairs=1'");
	assert_heard(&h, 0, 0, "");
	h = device("'net_af_packet0,iface=eth1'");
	assert_heard(&h, 0, 0, "");
	h = device("'net_af_packet0,iface=eth1,qpairs=2,framecnt=1024'");
	assert_heard(&h, 0, 1,
		"7:13: ports[0].device: with several queues (qpairs) the kernel reassembles "
		"fragments, and fragmented datagrams are lost: use qpairs=1, or packet:eth1");
}

static void test_members(void **state)
{
	struct conf *c = load("    device: net_a\n",
		"    bond: {members: ['0000:3b:00.1', net_null0, '0000:3b:00.0']}\n");
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	check_devices(c, dir, &r);
	conf_free(c);
	assert_heard(&h, 0, 1,
		"7:49: ports[0].bond.members[2]: 0000:3b:00.0 is bound to the kernel's driver "
		"ixgbe: most NICs need");
	if (RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0))
		return;
	c = load("    device: net_a\n",
		"    bond: {members: ['net_af_packet0,iface=d0', 'net_af_packet1,iface=d1']}\n");
	h = (struct heard){{0}};
	check_devices(c, dir, &r);
	conf_free(c);
	assert_heard(&h, 0, 1,
		"7:22: ports[0].bond.members[0]: net_af_packet of this DPDK does not report");
}

static struct heard namespaces(const char *piece, const char *replacement)
{
	struct conf *c = load(piece, replacement);
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	check_namespaces(c, dir, &r);
	conf_free(c);
	return h;
}

static void test_namespaces(void **state)
{
	struct heard h = namespaces("net_a", "'vtap:t0,netns=nowhere'");

	assert_heard(&h, 0, 1,
		"7:13: ports[0].device: there is no network namespace nowhere (yet): make it with "
		"`ip netns add nowhere`\n");
	h = namespaces("vlan: 0", "exception: {name: sr0, netns: nowhere}");
	assert_heard(&h, 0, 1, "10:35: ports[0].exception.netns: there is no network namespace n");
	h = namespaces("log:", "streams: {netns: nowhere}\nlog:");
	assert_heard(&h, 0, 1, "37:18: streams.netns: there is no network namespace nowhere");
	// made by begin()
	h = namespaces("net_a", "'vtap:t0,netns=cpu0'");
	assert_heard(&h, 0, 0, "");
	h = namespaces("vlan: 0", "exception: {name: sr0, netns: cpu0}");
	assert_heard(&h, 0, 0, "");
	h = namespaces("net_a", "'vtap:t0'");
	assert_heard(&h, 0, 0, "");
}

static void test_listeners(void **state)
{
	static const struct {
		const char *listener;
		unsigned int warnings;
	} list[] = {
		{"{transport: tcp, address: 127.0.0.1}", 0},
		{"{transport: tcp, address: 192.0.2.77}", 1},
		{"{transport: tcp, address: '2001:db8::77'}", 1},
		{"{transport: udp, address: 10.0.0.1, port: 3479}", 0},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct heard h = {{0}};
		struct conf_report r = {.say = hear, .ctx = &h};
		char replacement[128];
		struct conf *c;

		snprintf(replacement, sizeof(replacement), "listeners:\n  - %s", list[i].listener);
		c = load("listeners:", replacement);
		check_listeners(c, &r);
		conf_free(c);
		assert_heard(&h, 0, list[i].warnings,
			list[i].warnings > 0 ? "16:31: listeners[0].address: no interface of the "
					       "kernel has "
					     : "");
	}
}

// --- packet ports --------------------------------------------------------------------------------

// The messages about a port on an interface, with a local port range and reserved ports of the
// kernel, and a line of the kernel's list of sockets.
static struct heard packets(
	const char *device, const char *range, const char *reserved, const char *socket)
{
	struct conf *c = load("net_a", device);
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	put_file("ip_local_port_range", range);
	put_file("ip_local_reserved_ports", reserved);
	put_file("udp", socket);
	check_packets(c, dir, dir, &r);
	conf_free(c);
	return h;
}

#define NO_SUCH "'packet:slipring-none'"

static void test_packet_sockets(void **state)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{" 12: 00000000:CA6C 00000000:0000 07 00000000:00000000\n", "uses UDP port 51820"},
		{" 12: 0100000A:0D96 00000000:0000 07 00000000:00000000\n", "uses UDP port 3478"},
		{" 12: 0100007F:CA6C 00000000:0000 07 00000000:00000000\n", NULL},
		{" 12: 00000000000000000000000001000000:CA6C 0:0000 07\n", NULL},
		{" 12: 00000000000000000000000000000000:CA6C 0:0000 07\n", "uses UDP port 51820"},
		{" 12: 00000000:0035 00000000:0000 07 00000000:00000000\n", NULL},
		{"  sl  local_address rem_address   st tx_queue\n", NULL},
		{" 12: :\n", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct heard h = packets(NO_SUCH, "1000 2000\n", "", rows[i].line);

		if (h.nb[CONF_ERROR] != 0 || h.nb[CONF_WARNING] != 1 + (rows[i].says != NULL) ||
			(rows[i].says != NULL && strstr(h.text, rows[i].says) == NULL))
			fail_msg("row %zu: %s", i, h.text);
	}
}

static void test_packet_addresses(void **state)
{
	struct heard h = packets("'packet:lo'", "1000 2000\n", "", "");

	assert_int_equal(h.nb[CONF_ERROR], 0);
	assert_non_null(strstr(h.text, "10.0.0.1 is not on interface lo (yet)"));
	if (strstr(h.text, "`ip addr add 10.0.0.1/24 dev lo`") == NULL)
		fail_msg("%s", h.text);
	h = packets("net_a", "32768\t60999\n", "\n", ""); // no packet port: not checked
	assert_heard(&h, 0, 0, "");
}

// Both files are reported, each with its key.
static void test_tls(void **state)
{
	struct conf *c = load("listeners:",
		"tls: {certificate: /nonexistent/c.pem, key: /nonexistent/k.pem}\n"
		"listeners:\n  - {transport: dtls, address: 10.0.0.1}");
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	check_tls(c, &r);
	assert_heard(&h, 2, 0,
		"15:20: tls.certificate: /nonexistent/c.pem: No such file or directory\n"
		"15:45: tls.key: /nonexistent/k.pem: No such file or directory\n");
	conf_free(c);
	// no listener needs them
	c = load("listeners:", "tls: {certificate: /nonexistent/c.pem}\nlisteners:");
	h = (struct heard){{0}};
	check_tls(c, &r);
	assert_heard(&h, 0, 0, "");
	conf_free(c);
}

// Files of one listener are reported with their own keys, once for all addresses of its entry.
static void test_tls_of_one(void **state)
{
	struct conf *c = load("listeners:",
		"tls: {certificate: /nonexistent/c.pem, key: /nonexistent/k.pem}\n"
		"listeners:\n  - {transport: dtls, address: all, port: 5349,\n"
		"     tls: {certificate: /nonexistent/d.pem, key: /nonexistent/e.pem}}");
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	check_tls(c, &r);
	assert_heard(&h, 2, 0,
		"18:25: listeners[0].tls.certificate: /nonexistent/d.pem: No such file or "
		"directory\n"
		"18:50: listeners[0].tls.key: /nonexistent/e.pem: No such file or directory\n");
	conf_free(c);
}

// Errors that the start would find are reported earlier.
static void test_records(void **state)
{
	char piece[256];
	struct conf *c;
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	c = load("listeners:", "records: {file: /nonexistent/r.json}\nlisteners:");
	check_records(c, &r);
	assert_heard(&h, 0, 1,
		"15:17: records.file: /nonexistent/: No such file or directory: records are lost "
		"until it exists, create the directory");
	conf_free(c);
	c = load("listeners:", "records: {file: /dev/null}\nlisteners:");
	h = (struct heard){{0}};
	check_records(c, &r);
	assert_heard(&h, 1, 0, "15:17: records.file: /dev/null is not a regular file: name one");
	conf_free(c);
	snprintf(piece, sizeof(piece), "records: {file: %s/r.json}\nlisteners:", dir);
	c = load("listeners:", piece);
	h = (struct heard){{0}};
	check_records(c, &r);
	assert_heard(&h, 0, 0, "");
	snprintf(piece, sizeof(piece), "%s/r-refusals.json", dir);
	assert_int_equal(mkdir(piece, 0700), 0);
	check_records(c, &r);
	assert_int_equal(rmdir(piece), 0);
	snprintf(piece, sizeof(piece),
		"15:17: records.file: %s/r-refusals.json, the file of refusals", dir);
	assert_heard(&h, 1, 0, piece);
	conf_free(c);
}

static void test_state(void **state)
{
	struct conf *c;
	struct heard h = {{0}};
	struct conf_report r = {.say = hear, .ctx = &h};

	c = load("listeners:", "state: {file: /nonexistent/state}\nlisteners:");
	check_state(c, &r);
	assert_heard(&h, 1, 0,
		"15:15: state.file: /nonexistent: No such file or directory: make the directory "
		"first, or RuntimeDirectory= in the unit");
	conf_free(c);
	c = load("listeners:", "state: {file: /proc/self/state}\nlisteners:");
	h = (struct heard){{0}};
	check_state(c, &r);
	assert_heard(&h, 1, 0,
		"15:15: state.file: /proc/self is on no file system in memory, and the file holds "
		"keys: name a directory on tmpfs or hugetlbfs");
	conf_free(c);
}

// --- ports of other programs ---------------------------------------------------------------------

static struct conf *load_tcp(unsigned int port)
{
	char replacement[128];

	snprintf(replacement, sizeof(replacement), "{transport: tcp, address: 127.0.0.1, port: %u}",
		port);
	return load("{transport: udp, address: 10.0.0.1, port: 3478}", replacement);
}

static void a_tcp_port_that_another_program_has_is_an_error(void **state)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);
	struct heard h = {0};
	struct conf *c;

	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	c = load_tcp(ntohs(addr.sin_port));
	check_taken(c, &(struct conf_report){.say = hear, .ctx = &h});
	assert_heard(&h, 1, 0, "16:");
	assert_non_null(strstr(h.text, "test_check (pid "));
	assert_non_null(strstr(h.text, "listens on TCP port"));
	// a running slipring does not count
	prctl(PR_SET_NAME, "slipring");
	h = (struct heard){0};
	check_taken(c, &(struct conf_report){.say = hear, .ctx = &h});
	assert_heard(&h, 0, 0, "");
	close(fd);
	check_taken(c, &(struct conf_report){.say = hear, .ctx = &h});
	assert_heard(&h, 0, 0, "");
	conf_free(c);
}

// --- messages ------------------------------------------------------------------------------------

static const char *no_prefix(enum conf_weight weight)
{
	return "";
}

static void problems_are_sorted_marked_and_told_once(void **state)
{
	struct check_said s = {0};
	unsigned int nb[2] = {0, 0};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	check_said_keep(&s, CONF_WARNING, "b.yaml:1:1: x: in another file");
	check_said_keep(&s, CONF_WARNING, "a.yaml:10:2: x: late");
	check_said_keep(&s, CONF_ERROR, "a.yaml:9:30: x: wrong");
	check_said_keep(&s, CONF_WARNING, "a.yaml:9:4: x: twice");
	check_said_keep(&s, CONF_WARNING, "a.yaml:9:4: x: twice");
	check_said_print(&s, "a.yaml", f, no_prefix, nb);
	fclose(f);
	assert_string_equal(text,
		"warning: a.yaml:9:4: x: twice\n"
		"error: a.yaml:9:30: x: wrong\n"
		"warning: a.yaml:10:2: x: late\n"
		"warning: b.yaml:1:1: x: in another file\n");
	assert_int_equal(nb[CONF_ERROR], 1);
	assert_int_equal(nb[CONF_WARNING], 3);
	check_said_free(&s);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tcp_port_that_another_program_has_is_an_error),
		cmocka_unit_test(problems_are_sorted_marked_and_told_once),
		cmocka_unit_test(test_lcores),
		cmocka_unit_test(test_lcore_numbers),
		cmocka_unit_test(test_affinity),
		cmocka_unit_test(test_drivers),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_listeners),
		cmocka_unit_test(test_packet_sockets),
		cmocka_unit_test(test_packet_addresses),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_tls_of_one),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_state),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
