// SPDX-License-Identifier: BSD-3-Clause
// The stamp in every payload: it is read back as written, and damage of any kind is detected.
#include <string.h>

#include "bytes.h"
#include "measure/crc32c.h"
#include "net.h"
#include "measure/stamp.h"
#include "test.h"
#include "test_rand.h"

static uint8_t payload[STAMP_PAYLOAD_MAX + 64], broken[STAMP_PAYLOAD_MAX + 64];

static int set_up(void **state)
{
	stamp_init();
	return 0;
}

static struct stamp random_stamp(struct test_rand *r, size_t len)
{
	return (struct stamp){.tag = (uint32_t)test_rand(r),
		.flow = test_rand_below(r, 100000),
		.seq = test_rand_below(r, 1000000),
		.len = (uint16_t)len,
		.dir = (uint8_t)test_rand_below(r, 3),
		.epoch = (uint8_t)test_rand(r),
		.ticks = test_rand(r) >> 8};
}

// Makes a payload like a sender; returns its length.
static size_t make(struct test_rand *r, size_t len)
{
	const struct stamp s = random_stamp(r, len);

	memset(payload, 0xee, sizeof(payload));
	memcpy(payload, stamp_pattern(), len);
	stamp_write(payload, &s);
	return len;
}

static bool is_found(const uint8_t *data, size_t len)
{
	struct stamp s;

	return stamp_read(data, len, &s) == STAMP_CORRUPT;
}

// Other programs read the layout, too; the CRC-32C is computed here bit by bit, most significant
// polynomial first.
static void test_layout(void **state)
{
	static const uint8_t head[24] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
		0x0b, 0x0c, 0x00, 0x78, 0x02, 0x99, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17};
	const struct stamp s = {.tag = 0x01020304,
		.flow = 0x05060708,
		.seq = 0x090a0b0c,
		.len = 120,
		.dir = 2,
		.epoch = 0x99,
		.ticks = 0x1011121314151617};
	uint32_t crc = 0xffffffff, reflected = 0;

	memcpy(payload, stamp_pattern(), 120);
	stamp_write(payload, &s);
	assert_memory_equal(payload, head, 24);
	assert_memory_equal(payload + STAMP_LEN, stamp_pattern() + STAMP_LEN, 120 - STAMP_LEN);
	for (int bit = 0; bit < 24 * 8; bit++) {
		const uint32_t in = head[bit / 8] >> bit % 8 & 1;

		crc = crc << 1 ^ ((crc >> 31 ^ in) != 0 ? 0x1edc6f41 : 0);
	}
	for (int bit = 0; bit < 32; bit++)
		reflected |= (crc >> bit & 1) << (31 - bit);
	assert_int_equal(load_be32(payload + 24), (uint32_t)~reflected);
}

// RFC 3720 appendix B.4, bytes in the order of transmission there.
static void test_crc32c(void **state)
{
	struct test_rand r = test_rand_start("crc32c");
	uint8_t block[48];

	memset(block, 0, 32);
	assert_int_equal(crc32c_words(block, 4), 0x8a9136aa);
	memset(block, 0xff, 32);
	assert_int_equal(crc32c_words(block, 4), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		block[i] = (uint8_t)i;
	assert_int_equal(crc32c_words(block, 4), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		block[i] = (uint8_t)(31 - i);
	assert_int_equal(crc32c_words(block, 4), 0x113fdb5c);
	for (int i = 0; i < 10000; i++) {
		test_rand_fill(&r, block, sizeof(block));
		assert_int_equal(crc32c_words(block, 3), crc32c_portable(block, 3));
		assert_int_equal(crc32c_words(block + 1, 5), crc32c_portable(block + 1, 5));
	}
}

// A stamp is read back as written, and its sum is the one that the UDP checksum needs.
static void test_round_trip(void **state)
{
	struct test_rand r = test_rand_start("round trip");

	for (int i = 0; i < 20000; i++) {
		const size_t len = i < 1000
			? STAMP_LEN + (size_t)i
			: STAMP_LEN + test_rand_below(&r, STAMP_PAYLOAD_MAX - STAMP_LEN + 1);
		const struct stamp in = random_stamp(&r, len);
		struct stamp out;
		uint32_t sum;

		memcpy(payload, stamp_pattern(), len);
		sum = stamp_write(payload, &in);
		assert_true(sum < 1u << 20);
		assert_int_equal(csum_fold(sum), csum_fold(csum_add(0, payload, STAMP_LEN)));
		assert_int_equal(stamp_read(payload, len, &out), STAMP_OK);
		assert_int_equal(out.tag, in.tag);
		assert_int_equal(out.flow, in.flow);
		assert_int_equal(out.seq, in.seq);
		assert_int_equal(out.len, in.len);
		assert_int_equal(out.dir, in.dir);
		assert_int_equal(out.epoch, in.epoch);
		assert_int_equal(out.ticks, in.ticks);
	}
}

// Every field at its limits.
static void test_sum_ends(void **state)
{
	struct stamp s;

	for (int ones = 0; ones < 2; ones++) {
		uint32_t sum;

		memset(&s, ones ? 0xff : 0, sizeof(s));
		sum = stamp_write(payload, &s);
		assert_int_equal(csum_fold(sum), csum_fold(csum_add(0, payload, STAMP_LEN)));
	}
}

// Every single bit anywhere; in the stamp every run of up to 32 bits, and longer ones.
static void test_bit_flips(void **state)
{
	struct test_rand r = test_rand_start("flips");

	for (int run = 0; run < 20; run++) {
		const size_t len = make(&r, run == 0 ? STAMP_LEN : 28 + test_rand_below(&r, 1400));

		for (size_t bit = 0; bit < len * 8; bit++) {
			payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_true(is_found(payload, len));
			payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		for (unsigned int a = 0; a < STAMP_LEN * 8; a++) {
			memcpy(broken, payload, len);
			broken[a / 8] ^= (uint8_t)(1u << a % 8);
			for (unsigned int b = a + 1; b < STAMP_LEN * 8; b++) {
				broken[b / 8] ^= (uint8_t)(1u << b % 8);
				assert_true(is_found(broken, len)); // as a run: a .. b
				if (b - a >= 32)
					broken[b / 8] ^= (uint8_t)(1u << b % 8);
			}
		}
		assert_false(is_found(payload, len));
	}
}

// Every pair of bits of a stamp.
static void test_pairs(void **state)
{
	struct test_rand r = test_rand_start("pairs");
	const size_t len = make(&r, 120);

	for (unsigned int a = 0; a < STAMP_LEN * 8; a++) {
		payload[a / 8] ^= (uint8_t)(1u << a % 8);
		for (unsigned int b = a + 1; b < STAMP_LEN * 8; b++) {
			payload[b / 8] ^= (uint8_t)(1u << b % 8);
			assert_true(is_found(payload, len));
			payload[b / 8] ^= (uint8_t)(1u << b % 8);
		}
		payload[a / 8] ^= (uint8_t)(1u << a % 8);
	}
}

// Random damage of many bits, or of a few bytes.
static void test_damage(void **state)
{
	struct test_rand r = test_rand_start("damage");
	const size_t len = make(&r, 120);

	for (int i = 0; i < 300000; i++) {
		const uint32_t span = i % 2 == 0 ? STAMP_LEN : (uint32_t)len;

		memcpy(broken, payload, len);
		for (uint32_t n = 1 + test_rand_below(&r, 40); n > 0; n--)
			broken[test_rand_below(&r, span)] ^=
				(uint8_t)(1u << test_rand_below(&r, 8));
		assert_int_equal(is_found(broken, len), memcmp(broken, payload, len) != 0);
		memcpy(broken, payload, len);
		for (uint32_t n = 1 + test_rand_below(&r, 4); n > 0; n--)
			broken[test_rand_below(&r, span)] = (uint8_t)test_rand(&r);
		assert_int_equal(is_found(broken, len), memcmp(broken, payload, len) != 0);
	}
}

// Truncated or padded to any other length, with its own bytes, with zeros or with more of the
// pattern.
static void test_lengths(void **state)
{
	struct test_rand r = test_rand_start("lengths");
	struct stamp longer;

	for (int run = 0; run < 50; run++) {
		const size_t len = make(&r, STAMP_LEN + test_rand_below(&r, 1500));

		for (size_t n = 0; n < len + 40; n++)
			if (n != len)
				assert_true(is_found(payload, n));
		memcpy(payload + STAMP_LEN, stamp_pattern() + STAMP_LEN, 3000);
		for (size_t n = 0; n < 3000; n++)
			assert_int_equal(is_found(payload, n), n != len);
	}
	assert_true(is_found(payload, 0));
	make(&r, STAMP_PAYLOAD_MAX);
	assert_false(is_found(payload, STAMP_PAYLOAD_MAX));
	assert_true(is_found(payload, STAMP_PAYLOAD_MAX + 1));
	longer = random_stamp(&r, STAMP_PAYLOAD_MAX + 1); // whose check and length are right
	stamp_write(payload, &longer);
	assert_true(is_found(payload, STAMP_PAYLOAD_MAX + 1));
	assert_true(is_found(payload, SIZE_MAX));
}

// Asserts detection, unless the bytes that moved in are equal by chance.
static void assert_moved(size_t len)
{
	assert_int_equal(is_found(broken, len), memcmp(broken, payload, len) != 0);
}

// A server that removes a header or leaves one: everything after some position moves by some bytes.
static void test_shifts(void **state)
{
	struct test_rand r = test_rand_start("shifts");

	for (int run = 0; run < 60; run++) {
		const size_t len = make(&r, STAMP_LEN + 1 + test_rand_below(&r, 300));

		for (size_t offset = 0; offset < len; offset++) {
			for (size_t shift = 1; shift <= 64; shift++) {
				memcpy(broken, payload, offset);
				memcpy(broken + offset, payload + offset + shift, len - offset);
				assert_moved(len); // towards the front
				memcpy(broken + offset, stamp_pattern() + 5000, shift);
				memcpy(broken + offset + shift, payload + offset, len - offset);
				assert_moved(len); // towards the back
			}
		}
	}
}

// Two pieces of the payload, or the tails of two payloads, are swapped.
static void test_swaps(void **state)
{
	struct test_rand r = test_rand_start("swaps");
	const size_t len = make(&r, 600);

	for (int i = 0; i < 200000; i++) {
		const uint32_t n = 1 + test_rand_below(&r, 32);
		const uint32_t a = test_rand_below(&r, 600 - n), b = test_rand_below(&r, 600 - n);

		memcpy(broken, payload, len);
		memcpy(broken + a, payload + b, n);
		memcpy(broken + b, payload + a, n);
		assert_int_equal(is_found(broken, len), memcmp(broken, payload, len) != 0);
	}
	for (size_t i = STAMP_LEN; i + 1 < STAMP_PAYLOAD_MAX; i++)
		assert_int_not_equal(stamp_pattern()[i], stamp_pattern()[i + 1]);
	for (size_t cut = 1; cut < STAMP_LEN; cut++) {
		uint8_t first[600];

		make(&r, 600);
		memcpy(first, payload, len);
		make(&r, 600);
		memcpy(broken, first, len);
		memcpy(broken + cut, payload + cut, len - cut);
		// the last bytes may be equal, and then nothing is damaged
		if (memcmp(broken, payload, len) != 0 && memcmp(broken, first, len) != 0)
			assert_true(is_found(broken, len));
	}
}

// No byte repeats within 64, so that shifts are detected at once; and the pattern has no period.
static void test_pattern(void **state)
{
	const uint8_t *p = stamp_pattern();

	for (size_t i = 0; i < STAMP_PAYLOAD_MAX; i++)
		for (size_t k = i < 64 ? 0 : i - 64; k < i; k++)
			assert_int_not_equal(p[i], p[k]);
	for (size_t shift = 1; shift + 64 <= STAMP_PAYLOAD_MAX; shift++)
		assert_memory_not_equal(p, p + shift, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_sum_ends),
		cmocka_unit_test(test_bit_flips),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_shifts),
		cmocka_unit_test(test_swaps),
		cmocka_unit_test(test_pattern),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
