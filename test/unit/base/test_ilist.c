// SPDX-License-Identifier: BSD-3-Clause
// Index lists compared with arrays: two lists of the same elements, by two links.
#include <stdbool.h>
#include <string.h>

#include "ilist.h"
#include "test.h"
#include "test_rand.h"

#define ELEMENTS 40
#define STEPS 20000
#define NB 2

struct element {
	uint8_t before[12];
	struct ilist_link odd, even;
	uint32_t behind;
};

static struct element element[ELEMENTS];
static struct ilist list[NB];

// Arrays with the expected contents of the lists, first to last.
static struct plain {
	uint32_t element[ELEMENTS];
	uint32_t nb;
} plain[NB];

static struct ilist_links links_of(unsigned int l)
{
	return l == 0 ? ILIST_LINKS(element, odd) : ILIST_LINKS(element, even);
}

static void assert_same(unsigned int l)
{
	uint32_t i = list[l].first, before = ILIST_NONE;

	for (uint32_t n = 0; n < plain[l].nb; n++) {
		assert_int_equal(i, plain[l].element[n]);
		assert_int_equal(ilist_link(links_of(l), i)->prev, before);
		before = i;
		i = ilist_next(links_of(l), i);
	}
	assert_int_equal(i, ILIST_NONE);
	assert_int_equal(list[l].last, before);
}

static uint32_t place_of(const struct plain *p, uint32_t i)
{
	uint32_t n = 0;

	while (n < p->nb && p->element[n] != i)
		n++;
	return n;
}

static void test_beside_arrays(void **state)
{
	struct test_rand r = test_rand_start(__func__);

	for (unsigned int l = 0; l < NB; l++)
		list[l] = ILIST_EMPTY;
	for (unsigned int step = 0; step < STEPS; step++) {
		const unsigned int l = test_rand_below(&r, NB);
		const uint32_t i = test_rand_below(&r, ELEMENTS);
		struct plain *p = &plain[l];
		const uint32_t n = place_of(p, i);

		if (n == p->nb) {
			ilist_append(&list[l], links_of(l), i);
			p->element[p->nb++] = i;
		} else {
			ilist_remove(&list[l], links_of(l), i);
			p->nb--;
			memmove(&p->element[n], &p->element[n + 1],
				(p->nb - n) * sizeof(p->element[0]));
		}
		for (unsigned int k = 0; k < NB; k++)
			assert_same(k);
	}
	for (unsigned int i = 0; i < ELEMENTS; i++)
		assert_int_equal(element[i].behind, 0); // only links are written
}

// The first and the last element, alone and with others.
static void test_ends(void **state)
{
	const struct ilist_links links = ILIST_LINKS(element, odd);
	struct ilist l = ILIST_EMPTY;

	ilist_append(&l, links, 7);
	assert_int_equal(l.first, 7);
	assert_int_equal(l.last, 7);
	ilist_append(&l, links, 0);
	ilist_append(&l, links, 3);
	ilist_remove(&l, links, 7);
	assert_int_equal(l.first, 0);
	ilist_remove(&l, links, 3);
	assert_int_equal(l.last, 0);
	ilist_remove(&l, links, 0);
	assert_int_equal(l.first, ILIST_NONE);
	assert_int_equal(l.last, ILIST_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_arrays),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
