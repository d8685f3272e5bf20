// SPDX-License-Identifier: BSD-3-Clause
// The command line of clients over TCP, TLS and DTLS.
#include "support/loadgen_opts.h"
#include "test.h"

#define OVER(t) "--transport", t, "--server", "10.0.0.1", "--client-addr", "10.0.0.2"
#define MEDIA(t) OVER(t), "--peer-addr", "10.0.1.2/24"

static void test_names_and_ports(void **state)
{
	static const struct {
		const char *name;
		enum transport transport;
		uint16_t port;
		bool links, reliable;
	} rows[] = {
		{"udp", TRANSPORT_UDP, 3478, false, false},
		{"tcp", TRANSPORT_TCP, 3478, true, true},
		{"tls", TRANSPORT_TLS, 5349, true, true},
		{"dtls", TRANSPORT_DTLS, 5349, true, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *name = (char *)(uintptr_t)rows[i].name;

		assert_accepted(READ(BASE, "--transport", name));
		assert_int_equal(read_config.transport, rows[i].transport);
		assert_string_equal(config_transport_name(read_config.transport), name);
		assert_int_equal(read_config.server.port, rows[i].port);
		assert_int_equal(config_links(&read_config), rows[i].links);
		assert_int_equal(config_reliable(&read_config), rows[i].reliable);
		assert_null(read_config.ca);
		// in any order, explicit options win
		assert_accepted(READ("--transport", name, BASE, "--server", "10.0.0.1:3478"));
		assert_int_equal(read_config.server.port, 3478);
		assert_accepted(READ(BASE, "--server", "10.0.0.1:5349", "--transport", name));
		assert_int_equal(read_config.server.port, 5349);
	}
	assert_accepted(READ(BASE));
	assert_int_equal(read_config.transport, TRANSPORT_UDP);
	REFUSED("--transport sctp: not one of udp, tcp, tls, dtls", BASE, "--transport", "sctp");
	REFUSED("--transport TCP: not one of", BASE, "--transport", "TCP");
	REFUSED("missing value of --transport", BASE, "--transport");
}

static void test_addresses_are_the_kernels(void **state)
{
	assert_accepted(READ(MEDIA("tcp")));
	assert_accepted(READ(MEDIA("tcp"), "--server", "192.0.2.7")); // it has routes
	assert_accepted(READ(MEDIA("tls"), "--clients", "100000")); // and ports
	assert_false(read_config.shared_port);
	assert_null(read_config.peer.device);
	REFUSED("--client-addr: needed", "--transport", "tcp", "--server", "10.0.0.1",
		"--peer-addr", "10.0.1.2/24");
	REFUSED("--peer-addr: needed", OVER("tcp"));
	REFUSED("family is not that of", MEDIA("tcp"), "--server", "fd00::1");
	REFUSED("prefix length of the link", OVER("tcp"), "--peer-addr", "10.0.1.2");
	REFUSED("kernel connects", MEDIA("tcp"), "--client-port", "0");
	REFUSED("kernel chooses them", MEDIA("dtls"), "--client-ports", "1000-2000");
	REFUSED("kernel has routes", MEDIA("tls"), "--client-gateway", "10.0.0.9");
}

static void test_who_reads(void **state)
{
	assert_accepted(READ(MEDIA("tcp"), "--senders", "3"));
	assert_int_equal(read_config.receivers, 3);
	assert_accepted(READ(MEDIA("tcp"), "--senders", "2", "--receivers", "2"));
	REFUSED("as many as --senders", MEDIA("tcp"), "--receivers", "2");
}

static void test_modes(void **state)
{
	static char *const good[] = {"channel", "send", "alloc-hold", "handshake"};
	static char *const bad[] = {"binding", "alloc", "invalid", "unauth"};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_accepted(READ(MEDIA("tls"), "--mode", good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		REFUSED("over tls only", MEDIA("tls"), "--mode", bad[i]);
	REFUSED("over tcp only", "--transport", "tcp", "--client-addr", "10.0.0.2", "--peer-addr",
		"10.0.1.2/24", "--mode", "direct");
	assert_accepted(READ(OVER("dtls"), "--mode", "handshake"));
	assert_int_equal(read_config.role, ROLE_CLIENT);
	assert_true(read_config.direction[DIRECTION_ECHO]);
	assert_number(read_config.rate, 0); // as fast as answers come
	assert_accepted(READ(OVER("dtls"), "--mode", "handshake", "--pps", "300"));
	assert_number(read_config.rate, 300);
	REFUSED("--mode handshake: needs --transport tcp, tls or dtls", "--server", "10.0.0.1",
		"--client-addr", "10.0.0.2/24", "--mode", "handshake");
	REFUSED("for media; --mode handshake sends no media", OVER("tls"), "--mode", "handshake",
		"--size", "100");
	REFUSED("--search ndr: not over tcp", MEDIA("tcp"), "--search", "ndr");
	REFUSED("for clients; --role peer has no clients", PEER, "--transport", "tcp");
}

static void test_certificates(void **state)
{
	assert_accepted(READ(MEDIA("tls"), "--ca", "ca.pem"));
	assert_string_equal(read_config.ca, "ca.pem");
	assert_accepted(READ(MEDIA("dtls"), "--ca", "ca.pem"));
	REFUSED("for --transport tls and dtls", MEDIA("tcp"), "--ca", "ca.pem");
	REFUSED("for --transport tls and dtls", BASE, "--ca", "ca.pem");
	assert_accepted(READ(MEDIA("tls")));
	assert_false(read_config.tls_12);
	assert_accepted(READ(MEDIA("tls"), "--tls-max", "1.2"));
	assert_true(read_config.tls_12);
	assert_accepted(READ(MEDIA("tls"), "--tls-max", "1.3"));
	assert_false(read_config.tls_12);
	REFUSED("--tls-max 1.1: not one of 1.2, 1.3", MEDIA("tls"), "--tls-max", "1.1");
	REFUSED("for --transport tls", MEDIA("dtls"), "--tls-max", "1.2");
}

// TCP cuts streams into segments: only the peers' leg has an MTU. A DTLS record has to fit.
static void test_sizes(void **state)
{
	assert_accepted(READ(MEDIA("tcp"), "--size", "1472"));
	REFUSED("1472 at most", MEDIA("tls"), "--size", "1473");
	assert_accepted(READ(MEDIA("dtls"), "--size", "1404"));
	REFUSED("1404 at most", MEDIA("dtls"), "--size", "1405");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_ports),
		cmocka_unit_test(test_addresses_are_the_kernels),
		cmocka_unit_test(test_who_reads),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
