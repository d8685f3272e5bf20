// SPDX-License-Identifier: BSD-3-Clause
// The length fields in a client's handshake, in whole and cut records (RFC 8446 4, 5.1).
#include <string.h>

#include "bytes.h"
#include "identity/tls_hello.h"
#include "test.h"

enum { CHANGE_CIPHER_SPEC = 20, ALERT = 21, HANDSHAKE = 22, APPLICATION_DATA = 23 };

static uint8_t sent[4 * TLS_HELLO_MAX];
static size_t nb_sent;

static void record(uint8_t type, const void *data, uint16_t len)
{
	uint8_t *p = sent + nb_sent;

	p[0] = type;
	store_be16(p + 1, 0x0303);
	store_be16(p + 3, len);
	memcpy(p + 5, data, len);
	nb_sent += 5u + len;
}

// A message that announces a length, of which the first len bytes are there.
static void message(uint8_t *out, uint32_t says, size_t len)
{
	memset(out, 0xff, len);
	store_be32(out, says);
	out[0] = 1;
}

static void handshake(uint32_t says, uint16_t len)
{
	static uint8_t m[TLS_HELLO_MAX];

	message(m, says, len);
	record(HANDSHAKE, m, len);
}

// True if the sent messages fit. The length of the pieces in which they come must not matter.
static bool fits(bool is_12)
{
	bool whole = false;

	for (size_t piece = nb_sent; piece > 0; piece = piece > 8 ? piece / 3 : piece - 1) {
		struct tls_hello h = {0};
		bool good = true;

		for (size_t offset = 0; offset < nb_sent && good; offset += piece)
			good = tls_hello_fits(&h, sent + offset,
				nb_sent - offset < piece ? nb_sent - offset : piece, is_12);
		if (piece == nb_sent)
			whole = good;
		assert_int_equal(good, whole);
	}
	nb_sent = 0;
	return whole;
}

static void test_length(void **state)
{
	handshake(TLS_HELLO_MAX, 9);
	assert_true(fits(false));
	handshake(TLS_HELLO_MAX + 1, 9);
	assert_false(fits(false));
	handshake(0xffffff, 4);
	assert_false(fits(true));
}

// The message after it is checked, too: in that record, in the next one, and where a record ends
// within its header.
static void test_second(void **state)
{
	uint8_t two[64];

	message(two, 40, 44);
	message(two + 44, TLS_HELLO_MAX + 1, 20);
	record(HANDSHAKE, two, 64);
	assert_false(fits(false));
	for (uint16_t first = 1; first < 64; first++) {
		record(HANDSHAKE, two, first);
		record(HANDSHAKE, two + first, 64 - first);
		assert_false(fits(false));
	}
	message(two + 44, TLS_HELLO_MAX, 20);
	record(HANDSHAKE, two, 64);
	assert_true(fits(false));
}

// After a HelloRetryRequest a client of TLS 1.3 sends a ChangeCipherSpec without effect (RFC 8446
// D.4), and another ClientHello in the clear. In TLS 1.2 everything after it is encrypted.
static void test_change_cipher_spec(void **state)
{
	for (unsigned int is_12 = 0; is_12 < 2; is_12++) {
		handshake(40, 44);
		record(CHANGE_CIPHER_SPEC, "\1", 1);
		handshake(TLS_HELLO_MAX + 1, 9);
		assert_int_equal(fits(is_12), is_12);
	}
}

// Records of other types contain no handshake messages, whatever their bytes are.
static void test_others(void **state)
{
	static const uint8_t others[] = {CHANGE_CIPHER_SPEC, ALERT, APPLICATION_DATA};
	uint8_t m[9];

	message(m, TLS_HELLO_MAX + 1, sizeof(m));
	for (size_t i = 0; i < sizeof(others); i++) {
		record(others[i], m, sizeof(m));
		record(HANDSHAKE, m, 0); // empty
		assert_true(fits(false));
		record(others[i], m, sizeof(m));
		handshake(TLS_HELLO_MAX + 1, 9);
		assert_false(fits(false));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_second),
		cmocka_unit_test(test_change_cipher_spec),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests_name("tls_hello", tests, NULL, NULL);
}
