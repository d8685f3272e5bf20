// SPDX-License-Identifier: BSD-3-Clause
// Names, passwords and realms of a file are prepared as OpaqueString; secrets are bytes.
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "test.h"

#define CHECK(list) conf_file_mistakes(list, sizeof(list) / sizeof(list[0]))
#define NFD "Zoe\u0308"
#define NFC "Zo\u00eb"
#define OTHER_SPACE "\u3000"

static void names_and_passwords_are_composed(void **state)
{
	struct conf *c = conf_file_changed("  realm: turn.test\n"
					   "  users:\n"
					   "    - {name: ivan, password: hunter2}\n",
		"  realm: " NFD "\n"
		"  users:\n"
		"    - {name: a" OTHER_SPACE NFD ", password: " NFD OTHER_SPACE "2}\n");

	assert_string_equal(c->turn.first.name, NFC);
	assert_string_equal(c->turn.first.users[0].name, "a " NFC);
	assert_string_equal(c->turn.first.users[0].password, NFC " 2");
	conf_free(c);
}

static void disallowed_characters_are_an_error(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"name: ivan", "name: ^iv\u00adan",
			"auth.users[0].name: U+00AD, character 3, is forbidden in names, "
			"passwords and realms (RFC 8265: it is invisible, unassigned, or "
			"obsolete): remove it"},
		{"password: hunter2", "password: ^xy\u200bz",
			"auth.users[0].password: U+200B, character 3, is forbidden in names, "
			"passwords and realms (RFC 8265: it is invisible, unassigned, or "
			"obsolete): remove it"},
		{"turn.test", "^turn\u200d.test",
			"auth.realm: U+200D, character 5, cannot stand there"},
	};

	CHECK(list);
}

static void two_spellings_of_a_user_are_one_user(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"{name: ivan, password: hunter2}",
			"{name: " NFC ", password: hunter2}\n"
			"    - {name: ^" NFD ", password: hunter2}",
			"auth.users[1].name: auth.users[0] has this name already"},
	};

	CHECK(list);
}

// The prepared form may be longer.
static void lengths_count_the_prepared_form(void **state)
{
	char name[600] = "name: ", error[CONF_ERROR_LEN] = "";
	struct conf *c;
	char *text;

	for (unsigned int i = 0; i < 84; i++)
		strcat(name, "\u0958"); // 3 bytes become 6
	c = conf_file_changed("name: ivan", name);
	assert_int_equal(strlen(c->turn.first.users[0].name), 504);
	conf_free(c);
	strcat(name, "\u0958");
	text = conf_file_edit("name: ivan", name);
	assert_null(conf_file_load(text, strlen(text), error));
	assert_non_null(strstr(error, "auth.users[0].name: has 510 bytes once composed, at most "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_and_passwords_are_composed),
		cmocka_unit_test(disallowed_characters_are_an_error),
		cmocka_unit_test(two_spellings_of_a_user_are_one_user),
		cmocka_unit_test(lengths_count_the_prepared_form)};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
