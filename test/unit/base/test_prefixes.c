// SPDX-License-Identifier: BSD-3-Clause
// The longest of many matching prefixes, against a search of the whole list.
#include <stdlib.h>

#include "addr_text.h"
#include "clock.h"
#include "tables/prefixes.h"
#include "test.h"

#define MANY 1000000

static struct prefixes_entry list[256];
static uint32_t nb;

static void add(const char *text, uint8_t value)
{
	assert_int_equal(addr_prefix_parse(text, &list[nb].prefix), 0);
	list[nb++].value = value;
}

static void assert_finds(const struct prefixes *p, const char *text, int len, int value)
{
	const struct addr a = addr_text(text);
	struct prefixes_hit hit;

	assert_int_equal(prefixes_find(p, &a, &hit), len >= 0);
	if (len < 0)
		return;
	assert_int_equal(hit.len, len);
	assert_int_equal(hit.value, value);
}

static void the_longest_wins(void **state)
{
	struct prefixes *p;

	nb = 0;
	add("10.0.0.0/8", 1);
	add("10.1.0.0/16", 2);
	add("10.1.2.3", 3);
	add("10.1.255.0/24", 4);
	add("255.255.255.255", 5);
	add("2001:db8::/32", 6);
	add("2001:db8::/128", 7);
	add("ff00::/8", 8);
	p = prefixes_make(list, nb);
	assert_non_null(p);
	assert_finds(p, "9.255.255.255", -1, 0);
	assert_finds(p, "10.0.0.0", 104, 1);
	assert_finds(p, "10.1.2.2", 112, 2);
	assert_finds(p, "10.1.2.3", 128, 3);
	assert_finds(p, "10.1.2.4", 112, 2);
	assert_finds(p, "10.1.255.255", 120, 4);
	assert_finds(p, "10.2.0.0", 104, 1);
	assert_finds(p, "11.0.0.0", -1, 0);
	assert_finds(p, "255.255.255.254", -1, 0);
	assert_finds(p, "255.255.255.255", 128, 5);
	assert_finds(p, "2001:db8::", 128, 7);
	assert_finds(p, "2001:db8::1", 32, 6);
	assert_finds(p, "2001:db9::", -1, 0);
	assert_finds(p, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 8, 8);
	prefixes_free(p);
}

static void the_lowest_value_of_one_prefix_wins(void **state)
{
	struct prefixes *p;

	nb = 0;
	add("10.0.0.0/8", 2);
	add("10.0.0.0/8", 0);
	add("10.0.0.0/8", 1);
	p = prefixes_make(list, nb);
	assert_finds(p, "10.9.9.9", 104, 0);
	assert_finds(p, "11.0.0.0", -1, 0);
	prefixes_free(p);
}

// ::/0 is all of IPv6, and 0.0.0.0/0 all of IPv4.
static void families_are_apart(void **state)
{
	struct prefixes *p;

	nb = 0;
	add("::/0", 1);
	p = prefixes_make(list, nb);
	assert_finds(p, "10.0.0.1", -1, 0);
	assert_finds(p, "2001:db8::1", 0, 1);
	prefixes_free(p);
	nb = 0;
	add("0.0.0.0/0", 1);
	add("::/8", 2);
	p = prefixes_make(list, nb);
	assert_finds(p, "10.0.0.1", 96, 1);
	assert_finds(p, "::2", 8, 2);
	assert_finds(p, "2001:db8::1", -1, 0);
	prefixes_free(p);
}

static void an_empty_list_finds_nothing(void **state)
{
	struct prefixes *p = prefixes_make(list, 0);

	assert_finds(p, "0.0.0.0", -1, 0);
	assert_finds(p, "::", -1, 0);
	prefixes_free(p);
	prefixes_free(NULL);
}

static void lists_with_equal_results_are_equal(void **state)
{
	struct prefixes *a, *b;

	nb = 0;
	add("10.0.0.0/8", 1);
	add("2001:db8::/32", 1);
	a = prefixes_make(list, nb);
	add("10.0.0.0/8", 2); // never wins
	b = prefixes_make(list, nb);
	assert_true(prefixes_same(a, b));
	prefixes_free(b);
	add("10.0.0.0/9", 2);
	b = prefixes_make(list, nb);
	assert_false(prefixes_same(a, b));
	prefixes_free(a);
	prefixes_free(b);
}

// --- against the whole list ----------------------------------------------------------------------

static uint64_t seed = 7;

static uint32_t random32(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 32);
}

// Only a few bits differ, so that prefixes contain each other and addresses lie at their ends.
static struct addr random_addr(bool v4)
{
	const uint32_t bits = random32();
	struct addr a = v4 ? addr_text("10.0.0.0") : addr_text("2001:db8::");

	a.b[13] = bits & 3;
	a.b[14] = (bits >> 8 & 1) * 255;
	a.b[15] = bits >> 16 & 0xc3;
	return a;
}

static bool search(const struct addr *a, struct prefixes_hit *hit)
{
	bool found = false;

	for (uint32_t i = 0; i < nb; i++) {
		const struct prefixes_entry *e = &list[i];

		if (!addr_prefix_contains(&e->prefix, a) ||
			(found &&
				(e->prefix.len < hit->len ||
					(e->prefix.len == hit->len && e->value > hit->value))))
			continue;
		*hit = (struct prefixes_hit){e->prefix.len, e->value};
		found = true;
	}
	return found;
}

static void random_lists_agree(void **state)
{
	for (unsigned int run = 0; run < 300; run++) {
		struct prefixes *p;

		nb = random32() % 60;
		for (uint32_t i = 0; i < nb; i++) {
			const bool v4 = random32() % 2 == 0;

			list[i].prefix.addr = random_addr(v4);
			list[i].prefix.len =
				(uint8_t)(random32() % 16 == 0 ? (v4 ? 96 : 0)
							       : 100 + random32() % 29);
			list[i].value = random32() % 3;
		}
		p = prefixes_make(list, nb); // clears host bits
		assert_non_null(p);
		for (unsigned int i = 0; i < 300; i++) {
			const struct addr a = random_addr(random32() % 2 == 0);
			struct prefixes_hit hit, want = {0, 0};
			const bool found = search(&a, &want);

			assert_int_equal(prefixes_find(p, &a, &hit), found);
			if (found) {
				assert_int_equal(hit.len, want.len);
				assert_int_equal(hit.value, want.value);
			}
		}
		prefixes_free(p);
	}
}

// --- size ----------------------------------------------------------------------------------------

// CPU time of a search among `size` disjoint prefixes, half of each family.
static uint64_t search_ns(uint32_t size)
{
	struct prefixes_entry *all = calloc(size, sizeof(*all));
	struct prefixes_hit hit;
	struct prefixes *p;
	uint64_t began, best = UINT64_MAX;

	assert_non_null(all);
	for (uint32_t i = 0; i < size; i++) {
		const uint32_t addr_be = __builtin_bswap32(i * 4096u);

		all[i].prefix.addr = addr_from_v4(&addr_be);
		if (i % 2 == 0)
			all[i].prefix.addr.b[0] = 0x20;
		all[i].prefix.len = 128;
	}
	p = prefixes_make(all, size);
	assert_non_null(p);
	for (unsigned int run = 0; run < 5; run++) {
		began = clock_cpu_ns();
		for (unsigned int i = 0; i < 1000; i++)
			prefixes_find(p, &all[random32() % size].prefix.addr, &hit);
		best = clock_cpu_ns() - began < best ? clock_cpu_ns() - began : best;
	}
	prefixes_free(p);
	free(all);
	return best / 1000;
}

// A linear search would take a millisecond.
static void a_search_takes_the_logarithm(void **state)
{
	const uint64_t few = search_ns(10), many = search_ns(MANY);

	print_message("a search: %lu ns of 10, %lu ns of %u\n", (unsigned long)few,
		(unsigned long)many, MANY);
	assert_true(many < 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_wins),
		cmocka_unit_test(the_lowest_value_of_one_prefix_wins),
		cmocka_unit_test(families_are_apart),
		cmocka_unit_test(an_empty_list_finds_nothing),
		cmocka_unit_test(lists_with_equal_results_are_equal),
		cmocka_unit_test(random_lists_agree),
		cmocka_unit_test(a_search_takes_the_logarithm),
	};

	return cmocka_run_group_tests_name("prefixes", tests, NULL, NULL);
}
