// SPDX-License-Identifier: BSD-3-Clause
// Where the server is: URIs of RFC 7065, and hosts.
#include "options/uri.h"
#include "test.h"

#define PLAIN (TRANSPORT_BIT(TRANSPORT_UDP) | TRANSPORT_BIT(TRANSPORT_TCP))
#define SECURE (TRANSPORT_BIT(TRANSPORT_TLS) | TRANSPORT_BIT(TRANSPORT_DTLS))

static void reads(const char *text, const char *host, unsigned int port, unsigned int transports)
{
	struct uri u;

	if (!uri_read(text, &u))
		fail_msg("%s is refused", text);
	assert_string_equal(u.host, host);
	assert_int_equal(u.port, port);
	assert_int_equal(u.transports, transports);
	assert_int_equal(u.exact, strchr(text, '?') != NULL);
}

static void hosts(void **state)
{
	reads("turn.example.org", "turn.example.org", 0, TRANSPORTS_ALL);
	reads("turn.example.org:1", "turn.example.org", 1, TRANSPORTS_ALL);
	reads("192.0.2.1:65535", "192.0.2.1", 65535, TRANSPORTS_ALL);
	reads("2001:db8::1", "2001:db8::1", 0, TRANSPORTS_ALL);
	reads("[2001:db8::1]", "2001:db8::1", 0, TRANSPORTS_ALL);
	reads("[2001:db8::1]:443", "2001:db8::1", 443, TRANSPORTS_ALL);
	reads("turn", "turn", 0, TRANSPORTS_ALL);
}

static void uris(void **state)
{
	reads("turn:example.org", "example.org", 0, PLAIN);
	reads("TURN:example.org:8000", "example.org", 8000, PLAIN);
	reads("turns:example.org", "example.org", 0, SECURE);
	reads("turn:h?transport=udp", "h", 0, TRANSPORT_BIT(TRANSPORT_UDP));
	reads("turn:h:80?transport=TCP", "h", 80, TRANSPORT_BIT(TRANSPORT_TCP));
	reads("turns:h?transport=tcp", "h", 0, TRANSPORT_BIT(TRANSPORT_TLS));
	reads("turns:[::1]:443?transport=udp", "::1", 443, TRANSPORT_BIT(TRANSPORT_DTLS));
}

static void refuses(void **state)
{
	static const char *const bad[] = {"", ":", ":80", "turn:", "turns:?transport=udp",
		"turn://h", "turn:h/", "turn:u@h", "h:", "h:0", "h:65536", "h:123456", "h:8x",
		"h:-1", "[::1", "[::1]x", "[::1]:", "[h]", "[1.2.3.4]", "turn:::1", "turn:h?",
		"turn:h?transport=", "turn:h?transport=sctp", "turn:h?transport=udp&x",
		"turn:h?transport=udp?transport=udp", "h?transport=udp", "stun:h:3478:1", "h h",
		"h\n", "h\"", "http://h", "[::ffff:1.2.3.4]"};
	char text[600];
	struct uri u;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (uri_read(bad[i], &u))
			fail_msg("%s is accepted", bad[i]);
	memset(text, 'a', sizeof(text));
	text[NAME_MAX_LEN] = '\0';
	assert_true(uri_read(text, &u));
	text[NAME_MAX_LEN] = 'a';
	text[NAME_MAX_LEN + 1] = '\0';
	assert_false(uri_read(text, &u));
}

static void ports(void **state)
{
	struct uri u;

	assert_true(uri_read("h", &u));
	assert_int_equal(uri_port(&u, TRANSPORT_UDP), 3478);
	assert_int_equal(uri_port(&u, TRANSPORT_TCP), 3478);
	assert_int_equal(uri_port(&u, TRANSPORT_TLS), 5349);
	assert_int_equal(uri_port(&u, TRANSPORT_DTLS), 5349);
	assert_true(uri_read("h:443", &u));
	assert_int_equal(uri_port(&u, TRANSPORT_TLS), 443);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts),
		cmocka_unit_test(uris),
		cmocka_unit_test(refuses),
		cmocka_unit_test(ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
