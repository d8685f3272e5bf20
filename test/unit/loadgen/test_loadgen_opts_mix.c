// SPDX-License-Identifier: BSD-3-Clause
// The command line of the load generator: interactions between options.
#include "support/loadgen_opts.h"
#include "test.h"

static void test_roles(void **state)
{
	assert_accepted(
		READ(CLIENT, "--peer-addr", "10.0.1.2")); // on another machine: its link is unknown
	assert_int_equal(read_config.role, ROLE_CLIENT);
	assert_true(read_config.direction[DIRECTION_ECHO]);
	assert_false(read_config.direction[DIRECTION_UP]);
	REFUSED("needs --role both", CLIENT, "--direction", "up");
	REFUSED("needs --role both", CLIENT, "--direction", "both");
	REFUSED("needs --role both", CLIENT, "--mode", "peer-to-client");
	REFUSED("--peer-gateway 10.0.1.1: for peers of this process", CLIENT, "--peer-gateway",
		"10.0.1.1");
	REFUSED("--impair loss=1%: for peers of this process", CLIENT, "--impair", "loss=1%");

	assert_accepted(READ(PEER));
	assert_true(read_config.peer_echo);
	assert_string_equal(read_config.peer.device, "0"); // the only port that it needs
	assert_number(read_config.duration_s, 0); // until it is stopped
	assert_false(read_config.direction[DIRECTION_UP]);
	assert_accepted(READ(PEER, "--reflect", "sink", "--duration", "2.5", "--peer-port", "3"));
	assert_false(read_config.peer_echo);
	assert_number(read_config.duration_s, 2.5);
	assert_string_equal(read_config.peer.device, "3");
	assert_accepted(READ(PEER, "--mode", "direct"));
	REFUSED("--pps 5k: for clients", PEER, "--pps", "5k");
	REFUSED("--server 10.0.0.1: for clients", PEER, "--server", "10.0.0.1");
	REFUSED("--role peer has nothing to do", PEER, "--mode", "alloc");
	REFUSED("prefix length", "--role", "peer", "--peer-addr", "10.0.1.2");
	REFUSED("not one of client, peer, both", "--role", "server");
}

static void test_modes(void **state)
{
	static const struct {
		const char *name;
		enum mode mode;
	} media[] = {{"channel", MODE_CHANNEL}, {"send", MODE_SEND}},
	  clients_only[] = {{"binding", MODE_BINDING}, {"alloc", MODE_ALLOC},
		  {"alloc-hold", MODE_ALLOC_HOLD}, {"invalid", MODE_INVALID},
		  {"unauth", MODE_UNAUTH}};

	for (size_t i = 0; i < sizeof(media) / sizeof(*media); i++) {
		assert_accepted(READ(BASE, "--mode", (char *)(uintptr_t)media[i].name));
		assert_int_equal(read_config.mode, media[i].mode);
		assert_string_equal(config_mode_name(read_config.mode), media[i].name);
		assert_int_equal(read_config.role, ROLE_BOTH);
	}
	for (size_t i = 0; i < sizeof(clients_only) / sizeof(*clients_only); i++) {
		assert_accepted(READ("--server", "10.0.0.1", "--client-addr", "10.0.0.2/24",
			"--mode", (char *)(uintptr_t)clients_only[i].name));
		assert_int_equal(read_config.mode, clients_only[i].mode);
		assert_string_equal(config_mode_name(read_config.mode), clients_only[i].name);
		assert_int_equal(read_config.role, ROLE_CLIENT); // no peer to talk to
		// The requested family is that of the server
		assert_true(addr_is_v4(&read_config.peer.addrs.lo));
	}
	assert_accepted(READ(
		"--mode", "direct", "--client-addr", "10.0.0.2/23", "--peer-addr", "10.0.1.2/23"));
	assert_int_equal(read_config.mode, MODE_DIRECT);
	REFUSED("goes past any server", BASE, "--mode", "direct");
	REFUSED("only a server joins families", "--mode", "direct", "--client-addr", "10.0.0.2/24",
		"--peer-addr", "fd00::1/64");
	REFUSED("give --client-gateway", "--mode", "direct", "--client-addr", "10.0.0.2/24",
		"--peer-addr", "10.0.1.2/24");
	REFUSED("give --peer-gateway", "--mode", "direct", "--client-addr", "10.0.0.2/24",
		"--client-gateway", "10.0.0.1", "--peer-addr", "10.0.1.2/24");
	REFUSED("not one of channel, send, direct", BASE, "--mode", "flood");
}

// Options that only matter for media are refused elsewhere; addresses of peers are not (one command
// line for several modes).
static void test_modes_without_media(void **state)
{
	assert_accepted(READ(BASE, "--mode", "alloc", "--user", "u", "--password", "p"));
	assert_int_equal(read_config.role, ROLE_CLIENT);
	assert_accepted(READ(BASE, "--mode", "alloc", "--peer-addr", "fd00::2/64"));
	assert_false(addr_is_v4(&read_config.peer.addrs.lo)); // IPv6 relayed addresses
	REFUSED("--size 500: for media; --mode alloc sends no media", BASE, "--mode", "alloc",
		"--size", "500");
	REFUSED("--direction down: for media", BASE, "--mode", "binding", "--direction", "down");
	REFUSED("for media", BASE, "--mode", "unauth", "--voip");
	REFUSED("for media", BASE, "--mode", "invalid", "--mbps", "3");
	REFUSED("give --setup-rate", BASE, "--mode", "alloc-hold", "--pps", "100");
}

static void test_directions(void **state)
{
	assert_accepted(READ(BASE, "--direction", "both"));
	assert_true(read_config.direction[DIRECTION_UP] && read_config.direction[DIRECTION_DOWN] &&
		!read_config.direction[DIRECTION_ECHO]);
	assert_string_equal(config_direction_name(&read_config), "both");
	assert_false(read_config.peer_echo);
	assert_accepted(READ(BASE, "--mode", "peer-to-client"));
	assert_int_equal(read_config.mode, MODE_CHANNEL);
	assert_true(read_config.direction[DIRECTION_DOWN] && !read_config.direction[DIRECTION_UP]);
	assert_string_equal(config_direction_name(&read_config), "down");
	assert_accepted(READ(BASE, "--mode", "peer-to-client", "--direction", "down"));
	REFUSED("peer-to-client is --direction down", BASE, "--mode", "peer-to-client",
		"--direction", "both");
	assert_accepted(READ(BASE, "--direction", "echo"));
	assert_true(read_config.direction[DIRECTION_ECHO] && read_config.peer_echo);
	assert_accepted(READ(BASE, "--direction", "echo", "--reflect", "echo"));
	REFUSED("--direction echo needs peers that echo", BASE, "--direction", "echo", "--reflect",
		"sink");
	REFUSED("--direction up needs peers that sink", BASE, "--reflect", "echo");
	assert_accepted(READ(BASE, "--mode", "binding"));
	assert_string_equal(config_direction_name(&read_config), "echo");
	assert_accepted(READ(BASE, "--mode", "alloc"));
	assert_string_equal(config_direction_name(&read_config), "none");
}

static void test_rates(void **state)
{
	assert_accepted(READ(BASE, "--pps", "2.5M"));
	assert_number(read_config.rate, 2.5e6);
	assert_true(read_config.rate_given);
	assert_accepted(READ(BASE, "--pps", "flood"));
	assert_number(read_config.rate, 0);
	assert_true(read_config.rate_given);
	assert_accepted(READ(BASE, "--pps", "0.5"));
	assert_number(read_config.rate, 0.5);
	assert_accepted(READ(BASE, "--mbps", "96", "--size", "100,200")); // 1200 bits in the middle
	assert_number(read_config.rate, 80000);
	assert_accepted(READ(BASE, "--pps-per-client", "20", "--clients", "100"));
	assert_number(read_config.rate, 2000);
	assert_accepted(READ(BASE, "--voip", "--clients", "100"));
	assert_number(read_config.rate, 5000);
	assert_int_equal(read_config.size[0], 160);
	assert_accepted(
		READ(BASE, "--voip", "--clients", "100", "--direction", "both", "--size", "80"));
	assert_number(read_config.rate, 10000);
	assert_int_equal(read_config.size[0], 80);
	assert_accepted(READ(BASE, "--mode", "alloc"));
	assert_number(read_config.rate, 0); // as fast as answers come
	assert_false(read_config.rate_given);
	assert_accepted(READ(BASE, "--mode", "alloc", "--pps", "300"));
	assert_number(read_config.rate, 300);
	assert_accepted(READ(BASE, "--mode", "alloc-hold"));
	assert_number(read_config.rate, 0);
	assert_accepted(READ(BASE, "--pps", "1k", "--pps", "2k")); // the last option wins
	assert_number(read_config.rate, 2000);

	REFUSED("--pps 1k: the rate is also given by --mbps", BASE, "--pps", "1k", "--mbps", "3");
	REFUSED("also given by --voip", BASE, "--pps", "flood", "--voip");
	REFUSED("--pps 0: more than 0", BASE, "--pps", "0");
	REFUSED("not a number", BASE, "--pps", "-5");
	REFUSED("not a number", BASE, "--pps", "1e6");
	REFUSED("not a number", BASE, "--pps", "0x10");
	REFUSED("not a number", BASE, "--pps", "nan");
	REFUSED("not a number", BASE, "--pps", "inf");
	REFUSED("not a number", BASE, "--pps", "1.2.3");
	REFUSED("not a number", BASE, "--pps", ".");
	REFUSED("not a number", BASE, "--pps", "");
	REFUSED("not a number", BASE, "--pps", "5kk");
	REFUSED("not a number", BASE, "--pps", "5m"); // milli or million?
	REFUSED("at most", BASE, "--pps", "2G");
	REFUSED("at most", BASE, "--pps-per-client", "1G", "--clients", "10");
}

static void test_sizes(void **state)
{
	assert_accepted(READ(BASE, "--size", "28,1468"));
	assert_int_equal(read_config.nb_sizes, 2);
	assert_int_equal(read_config.size[0], 28);
	assert_int_equal(read_config.size[1], 1468);
	REFUSED("--size 20: 28 at least (the stamp needs 28 bytes)", BASE, "--size", "20");
	REFUSED("not a list", BASE, "--size", "100,");
	REFUSED("not a list", BASE, "--size", ",100");
	REFUSED("not a list", BASE, "--size", "1k");
	REFUSED("9216 at most", BASE, "--size", "99999999999999999999");
	REFUSED("16 sizes at most", BASE, "--size",
		"30,30,30,30,30,30,30,30,30,30,30,30,30,30,30,30,30");
	// Largest sizes: 20 + 8 bytes of IPv4 and UDP, 40 + 8 of IPv6, 4 of ChannelData, 36 or 48
	// (and padding) of a Send indication (RFC 8656 sections 12.4, 11)
	REFUSED("1468 at most", BASE, "--size", "1469");
	assert_accepted(READ(BASE, "--mode", "send", "--size", "1436"));
	REFUSED("1436 at most", BASE, "--mode", "send", "--size", "1437");
	assert_accepted(
		READ(BASE, "--mode", "send", "--size", "1424", "--peer-addr", "fd00::2/64"));
	REFUSED("1424 at most", BASE, "--mode", "send", "--size", "1425", "--peer-addr",
		"fd00::2/64");
	assert_accepted(
		READ(BASE, "--size", "1452", "--peer-addr", "fd00::2/64")); // its leg is longer
	REFUSED("1452 at most", BASE, "--size", "1453", "--peer-addr", "fd00::2/64");
	assert_accepted(READ("--mode", "direct", "--client-addr", "10.0.0.2/23", "--peer-addr",
		"10.0.1.2/23", "--size", "1472"));
	assert_accepted(READ(BASE, "--size", "8968", "--mtu", "9000"));
	REFUSED("8968 at most", BASE, "--size", "8969", "--mtu", "9000");
	assert_accepted(READ(BASE, "--burst", "64"));
	REFUSED("64 at most", BASE, "--burst", "65");
	REFUSED("not a whole number", BASE, "--burst", "1.5");
	assert_accepted(READ(BASE, "--uso", "off"));
	assert_int_equal(read_config.uso, USO_OFF);
	assert_accepted(READ(BASE, "--uso", "on"));
	assert_int_equal(read_config.uso, USO_ON);
	REFUSED("not one of auto, on, off", BASE, "--uso", "yes");
	REFUSED("--uso", BASE, "--mode", "binding", "--uso", "on");
}

static void test_clients(void **state)
{
	assert_accepted(READ(BASE, "--clients", "100k", "--user", "me", "--password", "a b",
		"--integrity", "sha256", "--dont-fragment", "--lifetime", "3600", "--setup-rate",
		"0", "--window", "1k", "--user-per-client"));
	assert_int_equal(read_config.clients, 100000);
	assert_string_equal(read_config.user, "me");
	assert_string_equal(read_config.password, "a b");
	assert_int_equal(read_config.integrity, INTEGRITY_SHA256);
	assert_true(read_config.dont_fragment);
	assert_true(read_config.user_per_client);
	assert_int_equal(read_config.lifetime_s, 3600);
	assert_number(read_config.setup_rate, 0);
	assert_int_equal(read_config.window, 1000);
	assert_accepted(READ(BASE, "--secret", "north"));
	assert_string_equal(read_config.secret, "north");
	REFUSED("not together with --secret", BASE, "--user", "u", "--password", "p", "--secret",
		"s");
	REFUSED("Give --user", BASE, "--password", "p");
	REFUSED("needs --password", BASE, "--user", "u");
	REFUSED("numbers are appended to --user", BASE, "--secret", "s", "--user-per-client");
	REFUSED("must not be empty", BASE, "--user", "", "--password", "p");
	REFUSED("1048576 at most", BASE, "--clients", "2M");
	REFUSED("not one of sha1, sha256", BASE, "--integrity", "md5");
	REFUSED("127 bytes at most", BASE, "--user",
		"0123456789012345678901234567890123456789012345678901234567890123"
		"0123456789012345678901234567890123456789012345678901234567890123");
}

static void test_searches(void **state)
{
	assert_accepted(READ(BASE, "--search", "ndr"));
	assert_int_equal(read_config.search, WANT_NDR);
	assert_number(read_config.search_lo, 1000);
	assert_number(read_config.search_hi, 10e6);
	assert_number(read_config.search_resolution, 0.01);
	assert_int_equal(read_config.search_repeats, 3);
	assert_true(read_config.search_loss <= 0);
	assert_accepted(READ(BASE, "--search", "pdr"));
	assert_number(read_config.search_loss, 0.005);
	assert_accepted(READ(BASE, "--search", "pdr", "--loss", "2%", "--from", "5k", "--to", "1M",
		"--resolution", "0.05", "--repeats", "5", "--plot", "a/b.svg"));
	assert_number(read_config.search_loss, 0.02);
	assert_number(read_config.search_lo, 5000);
	assert_number(read_config.search_hi, 1e6);
	assert_number(read_config.search_resolution, 0.05);
	assert_int_equal(read_config.search_repeats, 5);
	assert_string_equal(read_config.plot, "a/b.svg");
	assert_accepted(READ(BASE, "--search", "alloc-rate"));
	assert_int_equal(read_config.mode, MODE_ALLOC);
	assert_number(read_config.search_lo, 100);
	assert_number(read_config.search_hi, 1e6);
	assert_accepted(READ(BASE, "--search", "ndr", "--mode", "binding"));
	REFUSED("needs --mode alloc", BASE, "--search", "alloc-rate", "--mode", "channel");
	REFUSED("not with --search ndr", BASE, "--search", "ndr", "--mode", "alloc");
	REFUSED("not with --search pdr", BASE, "--search", "pdr", "--mode", "invalid");
	REFUSED("give --from and --to", BASE, "--search", "ndr", "--pps", "1000");
	REFUSED("give --from and --to", BASE, "--search", "ndr", "--voip");
	REFUSED("--search ndr accepts no loss", BASE, "--search", "ndr", "--loss", "1%");
	REFUSED("--from 5k: for searches", BASE, "--from", "5k");
	REFUSED("--plot x.svg: for searches", BASE, "--plot", "x.svg");
	REFUSED("nothing is between", BASE, "--search", "ndr", "--from", "20M");
	REFUSED("nothing is between", BASE, "--search", "ndr", "--to", "1000");
	REFUSED("odd", BASE, "--search", "ndr", "--repeats", "2");
	REFUSED("15 at most", BASE, "--search", "ndr", "--repeats", "17");
	REFUSED("50% at most", BASE, "--search", "pdr", "--loss", "60%");
	REFUSED("0.1% at least", BASE, "--search", "pdr", "--resolution", "0");
	REFUSED("not a share", BASE, "--search", "pdr", "--loss", "5");
	REFUSED("ends in .svg", BASE, "--search", "pdr", "--plot", "x.gif");
	REFUSED("for clients", PEER, "--search", "ndr");
	REFUSED("not together with --search", BASE, "--search", "ndr", "--interactive");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_modes_without_media),
		cmocka_unit_test(test_directions),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_searches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
