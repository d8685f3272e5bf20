// SPDX-License-Identifier: BSD-3-Clause
// The log has one line for each address and minute with address conflicts, within its limit.
#include "link/conflicts_told.h"
#include "test.h"

static struct addr address(uint32_t n)
{
	return addr_from_v4((const uint8_t[]){10, 1, (uint8_t)(n >> 8), (uint8_t)n});
}

static void once_a_minute(void **state)
{
	struct mgmt_conflicts m = {0};
	const struct addr a = address(1), b = address(2);

	assert_true(mgmt_conflicts_tell(&m, &a, 5000));
	assert_false(mgmt_conflicts_tell(&m, &a, 5000));
	assert_true(mgmt_conflicts_tell(&m, &b, 6000));
	assert_false(mgmt_conflicts_tell(&m, &a, 64999));
	assert_true(mgmt_conflicts_tell(&m, &a, 65000));
	assert_false(mgmt_conflicts_tell(&m, &a, 65001));
	assert_false(mgmt_conflicts_tell(&m, &b, 65001));
}

static void many_are_too_many(void **state)
{
	struct mgmt_conflicts m = {0};
	unsigned int told = 0;

	for (unsigned int minute = 1; minute <= 3; minute++) {
		for (uint32_t n = 0; n < 1000; n++) {
			const struct addr a = address(n);

			told += mgmt_conflicts_tell(&m, &a, minute * MGMT_CONFLICTS_MS + n);
		}
		assert_int_equal(told, minute * MGMT_CONFLICTS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_a_minute),
		cmocka_unit_test(many_are_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
