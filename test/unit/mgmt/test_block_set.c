// SPDX-License-Identifier: BSD-3-Clause
// The list of blocks: texts of addresses, orders, ends, limits, and the lines of its file.
#include "block/block_set.h"

#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "test.h"
#include "turn_blocks.h"

static struct block_set set;

static int setup(void **state)
{
	block_set_init(&set);
	return 0;
}

static int teardown(void **state)
{
	block_set_free(&set);
	return 0;
}

static struct block addr_block(const char *text, uint64_t until_s)
{
	struct block b = {.reason = "a reason", .until_s = until_s};

	assert_true(block_prefix_read(text, &b.prefix));
	return b;
}

static enum block_put put(const char *text, uint64_t until_s)
{
	const struct block b = addr_block(text, until_s);

	return block_set_put(&set, &b);
}

static enum block_put put_user(const char *name, const char *realm)
{
	return block_set_put(
		&set, &(struct block){.user = name, .realm = realm, .reason = "", .until_s = 0});
}

static void texts_of_addresses(void **state)
{
	static const char *const rows[][2] = {{"192.0.2.1", "192.0.2.1"},
		{"192.0.2.0/24", "192.0.2.0/24"}, {"::ffff:192.0.2.1", "192.0.2.1"},
		{"2001:db8::5", "2001:db8::/64"}, {"2001:db8::5/128", "2001:db8::5/128"},
		{"2001:db8::/40", "2001:db8::/40"}, {"0.0.0.0/0", "0.0.0.0/0"}, {"::/0", "::/0"}};
	static const char *const wrong[] = {"", "192.0.2", "192.0.2.1/33", "ivan", "192.0.2.1 ",
		"2001:db8::/129", "1.2.3.4-5", "192.0.2.77/24", "2001:db8:ff::/40"};
	char text[BLOCK_TEXT_LEN];
	struct prefix p;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(block_prefix_read(rows[i][0], &p));
		assert_string_equal(block_prefix_text(&p, text), rows[i][1]);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(block_prefix_read(wrong[i], &p));
}

static void the_same_block_is_renewed(void **state)
{
	struct block b;

	assert_int_equal(put("192.0.2.1", 100), BLOCK_NEW);
	assert_int_equal(put("192.0.2.1/32", 200), BLOCK_RENEWED);
	assert_int_equal(put("192.0.2.0/31", 0), BLOCK_NEW);
	assert_int_equal(put_user("ivan", "a.test"), BLOCK_NEW);
	assert_int_equal(put_user("ivan", "b.test"), BLOCK_NEW);
	assert_int_equal(put_user("ivan", "b.test"), BLOCK_RENEWED);
	assert_int_equal(set.nb, 4);
	assert_int_equal(set.nb_users, 2);
	assert_int_equal(block_set_expire(&set, 199), 0);
	b = block_set_at(&set, 1); // sorted
	assert_int_equal(b.until_s, 200);
	assert_true(block_set_remove(&set, &b));
	b = addr_block("192.0.2.1", 0);
	assert_false(block_set_remove(&set, &b));
	assert_int_equal(set.nb, 3);
	assert_int_equal(block_set_expire(&set, 200), 0);
}

// To the second: it holds before its end, and not from then on.
static void blocks_end_in_time(void **state)
{
	put("192.0.2.1", 100);
	put("192.0.2.2", 101);
	put("192.0.2.3", 0);
	put_user("ivan", "a.test");
	assert_int_equal(block_set_expire(&set, 99), 0);
	assert_int_equal(block_set_expire(&set, 100), 1);
	assert_int_equal(set.nb, 3);
	assert_int_equal(set.next_s, 101);
	assert_int_equal(block_set_expire(&set, 1000), 1);
	assert_int_equal(block_set_expire(&set, UINT64_MAX - 1), 0);
	assert_int_equal(set.nb, 2);
	assert_int_equal(set.nb_users, 1);
}

static void there_is_a_limit(void **state)
{
	char text[32];

	for (unsigned int i = 0; i < TURN_BLOCKED_USERS_MAX; i++) {
		snprintf(text, sizeof(text), "u%u", i);
		assert_int_equal(put_user(text, "a.test"), BLOCK_NEW);
	}
	assert_int_equal(put_user("one more", "a.test"), BLOCK_FULL);
	assert_int_equal(put_user("u0", "a.test"), BLOCK_RENEWED);
	for (unsigned int i = set.nb; i < BLOCK_SET_MAX; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u", i >> 8, i & 255);
		assert_int_equal(put(text, i), BLOCK_NEW);
	}
	assert_int_equal(put("192.0.2.1", 0), BLOCK_FULL);
	assert_int_equal(block_set_expire(&set, BLOCK_SET_MAX - 2),
		BLOCK_SET_MAX - TURN_BLOCKED_USERS_MAX - 1);
	assert_int_equal(put("192.0.2.1", 0), BLOCK_NEW);
}

static void a_set_for_workers(void **state)
{
	const struct addr in = addr_text("192.0.2.200"), out = addr_text("192.0.3.1");
	struct turn_blocks *b;

	put("192.0.2.0/24", 0);
	put_user("ivan", "a.test");
	b = block_set_make(&set);
	assert_non_null(b);
	assert_true(turn_blocks_addr(b, &in));
	assert_false(turn_blocks_addr(b, &out));
	turn_blocks_free(b);
}

// The lines of all blocks give the same blocks again, also for names of any bytes.
static void lines_of_a_file(void **state)
{
	static const char name[] = "a\tb\nc%\"\\ \x7f\xff", reason[] = "50 %\tof\nall";
	char *text = NULL, *line = NULL;
	size_t len, size = 0;
	unsigned int n = 0;
	FILE *f = open_memstream(&text, &len);
	struct block b;

	put("192.0.2.0/24", 77);
	put("2001:db8::1/128", 0);
	block_set_put(&set, &(struct block){.user = name, .realm = "a.test", .reason = reason});
	block_set_write(&set, f);
	fclose(f);
	f = fmemopen(text, len, "r");
	while (getline(&line, &size, f) > 0) {
		if (line[0] == '#')
			continue;
		assert_true(block_set_read(line, &b));
		assert_int_equal(block_set_put(&set, &b), BLOCK_RENEWED);
		n++;
	}
	assert_int_equal(n, 3);
	b = block_set_at(&set, 0);
	assert_int_equal(b.until_s, 77);
	assert_string_equal(b.reason, "a reason");
	b = block_set_at(&set, 2);
	assert_string_equal(b.user, name);
	assert_string_equal(b.reason, reason);
	fclose(f);
	free(line);
	free(text);
}

static void damaged_lines_are_no_blocks(void **state)
{
	static const char *const wrong[] = {"", "address", "address\t192.0.2.1\t\t5",
		"address\t192.0.2.1\tx\t5\t", "address\t192.0.2\t\t5\t", "address\t192.0.2.1\t\t\t",
		"address\t192.0.2.1\t\t-5\t", "address\t192.0.2.1\t\t5 \t",
		"address\t192.0.2.1\t\t99999999999999999999999\t", "user\tivan\ta.test\t5",
		"user\t\ta.test\t5\t", "user\tivan\t\t5\t", "user\tivan%0\ta.test\t5\t",
		"user\tivan%00\ta.test\t5\t", "users\tivan\ta.test\t5\t",
		"user\tivan\ta.test\t5\t\t", "address\t192.0.2.1\t\t5\t%",
		"address\t192.0.2.1\t\t5\t"
		"0123456789012345678901234567890123456789"
		"01234567890123456789012345678901234567890"};
	struct block b;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *line = strdup(wrong[i]);

		if (block_set_read(line, &b))
			fail_msg("read: %s", wrong[i]);
		free(line);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(texts_of_addresses),
		T(the_same_block_is_renewed),
		T(blocks_end_in_time),
		T(there_is_a_limit),
		T(a_set_for_workers),
		T(lines_of_a_file),
		T(damaged_lines_are_no_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
