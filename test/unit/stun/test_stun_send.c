// SPDX-License-Identifier: BSD-3-Clause
// The fast recognition of a Send indication against the parser: the parser reads every message that
// it accepts in the same way, and it accepts the usual messages.
#include <stdlib.h>

#include "addr_text.h"
#include "send_indication.h"
#include "stun.h"
#include "test.h"
#include "test_rand.h"

static struct test_rand rnd;

// A message of len random bytes of data.
static size_t make(uint8_t *buf, size_t cap, const struct endpoint *peer, uint16_t len)
{
	uint8_t tid[STUN_TID_LEN], data[2048];
	struct stun_writer w;

	test_rand_fill(&rnd, tid, sizeof(tid));
	test_rand_fill(&rnd, data, len);
	stun_begin(&w, buf, cap, STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, peer);
	stun_put(&w, STUN_DATA_ATTR, data, len);
	assert_int_not_equal(stun_end(&w), 0);
	return stun_end(&w);
}

// In a block of exactly its length, at an odd address. If accepted, the parser finds the same peer
// and data. Returns the result of the fast recognition.
static uint16_t ask(const uint8_t *message, size_t len, const struct endpoint *peer)
{
	uint8_t *block = malloc(len + 1), *m = block + 1;
	struct endpoint got = {0};
	struct stun_msg parsed;
	uint16_t data_len = 0xabcd, front;
	int family = 0;

	assert_non_null(block);
	memcpy(m, message, len);
	front = send_indication(m, (uint16_t)len, peer, &data_len);
	if (front != 0) {
		assert_int_equal(stun_parse(m, len, &parsed), 0);
		assert_int_equal(parsed.cls, STUN_INDICATION);
		assert_int_equal(parsed.method, STUN_SEND);
		assert_int_equal(parsed.nb_unknown, 0);
		assert_false(parsed.fingerprint_bad);
		for (unsigned int a = 0; a < STUN_NB_ATTRS; a++)
			assert_int_equal(stun_has(&parsed, (enum stun_attr)a),
				a == STUN_XOR_PEER_ADDRESS || a == STUN_DATA_ATTR);
		assert_true(stun_decode_xor_addr(&parsed, parsed.off[STUN_XOR_PEER_ADDRESS],
			parsed.alen[STUN_XOR_PEER_ADDRESS], &got, &family));
		assert_true(endpoint_eq(&got, peer));
		assert_int_equal(family, addr_is_v4(&peer->addr) ? 4 : 6);
		assert_int_equal(parsed.off[STUN_DATA_ATTR], front);
		assert_int_equal(parsed.alen[STUN_DATA_ATTR], data_len);
	}
	free(block);
	return front;
}

static const struct {
	const char *addr;
	uint16_t front; // RFC 8489 14.2: 4 + 4 or 16 bytes of address
} peers[] = {{"10.99.0.30", 36}, {"fd99::30", 48}, {"::", 48}, {"::10.99.0.30", 48}};

#define EACH_PEER(i) for (unsigned int i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)

static void test_usual(void **state)
{
	EACH_PEER(i)
	{
		const struct endpoint peer = addr_text_endpoint(peers[i].addr, 7000);

		for (uint16_t n = 0; n < 1500; n++) {
			uint8_t m[2048];

			assert_int_equal(
				ask(m, make(m, sizeof(m), &peer, n), &peer), peers[i].front);
		}
	}
}

// The most that an IPv4 datagram carries, and more than STUN's length can express.
static void test_long(void **state)
{
	static uint8_t m[65536 + 64];
	uint16_t len;

	EACH_PEER(i)
	{
		const struct endpoint peer = addr_text_endpoint(peers[i].addr, 7000);
		const uint16_t front = peers[i].front, most = (uint16_t)((65507 - front) & ~3);

		make(m, 2048, &peer, 0);
		store_be16(m + 2, (uint16_t)(front - 20 + most));
		store_be16(m + front - 2, most);
		assert_int_equal(ask(m, (size_t)front + most, &peer), front);
		store_be16(m + front - 2, most - 3);
		assert_int_equal(ask(m, (size_t)front + most, &peer), front);
		store_be16(m + front - 2, most - 4);
		assert_int_equal(ask(m, (size_t)front + most, &peer), 0);
		for (uint32_t n = 65533; n < 65536; n++) {
			store_be16(m + front - 2, (uint16_t)n);
			store_be16(m + 2, (uint16_t)(front - 20 + 65536));
			for (uint32_t k = 0; k < 65536; k += 4)
				assert_int_equal(send_indication(m, (uint16_t)k, &peer, &len), 0);
		}
	}
}

// Flips every bit, and every pair of adjacent bits.
static void test_bits(void **state)
{
	unsigned int yes = 0;

	EACH_PEER(i)
	{
		const struct endpoint peer = addr_text_endpoint(peers[i].addr, 7000);

		for (uint16_t n = 0; n < 9; n++) {
			uint8_t m[256];
			const size_t len = make(m, sizeof(m), &peer, n);

			for (size_t bit = 0; bit < 8 * len; bit++) {
				m[bit / 8] ^= (uint8_t)(1 << bit % 8);
				yes += ask(m, len, &peer) != 0;
				m[bit / 8] ^= (uint8_t)(2 << bit % 8);
				yes += ask(m, len, &peer) != 0;
				m[bit / 8] ^= (uint8_t)(3 << bit % 8);
			}
		}
	}
	assert_true(yes > 100); // the data, its padding, bits without meaning
}

// Any changed bit of the expected peer, or of the peer in the message.
static void test_other_peer(void **state)
{
	EACH_PEER(i)
	{
		const struct endpoint peer = addr_text_endpoint(peers[i].addr, 7000);
		uint8_t m[256];
		const size_t len = make(m, sizeof(m), &peer, 20);

		for (unsigned int bit = 0; bit < 144; bit++) {
			struct endpoint altered = peer;

			if (bit < 128)
				altered.addr.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
			else
				altered.port ^= (uint16_t)(1 << (bit - 128));
			assert_int_equal(ask(m, len, &altered), 0);
		}
		for (unsigned int k = 0; k < sizeof(peers) / sizeof(peers[0]); k++) {
			const struct endpoint asked = addr_text_endpoint(peers[k].addr, 7000);

			assert_int_equal(ask(m, len, &asked), k == i ? peers[i].front : 0);
		}
	}
}

// An IPv4 peer in an IPv6 attribute (RFC 4291 2.5.5.2) is refused by the fast recognition.
static void test_mapped(void **state)
{
	const struct endpoint v4 = addr_text_endpoint("10.99.0.30", 7000),
			      v6 = addr_text_endpoint("fd99::30", 7000);
	uint8_t m[256];
	const size_t len = make(m, sizeof(m), &v6, 20);

	for (unsigned int k = 0; k < 16; k++)
		m[28 + k] = v4.addr.b[k] ^ m[4 + k];
	assert_int_equal(ask(m, len, &v4), 0);
}

static void test_cut(void **state)
{
	EACH_PEER(i)
	{
		const struct endpoint peer = addr_text_endpoint(peers[i].addr, 7000);

		for (uint16_t n = 0; n < 40; n++) {
			uint8_t m[256];
			const size_t len = make(m, sizeof(m), &peer, n);

			for (size_t k = 0; k < len; k++) {
				assert_int_equal(ask(m, k, &peer), 0);
				if (k < 20)
					continue;
				store_be16(m + 2, (uint16_t)(k - 20)); // a matching header
				assert_int_equal(ask(m, k, &peer), 0);
			}
		}
	}
}

// Words replaced by edge cases of lengths, types and their arithmetic.
static void test_words(void **state)
{
	static const uint16_t edges[] = {0, 1, 3, 4, 8, 0x12, 0x13, 0x16, 0x17, 0x1a, 20, 0x8022,
		0x8028, 0x7fff, 0x8000, 0xfffc, 0xfffd, 0xffff};
	unsigned int yes = 0;

	for (unsigned int round = 0; round < 100000; round++) {
		const unsigned int i = test_rand_below(&rnd, 4);
		const struct endpoint peer = addr_text_endpoint(peers[i].addr, 7000);
		uint8_t m[256];
		size_t len = make(m, sizeof(m), &peer, (uint16_t)test_rand_below(&rnd, 13));

		for (unsigned int n = test_rand_below(&rnd, 3); n > 0; n--) {
			const size_t pos = 2 * test_rand_below(&rnd, (uint32_t)len / 2);
			const int delta = (int)test_rand_below(&rnd, 17) - 8;

			store_be16(m + pos,
				test_rand_below(&rnd, 2) ? (uint16_t)(load_be16(m + pos) + delta)
							 : edges[test_rand_below(&rnd, 18)]);
		}
		if (test_rand_below(&rnd, 4) == 0)
			len += 4 * test_rand_below(&rnd, 4);
		yes += ask(m, len, &peer) != 0;
	}
	assert_in_range(yes, 20000, 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_other_peer),
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_words),
	};

	rnd = test_rand_start("stun_send");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
