// SPDX-License-Identifier: BSD-3-Clause
// Shares of a pool, as pure arithmetic: guaranteed shares stay available, whatever others hold.
#include <stdlib.h>

#include "limits/share.h"
#include "test.h"
#include "test_rand.h"

#define SLOTS 64

static struct share s;

static void open_share(uint32_t sure, uint32_t size, uint32_t most)
{
	void *mem = calloc(1, share_size(SLOTS));

	assert_non_null(mem);
	s = (struct share){.sure = sure, .size = size, .most = most};
	share_init(&s, mem, SLOTS);
	assert_int_equal(share_records(&s, SLOTS), sure * SLOTS + size + SHARE_SLACK);
}

static void close_share(void)
{
	free(s.of_user);
}

// Takes units one by one for an allocation that has `has`. Returns the number taken.
static uint32_t take_all(uint64_t user, uint32_t has)
{
	uint32_t n = 0;

	while (n < 100000 && share_fits(&s, user, has + n, 1)) {
		share_take(&s, user, has + n);
		n++;
	}
	return n;
}

static void sure_ones_are_always_there(void **state)
{
	open_share(2, 100, 40);
	assert_int_equal(take_all(1, 0), 2 + 40);
	assert_int_equal(take_all(2, 0), 2 + 40);
	assert_int_equal(take_all(3, 0), 2 + 20); // to the last one
	for (uint64_t user = 4; user < 200; user++)
		assert_int_equal(take_all(user, 0), 2);
	close_share();
	open_share(1, 0, 0);
	assert_int_equal(take_all(1, 0), 1);
	close_share();
}

// One of the two hash places does not matter, neither the first nor the second. A collision in both
// does, and an attacker cannot aim at it.
static void one_common_hash_place_costs_nothing(void **state)
{
	const uint64_t greedy = 5 | 7 << 16;

	open_share(0, 100, 40);
	assert_int_equal(take_all(greedy, 0), 40);
	assert_int_equal(take_all(5 | 8 << 16, 0), 40);
	assert_true(share_fits(&s, 6 | 7 << 16, 0, 1));
	assert_false(share_fits(&s, greedy | UINT64_C(1) << 40, 0, 1));
	close_share();
}

// The user's share is the limit, with one allocation or with many.
static void many_allocations_are_one_user(void **state)
{
	uint32_t n = 0;

	open_share(2, 100, 50);
	for (int i = 0; i < 60; i++)
		n += take_all(7, 0) - 2;
	assert_int_equal(n, 50);
	assert_int_equal(take_all(8, 2), 50);
	close_share();
}

// A request gets all or nothing: nb at once fit exactly if they fit one by one.
static void several_at_once(void **state)
{
	for (uint32_t size = 0; size < 40; size++) {
		for (uint32_t nb = 0; nb < 60; nb++) {
			open_share(2, size, 30);
			assert_int_equal(
				share_fits(&s, 1, 0, nb), nb <= 2 + (size < 30 ? size : 30));
			close_share();
		}
	}
}

// A returned unit may be taken at once, but records freed within one round are limited.
static void given_back_in_a_round(void **state)
{
	open_share(2, 100, 60);
	assert_int_equal(take_all(1, 2), 60);
	share_give_all(&s, 1, 62);
	assert_int_equal(s.held, 0);
	assert_int_equal(take_all(2, 2), 60);
	for (uint32_t has = 62; has > 0; has--)
		share_give(&s, 2, has);
	assert_int_equal(s.held, 0);
	close_share();
	// records: those held and those that wait for the end of the round never exceed the pool
	open_share(2, 1000, 1000);
	for (int again = 0; again < 10; again++) {
		const uint32_t n = take_all(1, 2);

		assert_true(s.held + s.given <= s.size + SHARE_SLACK / 2);
		share_give_all(&s, 1, 2 + n);
	}
	assert_int_equal(take_all(1, 2), 0);
	share_round(&s);
	assert_int_equal(take_all(1, 2), 1000);
	close_share();
}

struct alloc {
	uint64_t user;
	uint32_t has;
};

// Random users and allocations: the counts match a plain account, no user below the guaranteed
// share is refused, and the records in use never exceed the pool.
static void random_account(void **state)
{
	struct test_rand r = test_rand_start("share");

	for (int world = 0; world < 50; world++) {
		struct alloc a[SLOTS] = {0};
		uint32_t given = 0, late;

		open_share(
			test_rand_below(&r, 4), test_rand_below(&r, 200), test_rand_below(&r, 100));
		for (int i = 0; i < SLOTS; i++)
			a[i].user = test_rand_below(&r, 10);
		for (int step = 0; step < 5000; step++) {
			struct alloc *x = &a[test_rand_below(&r, SLOTS)];
			uint32_t held = 0, mine = 0, kind = test_rand_below(&r, 20);

			for (int i = 0; i < SLOTS; i++) {
				const uint32_t more = a[i].has > s.sure ? a[i].has - s.sure : 0;

				held += more;
				mine += a[i].user == x->user ? more : 0;
			}
			assert_int_equal(s.held, held);
			late = given > SHARE_SLACK / 2 ? given - SHARE_SLACK / 2 : 0;
			assert_int_equal(s.of_user[x->user], mine);
			assert_true(s.held + given <= s.size + SHARE_SLACK / 2);
			if (kind < 13) {
				const bool fits = share_fits(&s, x->user, x->has, 1);

				assert_int_equal(fits,
					x->has < s.sure || (held + late < s.size && mine < s.most));
				if (fits)
					share_take(&s, x->user, x->has++);
			} else if (kind < 18 && x->has > 0) {
				given += x->has > s.sure;
				share_give(&s, x->user, x->has--);
			} else if (kind == 18) {
				given += x->has > s.sure ? x->has - s.sure : 0;
				share_give_all(&s, x->user, x->has);
				x->has = 0;
			} else {
				share_round(&s);
				given = 0;
			}
		}
		close_share();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sure_ones_are_always_there),
		cmocka_unit_test(one_common_hash_place_costs_nothing),
		cmocka_unit_test(many_allocations_are_one_user),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(given_back_in_a_round),
		cmocka_unit_test(random_account),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
