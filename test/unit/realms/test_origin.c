// SPDX-License-Identifier: BSD-3-Clause
// Origins in the canonical form for comparison (RFC 6454 sections 4 and 6).
#include <string.h>

#include "test.h"
#include "features/realms/origin.h"

static void same_origins_have_one_form(void **state)
{
	static const struct {
		const char *text, *form;
	} cases[] = {
		{"https://app.example.org", "https://app.example.org"},
		{"HTTPS://App.Example.ORG", "https://app.example.org"},
		{"https://app.example.org:443", "https://app.example.org"},
		{"https://app.example.org:443/", "https://app.example.org"},
		{"https://app.example.org/path?query#part", "https://app.example.org"},
		{"https://app.example.org:80", "https://app.example.org:80"},
		{"http://app.example.org:80", "http://app.example.org"},
		{"http://carleon.gov:8080", "http://carleon.gov:8080"},
		{"http://app.example.org:443", "http://app.example.org:443"},
		{"sip://app.example.org:443", "sip://app.example.org:443"},
		{"http://[2001:DB8::1]:80", "http://[2001:db8::1]"},
		{"http://[2001:db8::1]:8080", "http://[2001:db8::1]:8080"},
		{"https://a", "https://a"},
		{"web+app-1.0://a", "web+app-1.0://a"},
	};
	char form[STUN_ORIGIN_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(stun_origin_canonical(cases[i].text, strlen(cases[i].text), form));
		assert_string_equal(form, cases[i].form);
	}
}

static void other_texts_are_no_origins(void **state)
{
	static const char *const cases[] = {"", "null", "app.example.org", "https:", "https:/",
		"https://", "https:///path", "://a", "1http://a", "https://:443",
		"https://a:", "https://a:b", "https://a:1:2", "https://a:123456", "https://[::1",
		"https://[]", "https://[::1]x", "https://a b", "https://a\t", "https://\x7f",
		"ht\xc3\xa9://a", "https://\xff"};
	char form[STUN_ORIGIN_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_false(stun_origin_canonical(cases[i], strlen(cases[i]), form));
	assert_false(stun_origin_canonical("https://a\0b", 11, form));
}

static void lengths_are_bounded(void **state)
{
	char text[STUN_ORIGIN_MAX + 2], form[STUN_ORIGIN_MAX + 1];

	memset(text, 'a', sizeof(text));
	memcpy(text, "https://", 8);
	assert_true(stun_origin_canonical(text, STUN_ORIGIN_MAX, form));
	assert_int_equal(strlen(form), STUN_ORIGIN_MAX);
	assert_false(stun_origin_canonical(text, STUN_ORIGIN_MAX + 1, form));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_origins_have_one_form),
		cmocka_unit_test(other_texts_are_no_origins),
		cmocka_unit_test(lengths_are_bounded),
	};

	return cmocka_run_group_tests_name("origin", tests, NULL, NULL);
}
