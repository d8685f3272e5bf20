// SPDX-License-Identifier: BSD-3-Clause
// Remembered path MTUs (RFC 1191, RFC 8201).
#include <stdlib.h>
#include <string.h>

#include "pmtu.h"
#include "test.h"

#define ENTRIES 1024

static struct pmtu table;
static void *mem;

static struct pmtu_flow host(uint32_t i)
{
	return (struct pmtu_flow){.src_port = 3478,
		.dst = {.b = {0x20, 0x01, 0x0d, 0xb8, [12] = (uint8_t)(i >> 24), (uint8_t)(i >> 16),
				(uint8_t)(i >> 8), (uint8_t)i}}};
}

static int setup(void **state)
{
	const struct hash_key key = {{1, 2, 3, 4}};

	mem = aligned_alloc(64, pmtu_size(ENTRIES));
	assert_non_null(mem);
	memset(mem, 0, pmtu_size(ENTRIES));
	pmtu_init(&table, mem, ENTRIES, &key);
	return 0;
}

static int teardown(void **state)
{
	free(mem);
	return 0;
}

static void an_mtu_is_found_for_ten_minutes(void **state)
{
	const struct pmtu_flow a = host(1), b = host(2);

	assert_int_equal(pmtu_find(&table, &a, 5000), PMTU_NONE);
	assert_true(pmtu_lower(&table, &a, 1400, 5000));
	assert_int_equal(pmtu_find(&table, &a, 5000), 1400);
	assert_int_equal(pmtu_find(&table, &b, 5000), PMTU_NONE);
	assert_int_equal(pmtu_find(&table, &a, 5000 + 600 * 1000 - 1), 1400);
	assert_int_equal(pmtu_find(&table, &a, 5000 + 600 * 1000), PMTU_NONE);
	assert_true(pmtu_lower(&table, &b, 1400, 300 * 1000));
	assert_int_equal(pmtu_find(&table, &a, 5000 + 600 * 1000), PMTU_NONE); // separately
	assert_int_equal(pmtu_find(&table, &b, 5000 + 600 * 1000), 1400);
	assert_true(pmtu_lower(&table, &a, 1450, 700 * 1000)); // as if it were new
}

// RFC 8201 section 4: a report never raises a known value, and an equal one does not extend its
// lifetime.
static void an_mtu_only_falls(void **state)
{
	const struct pmtu_flow a = host(1);

	pmtu_lower(&table, &a, 1400, 1000);
	assert_false(pmtu_lower(&table, &a, 1401, 2000));
	assert_false(pmtu_lower(&table, &a, 1400, 2000));
	assert_int_equal(pmtu_find(&table, &a, 2000), 1400);
	assert_true(pmtu_lower(&table, &a, 1399, 3000));
	assert_int_equal(pmtu_find(&table, &a, 3000), 1399);
	assert_int_equal(pmtu_find(&table, &a, 3000 + 599 * 1000), 1399);
}

// Each part of a flow distinguishes it: knowledge about one path does not apply to another.
static void flows_are_independent(void **state)
{
	const struct pmtu_flow a = {
		.src = host(1).dst, .dst = host(2).dst, .src_port = 50000, .dst_port = 7000};
	struct pmtu_flow b[4] = {a, a, a, a};

	b[0].src.b[15]++;
	b[1].dst.b[15]++;
	b[2].src_port++;
	b[3].dst_port++;
	assert_true(pmtu_lower(&table, &a, 1400, 1000));
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pmtu_find(&table, &b[i], 1000), PMTU_NONE);
	for (unsigned int i = 0; i < 4; i++)
		assert_true(pmtu_lower(&table, &b[i], (uint16_t)(1300 + i), 1000));
	assert_int_equal(pmtu_find(&table, &a, 1000), 1400);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pmtu_find(&table, &b[i], 1000), 1300 + i);
}

static void reports_are_judged_by_the_quoted_size(void **state)
{
	assert_int_equal(pmtu_reported(true, 1400, 1500), 1400);
	assert_int_equal(pmtu_reported(true, 576, 1500), 576);
	assert_int_equal(pmtu_reported(true, 575, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(true, 68, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(true, 1500, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(true, 1600, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(false, 1280, 1500), 1280);
	assert_int_equal(pmtu_reported(false, 1279, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(false, 0, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(false, UINT32_MAX, 1500), PMTU_NONE);
	assert_int_equal(pmtu_reported(false, 65535, 66000), PMTU_NONE);
	// a router that reports no MTU: the next value of the table in RFC 1191 section 7.1
	assert_int_equal(pmtu_reported(true, 0, 1500), 1492);
	assert_int_equal(pmtu_reported(true, 0, 1492), 1006);
	assert_int_equal(pmtu_reported(true, 0, 1006), 576);
	assert_int_equal(pmtu_reported(true, 0, 576), PMTU_NONE);
}

// A user with many destinations replaces the oldest of four entries, never more than one at a time,
// and all of the user's own entries are there.
static void a_full_table_forgets_the_oldest(void **state)
{
	const struct pmtu_flow victim = host(0);
	unsigned int alive = 0;
	uint32_t i;

	pmtu_lower(&table, &victim, 1300, 1000);
	for (i = 1; pmtu_find(&table, &victim, 1000 + i) == 1300 && i < 100000; i++) {
		const struct pmtu_flow a = host(i);

		assert_true(pmtu_lower(&table, &a, 1280, 1000 + i));
		assert_int_equal(pmtu_find(&table, &a, 1000 + i), 1280);
	}
	assert_in_range(i, 8, ENTRIES * 8); // it is replaced, but not at once
	for (uint32_t k = 1; k < i; k++) {
		const struct pmtu_flow a = host(k);

		alive += pmtu_find(&table, &a, 1000 + i) == 1280;
	}
	assert_true(alive <= ENTRIES);
	assert_true(pmtu_lower(&table, &victim, 1300, 1000 + i)); // and can be learnt again
	assert_int_equal(pmtu_find(&table, &victim, 1000 + i), 1300);
}

static void an_empty_table_finds_nothing(void **state)
{
	const struct hash_key key = {{1, 2, 3, 4}};
	const struct pmtu_flow a = host(1);
	struct pmtu none;

	assert_int_equal(pmtu_size(0), 0);
	pmtu_init(&none, NULL, 0, &key);
	assert_false(pmtu_lower(&none, &a, 1300, 1000));
	assert_int_equal(pmtu_find(&none, &a, 1000), PMTU_NONE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_mtu_is_found_for_ten_minutes),
		TEST(an_mtu_only_falls),
		TEST(flows_are_independent),
		TEST(reports_are_judged_by_the_quoted_size),
		TEST(a_full_table_forgets_the_oldest),
		TEST(an_empty_table_finds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
