// SPDX-License-Identifier: BSD-3-Clause
// The control socket's memory of its clients' bytes, and queries over a million allocations: lines
// in pieces of any size, bounds, the largest of many compared with a full sort, sums by user.
#include <stdlib.h>
#include <string.h>

#include "socket/lines.h"
#include "answers/ranking.h"
#include "test.h"
#include "test_rand.h"

static void lines_come_out_however_they_came_in(void **state)
{
	static const char text[] = "{\"a\":1}\n\n{\"b\":\"\xff\"}\nlast\nno newline";
	static const char *const want[] = {"{\"a\":1}", "", "{\"b\":\"\xff\"}", "last"};

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct lines l = {0};
		unsigned int n = 0;
		size_t len;
		char *line;

		for (size_t offset = 0; offset < sizeof(text) - 1; offset += piece) {
			const size_t left = sizeof(text) - 1 - offset;

			assert_int_equal(lines_put(&l, text + offset, left < piece ? left : piece),
				LINES_OK);
			while ((line = lines_next(&l, &len)) != NULL) {
				assert_true(n < 4);
				assert_string_equal(line, want[n]);
				assert_int_equal(len, strlen(want[n++]));
			}
		}
		assert_int_equal(n, 4);
		lines_free(&l);
	}
}

static void the_longest_line_and_one_more(void **state)
{
	char *text = malloc(LINES_MAX + 2);
	struct lines l = {0};
	size_t len;

	memset(text, 'x', LINES_MAX + 2);
	assert_int_equal(lines_put(&l, text, LINES_MAX), LINES_OK);
	assert_null(lines_next(&l, &len));
	assert_int_equal(lines_put(&l, "\n", 1), LINES_OK);
	assert_non_null(lines_next(&l, &len));
	assert_int_equal(len, LINES_MAX);
	assert_int_equal(lines_put(&l, text, LINES_MAX + 1), LINES_LONG);
	assert_int_equal(lines_put(&l, text, LINES_MAX), LINES_OK);
	assert_int_equal(lines_put(&l, "x", 1), LINES_LONG);
	assert_int_equal(lines_put(&l, "\nx", 2), LINES_OK);
	lines_free(&l);
	free(text);
}

// No client makes the server keep more than a line and the bytes of one read.
static void memory_is_bounded(void **state)
{
	struct lines l = {0};
	char block[16384];
	size_t len;

	memset(block, 'x', sizeof(block));
	block[sizeof(block) - 1] = '\n';
	for (unsigned int i = 0; i < 1000; i++) {
		assert_int_equal(lines_put(&l, block, sizeof(block)), LINES_OK);
		while (lines_next(&l, &len) != NULL) {
		}
		assert_in_range(l.room, 1, 2 * (LINES_MAX + sizeof(block)));
	}
	lines_free(&l);
}

static unsigned int depth(const char *text)
{
	return lines_depth(text, strlen(text));
}

static void depth_of_json(void **state)
{
	assert_int_equal(depth("1"), 0);
	assert_int_equal(depth("{}"), 1);
	assert_int_equal(depth("{\"a\":[{}],\"b\":[]}"), 3);
	assert_int_equal(depth("\"[[[[\""), 0);
	assert_int_equal(depth("[\"\\\"[[[[\"]"), 1);
	assert_int_equal(depth("]]]]["), 1);
	assert_int_equal(depth("[[[["), 4);
	assert_int_equal(depth("\"\\"), 0);
}

static int descending(const void *a, const void *b)
{
	const struct turn_key *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->id > y->id ? 1 : -1;
}

static void the_largest_are_kept(void **state)
{
	struct test_rand r = test_rand_start("ranking");

	for (unsigned int round = 0; round < 300; round++) {
		const unsigned int n = (unsigned int)test_rand_below(&r, 400);
		const unsigned int max = 1 + (unsigned int)test_rand_below(&r, 300);
		const uint64_t values = 1 + test_rand_below(&r, 500); // few, so that some are equal
		struct turn_key *all = calloc(n + 1, sizeof(*all));
		struct ranking k;

		assert_true(ranking_init(&k, max));
		for (unsigned int i = 0; i < n; i++) {
			all[i] = (struct turn_key){.id = i, .value = test_rand_below(&r, values)};
			ranking_put(&k, &all[i]);
		}
		qsort(all, n, sizeof(*all), descending);
		ranking_sort(&k);
		assert_int_equal(k.n, n < max ? n : max);
		for (unsigned int i = 0; i < k.n; i++)
			assert_int_equal(k.key[i].id, all[i].id);
		ranking_free(&k);
		free(all);
	}
}

static void sums_by_user(void **state)
{
	enum { USERS = 5000 };
	struct tally t = {0};

	assert_null(tally_find(&t, 7));
	for (uint64_t i = 0; i < 3 * USERS; i++)
		assert_true(tally_put(
			&t, &(struct turn_key){.id = i, .value = i, .user = i % USERS * 1024}));
	assert_int_equal(t.used, USERS);
	for (uint64_t u = 0; u < USERS; u++) {
		const struct tally_row *row = tally_find(&t, u * 1024);

		assert_non_null(row);
		assert_int_equal(row->count, 3);
		assert_int_equal(row->sum, 3 * u + 3 * USERS);
		assert_int_equal(row->id, u);
		assert_int_equal(row->last, 2 * USERS + u);
	}
	assert_null(tally_find(&t, 1));
	tally_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_out_however_they_came_in),
		cmocka_unit_test(the_longest_line_and_one_more),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(depth_of_json),
		cmocka_unit_test(the_largest_are_kept),
		cmocka_unit_test(sums_by_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
