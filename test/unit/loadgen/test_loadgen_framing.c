// SPDX-License-Identifier: BSD-3-Clause
// Where messages end in a byte stream (RFC 8656 12.5; RFC 8489 5).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bytes.h"
#include "client/framing.h"
#include "stun.h"

static uint8_t text[70000];
static struct framing f;

static void stun(uint16_t type, uint16_t len)
{
	store_be16(text, type);
	store_be16(text + 2, len);
	store_be32(text + 4, STUN_COOKIE);
}

static void channel(uint16_t number, uint16_t len)
{
	store_be16(text, number);
	store_be16(text + 2, len);
}

// Every beginning of a message is short, and the whole one whole, whatever follows.
static void assert_whole(uint32_t len, uint32_t size)
{
	for (size_t n = 0; n < size; n++) {
		assert_int_equal(framing_scan(text, n, &f), FRAMING_SHORT);
		assert_int_equal(f.size, n >= 4 ? size : 0);
	}
	for (size_t more = 0; more < 8; more++) {
		assert_int_equal(framing_scan(text, size + more, &f), FRAMING_WHOLE);
		assert_int_equal(f.len, len);
		assert_int_equal(f.size, size);
	}
}

static void stun_tells_its_length(void **state)
{
	stun(0x0101, 0);
	assert_whole(20, 20);
	stun(0x0113, 96);
	assert_whole(116, 116);
	stun(0x0017, 0xfffc);
	assert_whole(65552, 65552);
}

static void channel_data_is_padded(void **state)
{
	static const uint32_t padded[] = {0, 4, 4, 4, 4, 8};

	for (uint16_t n = 0; n < 6; n++) {
		channel((uint16_t)(0x4000 + n), n);
		assert_whole(4 + n, 4 + padded[n]);
	}
	channel(0x4fff, 0xffff);
	assert_int_equal(framing_scan(text, 65540, &f), FRAMING_WHOLE);
	assert_int_equal(f.len, 65539);
	assert_int_equal(f.size, 65540);
	assert_int_equal(framing_pad(65539), 1);
	assert_int_equal(framing_pad(0), 0);
	assert_int_equal(framing_pad(5), 3);
}

static void what_is_neither(void **state)
{
	for (unsigned int first = 0; first < 256; first++) {
		const bool good = first < 4 || (first >= 0x40 && first <= 0x4f);

		memset(text, 0, 64);
		stun(0x0101, 0);
		text[0] = (uint8_t)first;
		assert_int_equal(framing_scan(text, 1, &f), good ? FRAMING_SHORT : FRAMING_BAD);
		assert_int_equal(framing_scan(text, 64, &f) == FRAMING_BAD, !good);
	}
	stun(0x0101, 2); // not a multiple of four
	assert_int_equal(framing_scan(text, 4, &f), FRAMING_BAD);
	stun(0x0101, 0);
	text[7] ^= 1; // no cookie
	assert_int_equal(framing_scan(text, 7, &f), FRAMING_SHORT);
	assert_int_equal(framing_scan(text, 8, &f), FRAMING_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stun_tells_its_length),
		cmocka_unit_test(channel_data_is_padded),
		cmocka_unit_test(what_is_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
