// SPDX-License-Identifier: BSD-3-Clause
// The section drain: its keys, their values, and each error with its position.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_section.h"
#include "test.h"

static struct conf *load_section(const char *drain)
{
	return conf_section("drain", drain);
}

static void without_the_section_there_are_defaults(void **state)
{
	struct conf *c = conf_file_changed(CONF_SECTION_AT, CONF_SECTION_AT);

	assert_int_equal(c->drain.deadline_s, 3600);
	assert_int_equal(c->drain.below, 0);
	assert_int_equal(c->drain.nb_on_change, 0);
	assert_int_equal(c->drain.on_change_s, 30);
	conf_free(c);
}

static void times(void **state)
{
	static const struct {
		const char *text;
		uint32_t seconds;
	} t[] = {{"0", 0}, {"600", 600}, {"90s", 90}, {"10m", 600}, {"'10m'", 600}, {"2h", 7200},
		{"30d", 2592000}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char text[64];
		struct conf *c;

		snprintf(text, sizeof(text), "deadline: %s, below: 7", t[i].text);
		c = load_section(text);
		assert_int_equal(c->drain.deadline_s, t[i].seconds);
		assert_int_equal(c->drain.below, 7);
		conf_free(c);
	}
}

// A text is split at blanks; in a list each word stays as it is.
static void commands(void **state)
{
	struct conf *c = load_section("on-change: /usr/bin/env  X=1 true");

	assert_int_equal(c->drain.nb_on_change, 3);
	assert_string_equal(c->drain.on_change[0], "/usr/bin/env");
	assert_string_equal(c->drain.on_change[1], "X=1");
	assert_string_equal(c->drain.on_change[2], "true");
	assert_int_equal(c->drain.on_change_s, 30);
	conf_free(c);
	c = load_section("on-change: [/bin/sh, -c, 'echo $0  >/tmp/x']");
	assert_int_equal(c->drain.nb_on_change, 3);
	assert_string_equal(c->drain.on_change[2], "echo $0  >/tmp/x");
	conf_free(c);
}

#define WRONG(text, error)                                                    \
	{                                                                     \
		CONF_SECTION_AT, CONF_SECTION_AT "drain: {" text "}\n", error \
	}
#define MANY33 "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a"

static void mistakes_are_told_at_their_places(void **state)
{
	static const struct conf_file_mistake list[] = {
		WRONG("deadline: ^soon", "drain.deadline: must be a number of seconds like"),
		WRONG("deadline: ^10 m", "drain.deadline: must be a number of seconds like"),
		WRONG("deadline: ^m", "drain.deadline: must be a number of seconds like"),
		WRONG("deadline: ^-1", "drain.deadline: must be a number of seconds like"),
		WRONG("deadline: ^'600'", "drain.deadline: must be a number of seconds like"),
		WRONG("deadline: ^31d", "drain.deadline: 31d is out of range"),
		WRONG("deadline: ^4294967295d", "drain.deadline: 4294967295d is out of range"),
		WRONG("below: ^10m", "drain.below: must be a decimal number"),
		WRONG("below: ^16777217", "drain.below: 16777217 is out of range"),
		WRONG("on-change: ^on-change",
			"drain.on-change: must begin with the absolute path of a program, such "
			"as /etc/slipring/on-change"),
		WRONG("on-change: [^logger, x]",
			"drain.on-change[0]: must begin with the absolute path of a program, "
			"such as /etc/slipring/on-change"),
		WRONG("on-change: ^''", "drain.on-change: must not be empty"),
		WRONG("on-change: ^'  '", "drain.on-change: must not be empty"),
		WRONG("on-change: [/bin/true, ^'']", "drain.on-change[1]: must not be empty"),
		WRONG("on-change: ^{program: /bin/true}", "drain.on-change: must be a command"),
		WRONG("on-change: ^/" MANY33,
			"drain.on-change: has more than 32 words: put the command into a script"),
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

// --- reload --------------------------------------------------------------------------------------

static void assert_changes(
	const char *before, const char *after, unsigned int nb_hot, unsigned int nb_cold)
{
	conf_section_changes("drain", before, after, nb_hot, nb_cold);
}

// Everything except the program: the process that runs it got it at the start.
static void a_reload_takes_the_section(void **state)
{
	struct conf *running = conf_section_said("drain", "on-change: /bin/true");
	struct conf *fresh =
		conf_section_said("drain", "below: 3, deadline: 5m, on-change: /bin/true");

	assert_changes("deadline: 600", "deadline: 10m", 0, 0);
	assert_changes("deadline: 1h", "below: 0", 0, 0);
	assert_changes("below: 1", "below: 2, deadline: 5m", 2, 0);
	assert_changes("on-change: /bin/true", "on-change: /bin/false", 0, 1);
	assert_changes("on-change: /bin/true", "below: 5", 1, 1);
	conf_section_adopt(running, fresh);
	assert_int_equal(running->drain.below, 3);
	assert_int_equal(running->drain.deadline_s, 300);
	assert_string_equal(running->drain.on_change[0], "/bin/true");
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_section_there_are_defaults),
		cmocka_unit_test(times),
		cmocka_unit_test(commands),
		cmocka_unit_test(mistakes_are_told_at_their_places),
		cmocka_unit_test(a_reload_takes_the_section),
	};

	return cmocka_run_group_tests_name("conf_drain", tests, conf_file_open, conf_file_close);
}
