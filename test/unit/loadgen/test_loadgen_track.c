// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers of a flow that have been seen: late ones, duplicates and jumps, against a plain
// set.
#include <stdbool.h>
#include <string.h>

#include "test.h"
#include "test_rand.h"
#include "measure/track.h"

#define NUMBERS 20000

static struct track track;

static void test_basics(void **state)
{
	track = (struct track){.epoch = 7};
	assert_int_equal(track.epoch, 7);
	assert_int_equal(track_add(&track, 0), TRACK_IN_ORDER);
	assert_int_equal(track_add(&track, 0), TRACK_DUPLICATE);
	assert_int_equal(track_add(&track, 3), TRACK_IN_ORDER); // 1 and 2 are missing
	assert_int_equal(track_add(&track, 2), TRACK_REORDERED);
	assert_int_equal(track_add(&track, 2), TRACK_DUPLICATE);
	assert_int_equal(track_add(&track, 3), TRACK_DUPLICATE);
	assert_int_equal(track_add(&track, 1), TRACK_REORDERED);
	assert_int_equal(track_add(&track, 4), TRACK_IN_ORDER);
	assert_int_equal(track.next, 5);
	assert_int_equal(track.unique, 5);
	assert_int_equal(track.epoch, 7);
	track = (struct track){.epoch = 8};
	assert_int_equal(track.unique, 0);
	assert_int_equal(track_add(&track, 4), TRACK_IN_ORDER);
	assert_int_equal(track_add(&track, 0), TRACK_REORDERED); // the first ones were lost or late
}

// A packet TRACK_WINDOW numbers late is still known, one later is not.
static void test_edge(void **state)
{
	for (uint32_t top = TRACK_WINDOW; top < 3 * TRACK_WINDOW; top++) {
		track = (struct track){.epoch = 0};
		assert_int_equal(track_add(&track, top - TRACK_WINDOW), TRACK_IN_ORDER);
		assert_int_equal(track_add(&track, top - 1), TRACK_IN_ORDER); // next = top
		assert_int_equal(track_add(&track, top - TRACK_WINDOW), TRACK_DUPLICATE);
		assert_int_equal(track_add(&track, top - TRACK_WINDOW + 1), TRACK_REORDERED);
		assert_int_equal(track_add(&track, top), TRACK_IN_ORDER);
		assert_int_equal(track_add(&track, top - TRACK_WINDOW), TRACK_LATE);
		assert_int_equal(track.unique, 5);
	}
}

// Numbers skipped by a jump of any length are unseen, and those before it remain seen.
static void test_jumps(void **state)
{
	for (uint32_t jump = 1; jump < 3 * TRACK_WINDOW; jump++) {
		const uint32_t before = 2 * TRACK_WINDOW, top = before + jump;

		track = (struct track){.epoch = 0};
		for (uint32_t n = 0; n < before; n++)
			assert_int_equal(track_add(&track, n), TRACK_IN_ORDER);
		assert_int_equal(track_add(&track, top), TRACK_IN_ORDER);
		for (uint32_t n = top + 1 - TRACK_WINDOW; n < top; n++)
			assert_int_equal(track_add(&track, n),
				n < before ? TRACK_DUPLICATE : TRACK_REORDERED);
	}
}

// Arriving numbers: in order, with loss, duplicates and displacement by up to `late` places.
static uint32_t make_arrivals(struct test_rand *r, uint32_t *out, uint32_t late)
{
	const uint32_t loss = test_rand_below(r, 30), twice = test_rand_below(r, 30);
	uint32_t n = 0;

	for (uint32_t seq = 0; seq < NUMBERS; seq++) {
		if (test_rand_below(r, 1000) == 0)
			seq += test_rand_below(r, 2 * TRACK_WINDOW); // a burst is lost
		if (test_rand_below(r, 100) >= loss)
			out[n++] = seq;
		if (test_rand_below(r, 100) < twice)
			out[n++] = seq;
	}
	for (uint32_t i = 0; late > 0 && i + late < n; i++) {
		const uint32_t k = i + test_rand_below(r, late + 1), moved = out[i];

		if (test_rand_below(r, 4) == 0) {
			memmove(&out[i], &out[i + 1], (k - i) * sizeof(out[0]));
			out[k] = moved;
		}
	}
	return n;
}

// A set and the highest number determine the expected answer.
static void test_model(void **state)
{
	static uint32_t arrival[2 * NUMBERS];
	static bool seen[NUMBERS + 2 * TRACK_WINDOW];
	struct test_rand r = test_rand_start("track");
	unsigned int nb[4] = {0};

	for (int run = 0; run < 60; run++) {
		const uint32_t late = run % 4 == 0 ? 0 : 1u << test_rand_below(&r, 12);
		const uint32_t n = make_arrivals(&r, arrival, late);
		uint32_t next = 0, unique = 0, unsure = 0;

		memset(seen, 0, sizeof(seen));
		track = (struct track){.epoch = 1};
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t seq = arrival[i];
			const enum track_result got = track_add(&track, seq);
			enum track_result want = TRACK_IN_ORDER;

			if (seq < next)
				want = next - seq > TRACK_WINDOW ? TRACK_LATE
					: seen[seq]              ? TRACK_DUPLICATE
								 : TRACK_REORDERED;
			assert_int_equal(got, want);
			nb[got]++;
			unique += !seen[seq];
			unsure += seen[seq] && want == TRACK_LATE;
			seen[seq] = true;
			next = seq >= next ? seq + 1 : next;
			assert_int_equal(track.next, next);
		}
		assert_int_equal(track.unique, unique + unsure);
	}
	for (int i = 0; i < 4; i++)
		assert_true(nb[i] > 1000);
}

// A flow may be longer than 2^32 packets.
static void test_wrap(void **state)
{
	track = (struct track){.epoch = 0};
	for (uint64_t n = 0; n < 0x100000000; n += 0x40000000)
		track_add(&track, (uint32_t)n);
	for (uint64_t n = 0x100000000 - 700; n < 0x100000000 + 700; n++) {
		assert_int_equal(track_add(&track, (uint32_t)n), TRACK_IN_ORDER);
		assert_int_equal(track_add(&track, (uint32_t)(n - 3)),
			n < 0x100000000 - 697 ? TRACK_REORDERED : TRACK_DUPLICATE);
	}
	assert_int_equal(track.next, 700);
	assert_int_equal(track_add(&track, 100), TRACK_LATE);
}

// Arbitrary numbers: nothing breaks, and a number just seen is known.
static void test_wild(void **state)
{
	struct test_rand r = test_rand_start("wild");

	track = (struct track){.epoch = 0};
	for (int i = 0; i < 1000000; i++) {
		const uint32_t seq = (uint32_t)test_rand(&r) >> test_rand_below(&r, 32);
		const enum track_result first = track_add(&track, seq);

		if (first != TRACK_LATE)
			assert_int_equal(track_add(&track, seq), TRACK_DUPLICATE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basics),
		cmocka_unit_test(test_edge),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_wild),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
