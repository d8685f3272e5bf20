// SPDX-License-Identifier: BSD-3-Clause
// Messages gathered in a chain for each connection: bytes are written once, in order, in writes
// within the bounds.
#include <stdbool.h>
#include <string.h>

#include "out/gather.h"
#include "test.h"
#include "test_rand.h"

#define CONNECTIONS 5
#define LONGEST 20000

static uint8_t bytes[STREAM_BURST * LONGEST];
static struct gather g;

static void message(unsigned int i, uint8_t *data, uint16_t len)
{
	g.m[i] = (struct stream_message){.data = data, .len = len};
}

static size_t sum(const struct iovec *v, unsigned int n)
{
	size_t all = 0;

	for (unsigned int i = 0; i < n; i++)
		all += v[i].iov_len;
	return all;
}

static void test_chains(void **state)
{
	uint16_t last[2] = {0};
	struct iovec v[GATHER_PIECES];
	struct gather_at cursor;

	g.nb = 0;
	for (unsigned int i = 0; i < 5; i++) {
		message(i, bytes + 100 * i, (uint16_t)(10 + i));
		gather_add(&g, i, &last[i % 2]);
	}
	assert_int_equal(g.nb, 2);
	cursor = (struct gather_at){.i = g.first[0]};
	assert_int_equal(gather_pieces(&g, cursor, v), 3);
	assert_ptr_equal(v[0].iov_base, bytes);
	assert_ptr_equal(v[1].iov_base, bytes + 200);
	assert_ptr_equal(v[2].iov_base, bytes + 400);
	assert_int_equal(sum(v, 3), 10 + 12 + 14);
	assert_int_equal(gather_wrote(&g, &cursor, 10 + 5), 1);
	assert_int_equal(gather_pieces(&g, cursor, v), 2);
	assert_ptr_equal(v[0].iov_base, bytes + 205);
	assert_int_equal(v[0].iov_len, 7);
	assert_int_equal(gather_wrote(&g, &cursor, 7 + 14), 2);
	assert_int_equal(cursor.i, GATHER_END);
	assert_int_equal(gather_pieces(&g, cursor, v), 0);
	cursor = (struct gather_at){.i = g.first[1]};
	assert_int_equal(gather_pieces(&g, cursor, v), 2);
	assert_ptr_equal(v[1].iov_base, bytes + 300);
}

// No message is cut. A write exceeds the limit of bytes only if it has a single message. There are
// no more pieces than there is room for.
static void test_bounds(void **state)
{
	struct iovec v[GATHER_PIECES];
	struct gather_at cursor = {0};
	uint16_t last = 0;

	g.nb = 0;
	for (unsigned int i = 0; i < STREAM_BURST; i++) {
		message(i, bytes + i, 1);
		gather_add(&g, i, &last);
	}
	assert_int_equal(gather_pieces(&g, cursor, v), GATHER_PIECES);
	assert_int_equal(gather_wrote(&g, &cursor, GATHER_PIECES), GATHER_PIECES);
	assert_int_equal(gather_pieces(&g, cursor, v), STREAM_BURST - GATHER_PIECES);
	g.nb = 0;
	cursor = (struct gather_at){0};
	last = 0;
	message(0, bytes, GATHER_BYTES - 1);
	message(1, bytes, UINT16_MAX);
	gather_add(&g, 0, &last);
	gather_add(&g, 1, &last);
	assert_int_equal(gather_pieces(&g, cursor, v), 1);
	message(1, bytes, 1);
	assert_int_equal(gather_pieces(&g, cursor, v), 2);
	message(1, bytes, UINT16_MAX);
	assert_int_equal(gather_wrote(&g, &cursor, GATHER_BYTES - 1), 1);
	assert_int_equal(gather_pieces(&g, cursor, v), 1);
	assert_int_equal(v[0].iov_len, UINT16_MAX);
}

// Writes of any length, until nothing is left.
static void write_all(
	struct test_rand *r, uint16_t first, const uint8_t *want, size_t len, unsigned int messages)
{
	struct gather_at cursor = {.i = first};
	struct iovec v[GATHER_PIECES];
	unsigned int n, ended = 0;
	size_t done = 0;

	while ((n = gather_pieces(&g, cursor, v)) > 0) {
		const size_t all = sum(v, n);
		const size_t k = 1 + test_rand_below(r, (uint32_t)all);
		size_t off = done;

		assert_in_range(all, 1, n > 1 ? GATHER_BYTES : LONGEST);
		for (unsigned int i = 0; i < n; off += v[i++].iov_len)
			assert_memory_equal(v[i].iov_base, want + off, v[i].iov_len);
		ended += gather_wrote(&g, &cursor, k);
		done += k;
	}
	assert_int_equal(done, len);
	assert_int_equal(ended, messages);
}

static void test_random(void **state)
{
	static uint8_t want[CONNECTIONS][sizeof(bytes)];
	struct test_rand r = test_rand_start("gather");

	for (unsigned int round = 0; round < 200; round++) {
		const unsigned int nb = 1 + test_rand_below(&r, STREAM_BURST);
		size_t len[CONNECTIONS] = {0}, used = 0;
		unsigned int messages[CONNECTIONS] = {0};
		uint16_t last[CONNECTIONS] = {0}, first[CONNECTIONS];

		g.nb = 0;
		for (unsigned int i = 0; i < nb; i++) {
			const unsigned int c = test_rand_below(&r, CONNECTIONS);
			const bool is_long = test_rand_below(&r, 20) == 0;
			const uint32_t n = 1 + test_rand_below(&r, is_long ? LONGEST : 300);

			test_rand_fill(&r, bytes + used, n < 300 ? n : 300);
			message(i, bytes + used, (uint16_t)n);
			memcpy(want[c] + len[c], bytes + used, n);
			gather_add(&g, i, &last[c]);
			first[c] = messages[c]++ == 0 ? (uint16_t)i : first[c];
			used += n;
			len[c] += n;
		}
		for (unsigned int c = 0; c < CONNECTIONS; c++) {
			if (messages[c] == 0)
				continue;
			write_all(&r, first[c], want[c], len[c], messages[c]);
			g.nb--;
		}
		assert_int_equal(g.nb, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
