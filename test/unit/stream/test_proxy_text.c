// SPDX-License-Identifier: BSD-3-Clause
// PROXY protocol headers, version 1, by section 2.1 of HAProxy's proxy-protocol.txt. Each is read
// like a connection: as many bytes as the reader says that the header has at least, from a block of
// exactly that length.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "proxy/proxy_header.h"
#include "test.h"
#include "test_rand.h"

#define ROOM 52 // needed by version 2 only
#define BEHIND "\x16\x03\x01 and more of the client's"
#define ROUNDS 200000
#define READS 60 // upper bound for a whole line

// Reads a connection's first bytes, at most a few at a time. Sets *used to the number of bytes
// read.
static enum proxy_header_answer read_as(
	const char *text, size_t len, size_t at_once, struct proxy_header *h, size_t *used)
{
	enum proxy_header_answer answer = PROXY_HEADER_SHORT;

	*used = 0;
	for (unsigned int reads = 0;; reads++) {
		uint8_t *block = malloc(*used > 0 ? *used : 1);
		size_t n;

		assert_true(at_once == 1 || reads < READS);
		memcpy(block, text, *used);
		answer = proxy_header_read(block, *used, ROOM, h);
		free(block);
		if (answer != PROXY_HEADER_SHORT || *used == len)
			return answer;
		assert_in_range(h->len, *used + 1, PROXY_TEXT_LONGEST);
		n = h->len - *used < at_once ? h->len - *used : at_once;
		*used += n < len - *used ? n : len - *used;
	}
}

// A whole line followed by the client's bytes, in pieces of any length. No byte of the client is
// read if the line is good.
static enum proxy_header_answer whole(const char *line, struct proxy_header *h)
{
	enum proxy_header_answer answer = PROXY_HEADER_SHORT;
	const size_t pieces[] = {1, 2, 7, 1000};
	char text[256];
	size_t used;

	snprintf(text, sizeof(text), "%s" BEHIND, line);
	for (unsigned int i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		answer = read_as(text, strlen(text), pieces[i], h, &used);
		if (answer == PROXY_HEADER_CLIENT || answer == PROXY_HEADER_OWN) {
			assert_int_equal(used, strlen(line));
			assert_int_equal(h->len, strlen(line));
		}
	}
	return answer;
}

static void test_clients(void **state)
{
	static const struct {
		const char *line, *addr;
		uint16_t port;
	} good[] = {
		{"PROXY TCP4 203.0.113.9 10.0.0.5 40000 443\r\n", "203.0.113.9", 40000},
		{"PROXY TCP4 1.1.1.1 2.2.2.2 1 0\r\n", "1.1.1.1", 1},
		{"PROXY TCP4 255.255.255.254 255.255.255.255 65535 65535\r\n", "255.255.255.254",
			65535},
		{"PROXY TCP6 2001:db8::7 2001:DB8::1 5000 3478\r\n", "2001:db8::7", 5000},
		{"PROXY TCP6 ::1 :: 9 9\r\n", "::1", 9},
		{"PROXY TCP6 ::ffff:203.0.113.9 ::1 9 9\r\n", "203.0.113.9", 9},
		{"PROXY TCP6 2001:db8:1111:2222:3333:4444:5555:6666 "
		 "2001:db8:1111:2222:3333:4444:5555:6666 65535 65535\r\n",
			"2001:db8:1111:2222:3333:4444:5555:6666", 65535},
	};

	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct addr want = addr_text(good[i].addr);
		struct proxy_header h;

		if (i == 2) { // reserved: no client has it
			assert_int_equal(whole(good[i].line, &h), PROXY_HEADER_BAD);
			continue;
		}
		assert_int_equal(whole(good[i].line, &h), PROXY_HEADER_CLIENT);
		assert_true(addr_eq(&h.client.addr, &want));
		assert_int_equal(h.client.port, good[i].port);
	}
}

// With UNKNOWN the balancer itself is the client; the rest of its line is ignored.
static void test_unknown(void **state)
{
	static const char *const good[] = {
		"PROXY UNKNOWN\r\n",
		"PROXY UNKNOWN \r\n",
		"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n",
		"PROXY UNKNOWN \r \n \r\r\n",
	};
	struct proxy_header h;

	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(whole(good[i], &h), PROXY_HEADER_OWN);
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"PROXY TCP5 1.1.1.1 2.2.2.2 1 2\r\n",
		"PROXY UDP4 1.1.1.1 2.2.2.2 1 2\r\n",
		"PROXY  TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
		"PROXY tcp4 1.1.1.1 2.2.2.2 1 2\r\n",
		"PROXY TCP4  1.1.1.1 2.2.2.2 1 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 1 2 3\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 1 2 \r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 1\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2\r\n",
		"PROXY TCP4 \r\n",
		"PROXY TCP4\r\n",
		"PROXY TCP4 1.1.1.256 2.2.2.2 1 2\r\n",
		"PROXY TCP4 1.1.1 2.2.2.2 1 2\r\n",
		"PROXY TCP4 ::1 2.2.2.2 1 2\r\n",
		"PROXY TCP4 1.1.1.1 ::1 1 2\r\n",
		"PROXY TCP6 1.1.1.1 ::1 1 2\r\n",
		"PROXY TCP6 ::1::2 ::1 1 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 65536 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 99999999999 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 0 2\r\n", // no client has port 0
		"PROXY TCP4 1.1.1.1 2.2.2.2 01 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 -1 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 1 a\r\n",
		"PROXY TCP4 0.0.0.0 2.2.2.2 1 2\r\n",
		"PROXY TCP4 224.0.0.1 2.2.2.2 1 2\r\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\n",
		"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r \n",
		"PROXY TCP4 1.1.1.1\t2.2.2.2 1 2\r\n",
		"PROXY UNKNOWNS\r\n",
	};
	static const char *const none[] = {"POST / HTTP/1.1\r\n", "PROXYS TCP4 1.1.1.1 \r\n",
		"PROXY\r\n", "PP\r\n", "GET / HTTP/1.1\r\n"};
	struct proxy_header h;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (whole(bad[i], &h) != PROXY_HEADER_BAD)
			fail_msg("%s", bad[i]);
	for (unsigned int i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (whole(none[i], &h) != PROXY_HEADER_NONE)
			fail_msg("%s", none[i]);
}

// A line without end is refused at its 107th byte, whatever follows.
static void test_longest(void **state)
{
	char text[300] = "PROXY UNKNOWN ";
	struct proxy_header h;
	size_t used;

	memset(text + strlen(text), 'x', sizeof(text) - strlen(text));
	assert_int_equal(read_as(text, sizeof(text), 1, &h, &used), PROXY_HEADER_BAD);
	assert_int_equal(used, PROXY_TEXT_LONGEST - 1);
	memcpy(text + PROXY_TEXT_LONGEST - 2, "\r\n", 2);
	assert_int_equal(read_as(text, sizeof(text), 1, &h, &used), PROXY_HEADER_OWN);
	assert_int_equal(used, PROXY_TEXT_LONGEST);
	// the reader did not ask for this many, but they may be there
	memset(text + 14, 'x', sizeof(text) - 14);
	assert_int_equal(
		proxy_header_read((uint8_t *)text, sizeof(text), ROOM, &h), PROXY_HEADER_BAD);
	memcpy(text, "PROXY TCP4 1", 12);
	memset(text + 12, '1', sizeof(text) - 12);
	assert_int_equal(
		proxy_header_read((uint8_t *)text, sizeof(text), ROOM, &h), PROXY_HEADER_BAD);
}

// Whatever is changed in a line, no byte after its end is read if it is good.
static void test_mutated(void **state)
{
	static const char *const lines[] = {"PROXY TCP4 203.0.113.9 10.0.0.5 40000 443\r\n",
		"PROXY TCP6 2001:db8::7 2001:db8::1 5000 3478\r\n", "PROXY UNKNOWN 1 2\r\n"};
	struct test_rand rand = test_rand_start("mutated");
	static const char bytes[] = " \r\n:.0159afPTU\xff";

	for (unsigned int round = 0; round < ROUNDS; round++) {
		char text[128];
		struct proxy_header h;
		enum proxy_header_answer answer;
		const char *end;
		size_t used, len;

		snprintf(text, sizeof(text), "%s\r\n\r\n", lines[test_rand_below(&rand, 3)]);
		len = strlen(text);
		for (unsigned int i = test_rand_below(&rand, 4); i > 0; i--)
			text[test_rand_below(&rand, (uint32_t)len)] =
				bytes[test_rand_below(&rand, sizeof(bytes) - 1)];
		answer = read_as(text, len, 1 + test_rand_below(&rand, 40), &h, &used);
		end = memmem(text, len, "\r\n", 2);
		if (answer == PROXY_HEADER_CLIENT || answer == PROXY_HEADER_OWN)
			assert_int_equal(used, end + 2 - text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_mutated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
