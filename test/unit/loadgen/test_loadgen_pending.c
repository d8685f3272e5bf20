// SPDX-License-Identifier: BSD-3-Clause
// Data that waits for a connection: all of it, in order, and never more than fits.
#include <string.h>

#include "client/pending.h"
#include "test.h"

static struct pending p;
static uint8_t text[PENDING_MAX + 1];

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7);
	p = (struct pending){0};
	return 0;
}

static int teardown(void **state)
{
	pending_clear(&p);
	return 0;
}

static void in_order_by_any_steps(void **state)
{
	for (size_t step = 1; step < 40; step++) {
		size_t put = 0, got = 0;

		while (got < 400) {
			if (put < 400) {
				assert_true(pending_put(&p, text + put, 50));
				put += 50;
			}
			for (unsigned int i = 0; i < 2 && pending_left(&p) > 0; i++) {
				const size_t left = pending_left(&p), n = step < left ? step : left;

				assert_memory_equal(pending_next(&p), text + got, left);
				pending_wrote(&p, n);
				got += n;
				assert_int_equal(pending_left(&p), put - got);
			}
		}
		assert_null(p.data);
	}
}

static void never_more_than_fits(void **state)
{
	assert_false(pending_put(&p, text, PENDING_MAX + 1));
	assert_int_equal(pending_left(&p), 0);
	assert_true(pending_put(&p, text, PENDING_MAX));
	assert_false(pending_put(&p, text, 1));
	pending_wrote(&p, 1);
	assert_true(pending_put(&p, text, 1)); // written data makes room
	assert_false(pending_put(&p, text, 1));
	assert_int_equal(pending_left(&p), PENDING_MAX);
	assert_memory_equal(pending_next(&p), text + 1, PENDING_MAX - 1);
	pending_clear(&p);
	assert_int_equal(pending_left(&p), 0);
	assert_null(p.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order_by_any_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(never_more_than_fits, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
