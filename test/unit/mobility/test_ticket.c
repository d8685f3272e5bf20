// SPDX-License-Identifier: BSD-3-Clause
// Tickets tell their contents to the server that made them, and nothing to anybody else.
#include <string.h>

#include "features/mobility/ticket.h"
#include "stun.h"
#include "test.h"

static struct stun_crypto *crypto;
static struct ticket_keys keys;
static const uint8_t boot[32] = "thirty-two bytes that outlive it";

static int setup(void **state)
{
	crypto = stun_crypto_create();
	assert_non_null(crypto);
	assert_true(ticket_keys_make(crypto, "fleet", 5, boot, &keys));
	return 0;
}

static int teardown(void **state)
{
	stun_crypto_free(crypto);
	return 0;
}

static void seal(uint64_t handle, uint32_t serial, uint8_t out[TICKET_LEN])
{
	assert_true(ticket_seal(crypto, &keys, &(struct ticket){handle, serial}, out));
}

static void test_back(void **state)
{
	static const struct ticket all[] = {{1, 1}, {UINT64_MAX, UINT32_MAX}, {0, 0},
		{UINT64_C(0x0123456789abcdef), 0x89abcdef}};
	uint8_t text[TICKET_LEN];
	struct ticket t;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		seal(all[i].handle, all[i].serial, text);
		assert_true(ticket_open(crypto, &keys, text, &t));
		assert_true(t.handle == all[i].handle);
		assert_int_equal(t.serial, all[i].serial);
	}
}

// Clients keep it as a C string.
static void test_text(void **state)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t text[TICKET_LEN];

	for (uint32_t i = 0; i < 1000; i++) {
		seal(i, i, text);
		for (size_t k = 0; k < TICKET_LEN; k++) {
			assert_int_not_equal(text[k], 0);
			assert_non_null(strchr(digits, text[k]));
		}
	}
}

// RFC 8016: encrypted and authenticated. Two tickets of one allocation share no bytes.
static void test_sealed(void **state)
{
	uint8_t a[TICKET_LEN], b[TICKET_LEN];
	unsigned int same = 0;

	seal(7, 1, a);
	seal(7, 2, b);
	for (size_t i = 0; i < TICKET_LEN; i++)
		same += a[i] == b[i];
	assert_in_range(same, 0, 6);
}

static void test_any_change(void **state)
{
	uint8_t text[TICKET_LEN];
	struct ticket t;

	seal(7, 1, text);
	for (size_t i = 0; i < TICKET_LEN; i++) {
		const uint8_t was = text[i];

		for (unsigned int c = 0; c < 256; c++) {
			text[i] = (uint8_t)c;
			assert_true(ticket_open(crypto, &keys, text, &t) == (c == was));
		}
		text[i] = was;
	}
}

// Servers of a fleet share the secret, but none accepts the tickets of another.
static void test_other_box(void **state)
{
	static const uint8_t other_boot[32] = "another box of the same fleet...";
	struct ticket_keys foreign;
	uint8_t text[TICKET_LEN];
	struct ticket t;

	seal(7, 1, text);
	assert_true(ticket_keys_make(crypto, "fleet", 5, other_boot, &foreign));
	assert_memory_equal(foreign.tag, keys.tag, 32);
	assert_memory_equal(foreign.seal, keys.seal, 32);
	assert_false(ticket_open(crypto, &foreign, text, &t));
	assert_true(ticket_keys_make(crypto, "other", 5, boot, &foreign));
	assert_false(ticket_open(crypto, &foreign, text, &t));
	assert_true(ticket_keys_make(crypto, "fleet", 5, boot, &foreign));
	assert_true(ticket_open(crypto, &foreign, text, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_any_change),
		cmocka_unit_test(test_other_box),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
