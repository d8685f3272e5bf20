// SPDX-License-Identifier: BSD-3-Clause
// The command line of the load generator: defaults, addresses, single options, the help.
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "addr_text.h"
#include "options/help.h"
#include "options/option.h"
#include "support/loadgen_opts.h"
#include "test.h"

static void test_defaults(void **state)
{
	assert_accepted(READ(BASE));
	assert_int_equal(read_config.role, ROLE_BOTH);
	assert_int_equal(read_config.mode, MODE_CHANNEL);
	assert_true(read_config.direction[DIRECTION_UP]);
	assert_false(read_config.direction[DIRECTION_DOWN]);
	assert_false(read_config.direction[DIRECTION_ECHO]);
	assert_false(read_config.peer_echo);
	assert_string_equal(read_config.client.device, "0");
	assert_null(read_config.peer.device); // 1 or the clients' port, known once ports exist
	assert_false(read_config.shared_port);
	assert_int_equal(read_config.senders, 1);
	assert_int_equal(read_config.receivers, 1);
	assert_int_equal(read_config.mtu, 1500);
	assert_int_equal(read_config.ring, 1024);
	assert_int_equal(read_config.mbufs, 0);
	assert_int_equal(read_config.server.port, 3478);
	assert_int_equal(read_config.client.port_lo, 10000);
	assert_int_equal(read_config.peer.port_hi, 59999);
	assert_int_equal(read_config.clients, 1);
	assert_int_equal(read_config.integrity, INTEGRITY_SHA1);
	assert_int_equal(read_config.lifetime_s, 600);
	assert_number(read_config.setup_rate, 1000);
	assert_int_equal(read_config.window, 256);
	assert_number(read_config.rate, 1000);
	assert_false(read_config.rate_given);
	assert_int_equal(read_config.nb_sizes, 1);
	assert_int_equal(read_config.size[0], 120);
	assert_int_equal(read_config.burst, 1);
	assert_int_equal(read_config.uso, USO_AUTO);
	assert_number(read_config.duration_s, 10);
	assert_number(read_config.warmup_s, 1);
	assert_number(read_config.drain_s, 0.5);
	assert_int_equal(read_config.search, WANT_NO_SEARCH);
	assert_number(read_config.stats_period_s, 1);
	assert_null(read_config.json);
	assert_null(read_config.telemetry);
	assert_null(read_config.plot);
	assert_false(read_config.interactive);
}

static void test_addresses(void **state)
{
	assert_accepted(READ("--server", "[fd00::1]:1234", "--client-addr", "fd00::10-fd00::1f/64",
		"--client-ports", "5000-5009", "--client-gateway", "fe80::1", "--peer-addr",
		"10.1.0.7/31", "--peer-ports", "3480", "--peer-gateway", "10.1.0.6", "--clients",
		"160"));
	assert_addr(&read_config.server.addr, "fd00::1");
	assert_int_equal(read_config.server.port, 1234);
	assert_addr(&read_config.client.addrs.lo, "fd00::10");
	assert_addr(&read_config.client.addrs.hi, "fd00::1f");
	assert_int_equal(read_config.client.prefix_len, 64);
	assert_int_equal(read_config.client.port_lo, 5000);
	assert_int_equal(read_config.client.port_hi, 5009);
	assert_addr(&read_config.client.gateway, "fe80::1");
	assert_int_equal(side_hosts(&read_config.client), 160);
	assert_addr(&read_config.peer.addrs.lo, "10.1.0.7");
	assert_addr(&read_config.peer.addrs.hi, "10.1.0.7");
	assert_int_equal(read_config.peer.prefix_len, 96 + 31);
	assert_int_equal(read_config.peer.port_lo, 3480);
	assert_int_equal(read_config.peer.port_hi, 3480);
	assert_addr(&read_config.peer.gateway, "10.1.0.6");
	// The other formats of a server.
	assert_accepted(READ(BASE, "--server", "10.0.0.77:99"));
	assert_addr(&read_config.server.addr, "10.0.0.77");
	assert_int_equal(read_config.server.port, 99);
	assert_accepted(
		READ("--mode", "binding", "--client-addr", "fd00::2/64", "--server", "fd00::9"));
	assert_addr(&read_config.server.addr, "fd00::9");
	assert_int_equal(read_config.server.port, 3478);
	assert_accepted(
		READ("--mode", "binding", "--client-addr", "fd00::2/64", "--server", "[fd00::9]"));
	assert_int_equal(read_config.server.port, 3478);
}

static void test_bad_addresses(void **state)
{
	REFUSED("--server: needed", "--client-addr", "10.0.0.2/24", "--peer-addr", "10.0.1.2/24");
	REFUSED("--client-addr: needed", "--server", "10.0.0.1");
	REFUSED("--peer-addr: needed", "--server", "10.0.0.1", "--client-addr", "10.0.0.2/24");
	REFUSED("--server turn.example: not an IP address", BASE, "--server", "turn.example");
	REFUSED("--server 10.0.0.1:0: not a port", BASE, "--server", "10.0.0.1:0");
	REFUSED("not a port", BASE, "--server", "10.0.0.1:65536");
	REFUSED("not a port", BASE, "--server", "10.0.0.1:");
	REFUSED("[ADDRESS]:PORT", BASE, "--server", "[fd00::1]3478");
	REFUSED("[ADDRESS]:PORT", BASE, "--server", "[fd00::1");
	REFUSED("family is not that of --client-addr", BASE, "--server", "fd00::1");
	REFUSED("no address that a host can have", BASE, "--server", "127.0.0.1");
	REFUSED("an address of the clients", BASE, "--server", "10.0.0.5");
	REFUSED("an address of the peers", BASE, "--server", "10.0.1.2", "--client-gateway",
		"10.0.0.254");
	REFUSED("not on the link of --client-addr: give --client-gateway", BASE, "--server",
		"10.9.0.1");
	assert_accepted(READ(BASE, "--server", "10.9.0.1", "--client-gateway", "10.0.0.254"));
	REFUSED("prefix length of the link is missing: 10.0.0.2/24", BASE, "--client-addr",
		"10.0.0.2");
	REFUSED("not a prefix length: 33", BASE, "--client-addr", "10.0.0.2/33");
	REFUSED("not a prefix length", BASE, "--client-addr", "10.0.0.2/");
	REFUSED("in ascending order", BASE, "--client-addr", "10.0.0.9-10.0.0.2/24");
	REFUSED("of one family", BASE, "--client-addr", "10.0.0.9-fd00::1/24");
	REFUSED("not ADDRESS/LENGTH", BASE, "--client-addr", "10.0.0/24");
	REFUSED("not ADDRESS/LENGTH", BASE, "--client-addr", "10.0.0.1-/24");
	REFUSED("leaves its subnet", BASE, "--client-addr", "10.0.0.2-10.0.1.3/24");
	REFUSED("subnet itself", BASE, "--client-addr", "10.0.0.0-10.0.0.3/24");
	REFUSED("broadcast", BASE, "--client-addr", "10.0.0.2-10.0.0.255/24");
	REFUSED("broadcast", BASE, "--client-addr", "10.0.0.7/30", "--server", "10.0.0.5");
	REFUSED("that a host can have", BASE, "--client-addr", "224.0.0.2/24");
	REFUSED("65536 addresses at most", BASE, "--client-addr", "10.0.0.2-10.1.0.2/8");
	REFUSED("65536 addresses at most", "--client-addr", "fd00::1-fd00::1:0:0:1/64");
	REFUSED("not PORT or FROM-TO", BASE, "--client-ports", "0-5");
	REFUSED("not PORT or FROM-TO", BASE, "--client-ports", "1-65536");
	REFUSED("not PORT or FROM-TO", BASE, "--client-ports", "1-");
	REFUSED("above its end", BASE, "--client-ports", "6-5");
	REFUSED("not on the link", BASE, "--client-gateway", "10.0.1.1");
	REFUSED("family is not that of", BASE, "--peer-gateway", "fd00::1");
	REFUSED("an address of its own side", BASE, "--client-gateway", "10.0.0.9");
	REFUSED("not the address of a host", BASE, "--client-gateway", "0.0.0.0");
	REFUSED("8 addresses x 2 ports are too few for 17 clients", BASE, "--client-ports", "7-8",
		"--clients", "17");
	assert_accepted(READ(BASE, "--client-ports", "7-8", "--clients", "16"));
	REFUSED("shares addresses", BASE, "--peer-addr", "10.0.0.9/24");
	assert_accepted(READ(BASE, "--peer-addr", "10.0.0.9/24", "--peer-ports", "9999"));
}

static void test_ports(void **state)
{
	assert_accepted(READ(BASE, "--client-port", "net_memif0,role=client", "--peer-port", "1"));
	assert_string_equal(read_config.client.device, "net_memif0,role=client");
	assert_string_equal(read_config.peer.device, "1");
	assert_false(read_config.shared_port);
	assert_accepted(READ(BASE, "--client-port", "2", "--peer-port", "2"));
	assert_true(read_config.shared_port);
	assert_accepted(READ(BASE, "--senders", "3", "--receivers", "29", "--ring", "4096",
		"--mbufs", "64k", "--mtu", "9000"));
	assert_int_equal(read_config.senders, 3);
	assert_int_equal(read_config.receivers, 29);
	assert_int_equal(read_config.ring, 4096);
	assert_int_equal(read_config.mbufs, 64000);
	assert_int_equal(read_config.mtu, 9000);
	REFUSED("32 lcores at most", BASE, "--senders", "3", "--receivers", "30");
	REFUSED("--senders 0: 1 at least", BASE, "--senders", "0");
	REFUSED("--mtu 575: 576 at least", BASE, "--mtu", "575");
	REFUSED("1280 at least with IPv6", BASE, "--peer-addr", "fd00::2/64", "--mtu", "1279");
}

static void test_impair(void **state)
{
	assert_accepted(READ(BASE, "--direction", "echo", "--impair",
		"loss=1%,duplicate=0.02,reorder=0.5%,corrupt=100%,delay=2500"));
	assert_number(read_config.impair.loss, 0.01);
	assert_number(read_config.impair.duplicate, 0.02);
	assert_number(read_config.impair.reorder, 0.005);
	assert_number(read_config.impair.corrupt, 1);
	assert_int_equal(read_config.impair.delay_us, 2500);
	assert_accepted(READ(PEER, "--impair", "loss=0.1"));
	assert_number(read_config.impair.loss, 0.1);
	assert_number(read_config.impair.corrupt, 0);
	REFUSED("nothing is reflected", BASE, "--impair", "loss=1%");
	REFUSED("loss=5 is not a share", PEER, "--impair", "loss=5");
	REFUSED("loss=101% is not a share", PEER, "--impair", "loss=101%");
	REFUSED("loss= is not a share", PEER, "--impair", "loss=");
	REFUSED("loss=% is not a share", PEER, "--impair", "corrupt=1%,loss=%");
	REFUSED("loss=1k is not a share", PEER, "--impair", "loss=1k");
	REFUSED("unknown impairment 'losses=1'", PEER, "--impair", "losses=1");
	REFUSED("unknown impairment ''", PEER, "--impair", "loss=1%,");
	REFUSED("delay=1.5 is not", PEER, "--impair", "delay=1.5");
	REFUSED("delay=-1 is not", PEER, "--impair", "delay=-1");
}

static void test_output(void **state)
{
	assert_accepted(READ(BASE, "--json"));
	assert_string_equal(read_config.json, "-");
	assert_accepted(READ(BASE, "--json", "--interactive"));
	assert_string_equal(read_config.json, "-");
	assert_true(read_config.interactive);
	assert_accepted(READ("--json", "out.json", BASE));
	assert_string_equal(read_config.json, "out.json");
	assert_accepted(READ("--json=out.json", BASE));
	assert_string_equal(read_config.json, "out.json");
	assert_accepted(READ("--json", "-", BASE));
	assert_string_equal(read_config.json, "-");
	REFUSED("--json: must not be empty", "--json=", BASE);
	assert_accepted(READ(BASE, "--telemetry", "slipring", "--stats-period", "0"));
	assert_string_equal(read_config.telemetry, "slipring");
	assert_true(read_config.stats_period_s <= 0);
	REFUSED("not a path", BASE, "--telemetry", "/var/run/dpdk/slipring");
	REFUSED("0.1 at least, or 0", BASE, "--stats-period", "0.01");
	REFUSED("0.05 at least", BASE, "--duration", "0");
	REFUSED("60 at most", BASE, "--drain", "61");
}

static void test_words(void **state)
{
	char *argv[] = {"--", "--server", "10.0.0.1", NULL};

	// EAL's remaining arguments, with and without the dashes
	assert_accepted(READ("--", BASE));
	assert_int_equal(opts_read(3, argv, &read_config, read_error), OPTS_ERROR);
	assert_non_null(strstr(read_error, "--client-addr: needed"));
	REFUSED("unknown option --frobnicate", "--frobnicate");
	REFUSED("unknown option -x", "-x");
	REFUSED("unknown option --dur", BASE, "--dur", "5"); // no abbreviations
	REFUSED("unknown option --voip=yes", BASE, "--voip=yes");
	REFUSED("missing value of --pps", BASE, "--pps");
	REFUSED("unexpected argument 5", BASE, "5");
	REFUSED("unexpected argument x", BASE, "--", "x");
	assert_accepted(READ(BASE, "--pps=7")); // and getopt keeps no state of a failure
	assert_number(read_config.rate, 7);
}

// Numbers of any length stay within their bounds, and every kind of garbage is refused.
static void test_garbage(void **state)
{
	static const char *const texts[] = {"", " ", "-", "/", "[", "]", ":", ",", ".", "%", "=",
		"1/", "-1", "1,", "[]:1", "[::]", "1-", "99999999999999999999999999999999999999",
		"0.0.0.0/0", "::/0", "::-::/1", "loss", "\xff\xfe", "1.1.1.1.1", "1 ", "\n",
		"1.2.3.4-1.2.3.4-1.2.3.4/24", "1:2:3:4:5:6:7:8:9/64", "%s%n%s"};

	for (unsigned int id = 0; id < OPT_NB; id++) {
		const struct opt_row *row = option_row(id);
		char name[64];

		if (row->has_arg != required_argument)
			continue;
		snprintf(name, sizeof(name), "--%s", row->name);
		for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
			if (READ(BASE, name, (char *)(uintptr_t)texts[i]) != OPTS_RUN)
				assert_true(strlen(read_error) > 0);
	}
}

// Reads the help, which names every option, keeps to 100 columns, and has valid examples.
static void read_help(char *text, size_t len)
{
	FILE *f = tmpfile();
	size_t n;

	assert_non_null(f);
	help_print(f);
	rewind(f);
	n = fread(text, 1, len - 1, f);
	text[n] = '\0';
	fclose(f);
}

static void try_example(char *command)
{
	char *words[64], *save = NULL;
	int n = 0, first = 0;

	for (char *w = strtok_r(command, " \n\\", &save); w != NULL && n < 63;
		w = strtok_r(NULL, " \n\\", &save)) {
		if (strcmp(w, "ADDRESSES-AS-ABOVE") == 0) {
			char *const base[] = {BASE};

			for (size_t i = 0; i < sizeof(base) / sizeof(*base); i++)
				words[n++] = base[i];
			continue;
		}
		if (strcmp(w, "--") == 0)
			first = n; // EAL's own options come first
		words[n++] = w;
	}
	words[n] = NULL;
	if (opts_read(n - first, words + first, &read_config, read_error) != OPTS_RUN)
		fail_msg("example in the help: %s", read_error);
}

static void test_help(void **state)
{
	char text[16384], *line, *save = NULL, *example;
	unsigned int examples = 0;

	read_help(text, sizeof(text));
	for (unsigned int id = 0; id < OPT_NB; id++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", option_row(id)->name);
		if (strstr(text, name) == NULL)
			fail_msg("%s is not in --help", name);
	}
	example = strstr(text, "\nExamples:\n");
	assert_non_null(example);
	while ((example = strstr(example, "\n    slipring-loadgen ")) != NULL) {
		char command[1024];
		const char *end = example + 1;

		do
			end = strchr(end + 1, '\n');
		while (end[-1] == '\\');
		snprintf(command, sizeof(command), "%.*s", (int)(end - example), example);
		try_example(command);
		examples++;
		example++;
	}
	assert_true(examples >= 5);
	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_bad_addresses),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_impair),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
