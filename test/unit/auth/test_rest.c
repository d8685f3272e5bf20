// SPDX-License-Identifier: BSD-3-Clause
// Names of time-limited users, as applications write them.
#include <string.h>

#include "test.h"
#include "turn_rest.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		uint64_t expiry_s;
		const char *id;
	} rows[] = {
		{"1795911616", 1795911616, ""},
		{"1795911616:", 1795911616, ""},
		{"1795911616:ivan", 1795911616, "ivan"},
		{"ivan:1795911616", 1795911616, "ivan"},
		{"1795911616.25:ivan", 1795911616, "ivan"},
		{"1795911616.:ivan", 1795911616, "ivan"},
		{"ivan:1795911616.999999", 1795911616, "ivan"},
		{"1795911616.25", 1795911616, ""},
		{"1795911616:42", 1795911616, "42"},
		{"1795911616:1795911617", 1795911616, "1795911617"},
		{"1795911616:a:b", 1795911616, "a:b"},
		{"1:1795911616x", 1, "1795911616x"},
		{"0:ivan", 0, "ivan"},
		{"99999999999:ivan", 99999999999, "ivan"},
		{"\xc3\xa9:1795911616", 1795911616, "\xc3\xa9"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct turn_rest_name n;

		assert_true(turn_rest_read(rows[i].name, strlen(rows[i].name), &n));
		assert_int_equal(n.expiry_s, rows[i].expiry_s);
		assert_int_equal(n.id_len, strlen(rows[i].id));
		assert_memory_equal(n.id, rows[i].id, n.id_len);
	}
}

// Names that turn_rest_read refuses, such as a time in milliseconds: it would expire in 50,000
// years. turn_rest_looks_like finds those that were probably meant as REST names.
static void test_invalid_names(void **state)
{
	static const struct {
		const char *name;
		bool looks;
	} rows[] = {
		{"", false},
		{":", false},
		{"ivan", false},
		{"ivan:", false},
		{"1795911616000:ivan", true},
		{"ivan:1795911616000", true},
		{"100000000000:ivan", true},
		{"18446744073709551617:ivan", true},
		{"99999999999999999999999999:ivan", true},
		{"42:1795911616", true}, // coturn, too, takes it for a name that expired in 1970
		{":1795911616", true},
		{"a:b:1795911616", true},
		{"ivan:1795911616:x", true},
		{"ivan-1795911616", true},
		{"1795911616_ivan", true},
		{" 1795911616:ivan", true},
		{"+1795911616:ivan", true},
		{"1795911616.5.5:ivan", true},
		{"1.7e9:ivan", false},
	};
	struct turn_rest_name n;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = rows[i].name;

		assert_false(turn_rest_read(name, strlen(name), &n));
		assert_int_equal(turn_rest_looks_like(name, strlen(name)), rows[i].looks);
	}
}

// turn_rest_read reads no byte beyond the length of the name.
static void test_length(void **state)
{
	static const char name[] = "1795911616.25:ivan";
	struct turn_rest_name n;

	(void)state;
	for (size_t len = 1; len < sizeof(name); len++) {
		char exact[sizeof(name)];

		memset(exact, '9', sizeof(exact));
		memcpy(exact, name, len);
		assert_true(turn_rest_read(exact, len, &n));
		assert_true(n.id + n.id_len == exact + len);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_invalid_names),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
