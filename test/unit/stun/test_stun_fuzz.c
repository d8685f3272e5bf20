// SPDX-License-Identifier: BSD-3-Clause
// Mutations of the published messages through every parser, each in an exact-size block at an odd
// address. Meant for ASan and UBSan; the test also checks the bounds that the parser promises.
// STUN_FUZZ_ROUNDS makes a run longer.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stun.h"
#include "stun_vectors.h"
#include "test.h"
#include "test_rand.h"

#define ROUNDS 200000
#define ROOM 256

static struct test_rand rnd;

static uint32_t below(uint32_t bound)
{
	return test_rand_below(&rnd, bound);
}

// Values at the limits of lengths, types and their arithmetic.
static uint16_t edge(void)
{
	static const uint16_t edges[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 19, 20, 21, 31, 32, 33, 0x7f,
		0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xfffb, 0xfffc, 0xfffd, 0xffff, 0x0008, 0x001c,
		0x8028, 0x0012, 0x0006, 0x0024};

	return edges[below(sizeof(edges) / sizeof(edges[0]))];
}

static size_t mutate(uint8_t *b, size_t len)
{
	for (uint32_t n = 1 + below(4); n > 0 && len > 0; n--) {
		const size_t pos = below((uint32_t)len);
		const size_t word = pos & ~(size_t)3;

		switch (below(6)) {
		case 0:
			b[pos] ^= (uint8_t)(1 << below(8));
			break;
		case 1:
			b[pos] = (uint8_t)below(256);
			break;
		case 2: // a type or a length
			if (word + 4 <= len)
				store_be16(b + word + 2 * below(2), edge());
			break;
		case 3: // truncate
			len = pos;
			break;
		case 4: // drop a word
			if (word + 4 <= len) {
				memmove(b + word, b + word + 4, len - word - 4);
				len -= 4;
			}
			break;
		default: // repeat some words
			if (len + 8 <= ROOM && word + 8 <= len) {
				memmove(b + word + 8, b + word, len - word);
				len += 8;
			}
			break;
		}
	}
	// Usually correct the length, or nothing would pass the header check.
	if (len >= 20 && below(8) != 0)
		store_be16(b + 2, (uint16_t)(len - 20));
	return len;
}

static void read_all(struct stun_crypto *crypto, const struct stun_msg *m)
{
	const struct stun_key key = {.bytes = "key", .len = 3};
	uint16_t pos = 0, type = 0, steps = 0;

	for (enum stun_attr a = 0; a < STUN_NB_ATTRS; a++) {
		uint16_t off, alen;
		struct endpoint e;
		uint32_t v;
		int family;

		assert_true(m->off[a] + m->alen[a] <= m->len);
		assert_true(!stun_has(m, a) || m->off[a] >= 24);
		stun_get_u32(m, a, &v);
		if (stun_has(m, a) && stun_decode_xor_addr(m, m->off[a], m->alen[a], &e, &family))
			assert_true(family == 4 || family == 6);
		for (pos = 0, steps = 0; stun_next(m, a, &pos, &off, &alen); steps++) {
			assert_true(off + alen <= m->len);
			if (steps == 0)
				assert_int_equal(off, m->off[a]);
		}
		assert_true(steps <= m->len / 4);
	}
	for (pos = 0, steps = 0; stun_next_unknown(m, &pos, &type); steps++)
		assert_true(type < 0x8000);
	assert_int_equal(steps, m->nb_unknown);
	assert_false(stun_integrity_ok(crypto, m, &key));
	assert_memory_equal(stun_tid(m), m->data + 8, 12);
}

static void test_fuzz(void **state)
{
	struct stun_crypto *const crypto = stun_crypto_create();
	const char *const rounds = getenv("STUN_FUZZ_ROUNDS");
	const long n = rounds != NULL ? atol(rounds) : ROUNDS;
	long accepted = 0;

	assert_non_null(crypto);
	for (long i = 0; i < n; i++) {
		const struct vector *const v = &vectors[below(NB_VECTORS)];
		uint8_t b[ROOM];
		struct odd_copy c;
		struct stun_msg m;
		size_t len;
		int rc;

		memcpy(b, v->data, v->len);
		len = mutate(b, v->len);
		c = stun_vectors_odd_copy(b, len);
		rc = stun_parse(c.data, len, &m);
		assert_true(rc == 0 || rc == -EBADMSG);
		if (rc == 0) {
			accepted++;
			read_all(crypto, &m);
		}
		assert_memory_equal(c.data, b, len);
		free(c.block);
	}
	// A fuzzer whose messages are all refused tests nothing.
	assert_true(accepted > n / 10);
	stun_crypto_free(crypto);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fuzz)};

	rnd = test_rand_start("stun_fuzz");
	return cmocka_run_group_tests_name("stun_fuzz", tests, NULL, NULL);
}
