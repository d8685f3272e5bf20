// SPDX-License-Identifier: BSD-3-Clause
// When an address of the network counts as settled, in simulated time.
#include "addr_text.h"
#include "link/addr_settled.h"
#include "test.h"

#define TICK 100

static struct addr_wanted wanted(const char *addr, const char *router)
{
	return (struct addr_wanted){
		.addr = addr_text(addr), .router = addr_text(router), .prefix_len = 64};
}

static void a_stable_address_is_due_after_two_seconds(void **state)
{
	const struct addr_wanted a = wanted("2001:db8:1::9", "fe80::1");
	struct addr_settled s = {0};
	uint64_t now = 5000;

	for (; now < 7000; now += TICK)
		assert_false(addr_settled_look(&s, &a, now));
	assert_true(addr_settled_look(&s, &a, now));
	assert_true(addr_settled_look(&s, &a, now)); // until it has been tried
	addr_settled_tried(&s, now);
	assert_false(addr_settled_look(&s, NULL, now));
}

// Another candidate, another router, or no address at all: the time starts again.
static void a_changing_address_is_not_due(void **state)
{
	const struct addr_wanted a = wanted("2001:db8:1::9", "fe80::1");
	struct addr_wanted others[] = {
		wanted("2001:db8:2::9", "fe80::1"), wanted("2001:db8:1::9", "fe80::2"), a};
	struct addr_settled s = {0};
	uint64_t now = 5000;

	others[2].prefix_len = 48;
	for (unsigned int i = 0; i < 4; i++) {
		for (unsigned int k = 0; k < 20; k++, now += TICK)
			assert_false(addr_settled_look(&s, &a, now));
		assert_false(addr_settled_look(&s, i < 3 ? &others[i] : NULL, now));
		now += TICK;
	}
}

// An address that comes and goes ten times a second for an hour is never due, and two that
// alternate every three seconds are due at most every ten seconds.
static void flapping_is_bounded(void **state)
{
	const struct addr_wanted a[] = {
		wanted("10.0.0.1", "10.0.0.254"), wanted("10.0.0.2", "10.0.0.254")};
	struct addr_settled s = {0};
	unsigned int due = 0;
	uint64_t now = 1;

	for (; now < 3600000; now += TICK)
		assert_false(addr_settled_look(&s, now / TICK % 2 ? &a[0] : NULL, now));
	for (uint64_t end = now + 600000; now < end; now += TICK) {
		if (!addr_settled_look(&s, &a[now / 3000 % 2], now))
			continue;
		addr_settled_tried(&s, now);
		due++;
	}
	assert_in_range(due, 40, 60);
}

// An address that could not be adopted is tried again later.
static void failed_adoption_is_tried_again(void **state)
{
	const struct addr_wanted a = wanted("10.0.0.1", "10.0.0.254");
	struct addr_settled s = {0};
	unsigned int due = 0;

	for (uint64_t now = 1; now < 60000; now += TICK) {
		if (!addr_settled_look(&s, &a, now))
			continue;
		addr_settled_tried(&s, now);
		due++;
	}
	assert_int_equal(due, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stable_address_is_due_after_two_seconds),
		cmocka_unit_test(a_changing_address_is_not_due),
		cmocka_unit_test(flapping_is_bounded),
		cmocka_unit_test(failed_adoption_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
