// SPDX-License-Identifier: BSD-3-Clause
// The cookie exchange (RFC 6347 4.2.1) with the ClientHellos of libssl, whole, cut and changed.
#include <stdlib.h>

#include "addr_text.h"
#include "bytes.h"
#include "dtls_world.h"
#include "test_rand.h"

static struct dtls_client client;
static struct datagram hello;
static struct dtls_cookies cookies;
static struct test_rand keys; // all keys differ, even with a given seed
static const struct endpoint server = {{.b = {1}}, 3478};

static void fill(uint8_t *key)
{
	test_rand_fill(&keys, key, DTLS_COOKIE_KEY_LEN);
}

static int setup(void **state)
{
	uint8_t key[DTLS_COOKIE_KEY_LEN];

	keys = test_rand_start("dtls_cookie");
	fill(key);
	dtls_cookies_init(&cookies, key);
	dtls_client_open(&client, NULL);
	assert_false(dtls_client_handshake(&client));
	assert_true(wire_take(&client.out, &hello));
	return 0;
}

static int teardown(void **state)
{
	dtls_client_close(&client);
	return 0;
}

// Makes libssl's client return a cookie made for this end. On a slow machine its timer may make it
// repeat the first hello before that.
static void ask(const struct endpoint *src, struct datagram *second)
{
	uint8_t answer[DTLS_VERIFY_LEN];
	struct dtls_hello h;

	assert_true(dtls_hello_read(hello.data, hello.len, &h));
	dtls_cookie_ask(&cookies, &h, src, &server, answer);
	wire_put(&client.in, answer, sizeof(answer));
	assert_false(dtls_client_handshake(&client));
	do
		assert_true(wire_take(&client.out, second) &&
			dtls_hello_read(second->data, second->len, &h));
	while (h.cookie_len == 0);
}

static void test_exchange(void **state)
{
	const struct endpoint src = addr_text_endpoint("192.0.2.1", 40000);
	const struct endpoint others[] = {addr_text_endpoint("192.0.2.1", 40001),
		addr_text_endpoint("192.0.2.2", 40000), addr_text_endpoint("2001:db8::1", 40000)};
	const struct endpoint elsewhere = {server.addr, 5349};
	struct datagram second;
	struct dtls_hello h;

	assert_true(dtls_hello_read(hello.data, hello.len, &h));
	assert_int_equal(h.cookie_len, 0);
	assert_false(dtls_cookie_good(&cookies, &h, &src, &server));
	assert_true(DTLS_VERIFY_LEN < hello.len); // no amplification
	ask(&src, &second);
	assert_true(dtls_hello_read(second.data, second.len, &h));
	assert_int_equal(h.cookie_len, DTLS_COOKIE_LEN);
	assert_true(dtls_cookie_good(&cookies, &h, &src, &server));
	assert_true(dtls_cookie_good(&cookies, &h, &src, &server)); // and nothing is consumed
	assert_false(dtls_cookie_good(&cookies, &h, &src, &elsewhere));
	for (unsigned int i = 0; i < 3; i++)
		assert_false(dtls_cookie_good(&cookies, &h, &others[i], &server));
}

// The answer has the record number of the hello: we keep no count.
static void test_number(void **state)
{
	uint8_t answer[DTLS_VERIFY_LEN];
	struct dtls_hello h;

	hello.data[9] = 0x12;
	hello.data[10] = 0x34;
	assert_true(dtls_hello_read(hello.data, hello.len, &h));
	dtls_cookie_ask(&cookies, &h, &server, &server, answer);
	assert_int_equal(load_be64(answer + 3), 0x1234);
	assert_int_equal(answer[0], DTLS_HANDSHAKE);
	assert_int_equal(load_be16(answer + 1), 0xfeff);
	assert_int_equal(load_be16(answer + 11), DTLS_VERIFY_LEN - DTLS_RECORD_LEN);
}

static void test_rotate(void **state)
{
	const struct endpoint src = addr_text_endpoint("192.0.2.1", 40000);
	uint8_t key[DTLS_COOKIE_KEY_LEN];
	struct datagram second;
	struct dtls_hello h;

	ask(&src, &second);
	assert_true(dtls_hello_read(second.data, second.len, &h));
	fill(key);
	dtls_cookies_rotate(&cookies, key);
	assert_true(dtls_cookie_good(&cookies, &h, &src, &server));
	fill(key);
	dtls_cookies_rotate(&cookies, key);
	assert_false(dtls_cookie_good(&cookies, &h, &src, &server));
}

// The number tells if a cookie was made before or after a moment.
static void test_count(void **state)
{
	const struct endpoint src = addr_text_endpoint("192.0.2.1", 40000);
	uint8_t answer[2][DTLS_VERIFY_LEN];
	struct dtls_hello h;
	uint64_t then;

	assert_true(dtls_hello_read(hello.data, hello.len, &h));
	dtls_cookie_ask(&cookies, &h, &src, &server, answer[0]);
	then = dtls_cookies_count(&cookies);
	dtls_cookie_ask(&cookies, &h, &src, &server, answer[1]);
	for (unsigned int i = 0; i < 2; i++) {
		h.cookie = answer[i] + DTLS_VERIFY_LEN - DTLS_COOKIE_LEN;
		h.cookie_len = DTLS_COOKIE_LEN;
		assert_true(dtls_cookie_good(&cookies, &h, &src, &server));
		assert_true(
			i == 0 ? dtls_cookie_number(&h) < then : dtls_cookie_number(&h) == then);
	}
}

// Changes that a client may not make between its two ClientHellos, and changes of the cookie.
static void test_changed(void **state)
{
	const struct endpoint src = addr_text_endpoint("192.0.2.1", 40000);
	struct datagram second;
	struct dtls_hello h;
	uint8_t *bytes[3];

	ask(&src, &second);
	assert_true(dtls_hello_read(second.data, second.len, &h));
	bytes[0] = second.data + (h.random - second.data) + 31;
	bytes[1] = second.data + (h.cookie - second.data) + 15;
	bytes[2] = second.data + (h.cookie - second.data); // the cookie of the record
	for (unsigned int i = 0; i < 3; i++) {
		*bytes[i] ^= 1;
		assert_true(dtls_hello_read(second.data, second.len, &h));
		assert_false(dtls_cookie_good(&cookies, &h, &src, &server));
		*bytes[i] ^= 1;
	}
	assert_true(dtls_cookie_good(&cookies, &h, &src, &server));
}

// dimpl 0.7.6 first offers the suites of DTLS 1.3 and 1.2, and with the cookie only those of 1.2.
// The rest of its first ClientHello is padding.
static void test_fewer_suites(void **state)
{
	static const uint8_t first[1150] = {0x16, 0xfe, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x04, 0x71, 0x01, 0x00, 0x04, 0x65, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x04, 0x65, 0xfe, 0xfd, 0x1e, 0xaa, 0x09, 0x67, 0x44, 0xbc, 0x0a, 0x11, 0x14, 0x97,
		0x7d, 0x55, 0x84, 0xbb, 0x7a, 0x54, 0xf6, 0xd0, 0x79, 0x3b, 0xc1, 0x12, 0xc5, 0x6e,
		0xba, 0xcf, 0x88, 0x23, 0xc3, 0x17, 0x1a, 0x64, 0x00, 0x00, 0x00, 0x0c, 0x13, 0x01,
		0x13, 0x02, 0x13, 0x03, 0xc0, 0x2b, 0xc0, 0x2c, 0xcc, 0xa9, 0x01, 0x00, 0x04, 0x2f,
		0x00, 0x2b, 0x00, 0x05, 0x04, 0xfe, 0xfc, 0xfe, 0xfd, 0x00, 0x0a, 0x00, 0x08, 0x00,
		0x06, 0x00, 0x1d, 0x00, 0x17, 0x00, 0x18, 0x00, 0x33, 0x00, 0x26, 0x00, 0x24, 0x00,
		0x1d, 0x00, 0x20, 0x10, 0x41, 0xfc, 0x11, 0x91, 0x2a, 0x36, 0x47, 0xa6, 0x34, 0x9c,
		0xcf, 0x17, 0xf9, 0x09, 0xe1, 0xac, 0x92, 0xbe, 0x75, 0x44, 0x43, 0x01, 0x60, 0x43,
		0x57, 0x01, 0x79, 0x9b, 0x7f, 0x57, 0x46, 0x00, 0x0d, 0x00, 0x06, 0x00, 0x04, 0x04,
		0x03, 0x05, 0x03, 0x00, 0x0e, 0x00, 0x09, 0x00, 0x06, 0x00, 0x08, 0x00, 0x07, 0x00,
		0x01, 0x00, 0x00, 0x0b, 0x00, 0x02, 0x01, 0x00, 0x00, 0x17, 0x00, 0x00, 0xff, 0x01,
		0x00, 0x01, 0x00, 0x00, 0x15, 0x03, 0xc6};
	static const uint8_t with_cookie[] = {0x16, 0xfe, 0xfd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x01, 0x00, 0x81, 0x01, 0x00, 0x00, 0x75, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x75, 0xfe, 0xfd, 0x1e, 0xaa, 0x09, 0x67, 0x44, 0xbc, 0x0a, 0x11, 0x14, 0x97,
		0x7d, 0x55, 0x84, 0xbb, 0x7a, 0x54, 0xf6, 0xd0, 0x79, 0x3b, 0xc1, 0x12, 0xc5, 0x6e,
		0xba, 0xcf, 0x88, 0x23, 0xc3, 0x17, 0x1a, 0x64, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x04, 0x69, 0x6f, 0x41, 0xba, 0x49, 0xaf, 0xec, 0x96, 0xd7, 0x40,
		0x6d, 0xb2, 0xda, 0xf0, 0xa6, 0xc2, 0x00, 0x06, 0xc0, 0x2b, 0xc0, 0x2c, 0xcc, 0xa9,
		0x01, 0x00, 0x00, 0x2d, 0x00, 0x0a, 0x00, 0x08, 0x00, 0x06, 0x00, 0x1d, 0x00, 0x17,
		0x00, 0x18, 0x00, 0x0b, 0x00, 0x02, 0x01, 0x00, 0x00, 0x0d, 0x00, 0x06, 0x00, 0x04,
		0x04, 0x03, 0x05, 0x03, 0x00, 0x0e, 0x00, 0x09, 0x00, 0x06, 0x00, 0x08, 0x00, 0x07,
		0x00, 0x01, 0x00, 0x00, 0x17, 0x00, 0x00};
	const struct endpoint src = addr_text_endpoint("192.0.2.1", 40000);
	uint8_t answer[DTLS_VERIFY_LEN], second[sizeof(with_cookie)];
	struct dtls_hello h;

	assert_true(dtls_hello_read(first, sizeof(first), &h));
	dtls_cookie_ask(&cookies, &h, &src, &server, answer);
	memcpy(second, with_cookie, sizeof(second));
	assert_true(dtls_hello_read(second, sizeof(second), &h));
	assert_int_equal(h.cookie_len, DTLS_COOKIE_LEN);
	assert_false(dtls_cookie_good(&cookies, &h, &src, &server)); // made by another server
	memcpy(second + (h.cookie - second), answer + DTLS_VERIFY_LEN - DTLS_COOKIE_LEN,
		DTLS_COOKIE_LEN);
	assert_true(dtls_cookie_good(&cookies, &h, &src, &server));
}

// Reads from memory that ends where the datagram does.
static bool reads(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct dtls_hello h;
	bool good;

	assert_non_null(copy);
	memcpy(copy, data, len);
	good = dtls_hello_read(copy, len, &h);
	free(copy);
	return good;
}

static void test_malformed(void **state)
{
	struct test_rand r = test_rand_start("dtls_cookie bytes");

	for (size_t len = 0; len < hello.len; len++)
		assert_false(reads(hello.data, len));
	assert_true(reads(hello.data, hello.len));
	hello.data[hello.len] = 0;
	assert_false(reads(hello.data, hello.len + 1u)); // not alone in its datagram
	for (unsigned int i = 0; i < 200000; i++) {
		struct datagram d = hello;

		for (unsigned int k = 0; k <= i % 4; k++)
			d.data[test_rand_below(&r, d.len)] = (uint8_t)test_rand_below(&r, 256);
		reads(d.data, d.len);
		reads(d.data, test_rand_below(&r, d.len + 1u));
	}
}

// RFC 6347 4.2.3: it may come in fragments. The first one is read if it contains the cookie, or its
// place.
static void test_fragment(void **state)
{
	struct dtls_fragment f;
	struct dtls_hello h;

	for (uint8_t len = 1; len < 100; len++) {
		struct datagram d = hello;

		d.len = (uint16_t)(DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN + len);
		store_be16(d.data + 11, (uint16_t)(DTLS_HANDSHAKE_LEN + len));
		d.data[13 + 11] = len;
		assert_int_equal(dtls_hello_read(d.data, d.len, &h), len >= 36);
		assert_false(h.whole);
		assert_true(dtls_hello_fragment(d.data, d.len, &f));
		assert_true(f.off == 0 && f.len == len && f.total == hello.len - 25u);
		d.data[13 + 8] = 1; // fragment_offset
		assert_false(dtls_hello_read(d.data, d.len, &h));
		assert_true(dtls_hello_fragment(d.data, d.len, &f));
	}
	hello.data[13 + 11] -= 1; // fragment_length
	assert_false(dtls_hello_read(hello.data, hello.len, &h));
	hello.data[13 + 11] += 1;
	hello.data[13 + 8] = 1; // fragment_offset
	assert_false(dtls_hello_read(hello.data, hello.len, &h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_exchange, setup, teardown),
		cmocka_unit_test_setup_teardown(test_number, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rotate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fewer_suites, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fragment, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
