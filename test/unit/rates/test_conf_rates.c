// SPDX-License-Identifier: BSD-3-Clause
// The keys of limits.rates.
#include <stdlib.h>

#include "conf_changes.h"
#include "conf_file.h"
#include "test.h"
#include "turn.h"

#define BEFORE "rate: 1000}"
#define RATES(text) BEFORE "\n  rates: {" text "}"

static void values_are_read(void **state)
{
	struct conf *c =
		conf_file_changed(BEFORE, RATES("user-to-peers: 2M, realm-from-peers: 64000"));
	const struct turn_rates *r = &c->turn.limits.rates;

	for (unsigned int scope = 0; scope < TURN_RATE_OF_END; scope++)
		for (unsigned int leg = 0; leg < 2; leg++) {
			uint32_t kbits = 0;

			if (scope == TURN_RATE_USER && leg == TURN_FROM_CLIENT)
				kbits = 2000;
			else if (scope == TURN_RATE_REALM && leg == TURN_FROM_PEER)
				kbits = 64;
			assert_int_equal(r->flow[scope][leg].kbits, kbits);
			assert_int_equal(r->flow[scope][leg].datagrams, 0);
		}
	assert_int_equal(r->burst_ms, 100);
	conf_free(c);
	c = conf_file_changed("log:",
		"test-constants: {limits.rates.burst: 20, "
		"limits.rates.user-from-peers.datagrams: 7}\nlog:");
	assert_int_equal(c->turn.limits.rates.burst_ms, 20);
	assert_int_equal(c->turn.limits.rates.flow[TURN_RATE_USER][TURN_FROM_PEER].datagrams, 7);
	conf_free(c);
}

static void mistakes_are_named(void **state)
{
	static const struct conf_file_mistake list[] = {
		{BEFORE, RATES("user-to-peers: ^2MB"),
			"limits.rates.user-to-peers: must be a number of bits a second like "
			"64000, 64k, 2M or 10G, not '2MB'"},
		{BEFORE, RATES("user-to-peers: ^'2000'"),
			"limits.rates.user-to-peers: must be a number of bits a second"},
		{BEFORE, RATES("user-to-peers: ^1500"),
			"limits.rates.user-to-peers: 1500 is no whole number of kilobits: "
			"write 2k"},
		{BEFORE, RATES("user-to-peers: ^4295000G"),
			"limits.rates.user-to-peers: 4295000G is out of range"},
		{BEFORE, RATES("^user-to-peer: 1M"),
			"limits.rates.user-to-peer: unknown key, did you mean 'user-to-peers'?"},
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

// --- changes -------------------------------------------------------------------------------------

static void keep_change(void *ctx, const struct conf_change *c)
{
	char *text = ctx;

	snprintf(text, 256, "%s: %s, then %s%s", c->key, c->before, c->after,
		c->hot ? "" : " (restart)");
}

static unsigned int changes(const char *old_rates, const char *new_rates, char *text)
{
	char *before = conf_file_edit(BEFORE, old_rates);
	char *after = conf_file_edit(BEFORE, new_rates);
	struct conf *c = conf_file_said(before), *d = conf_file_said(after);
	const unsigned int nb = conf_changes(c, d, keep_change, text);

	conf_free(c);
	conf_free(d);
	free(before);
	free(after);
	return nb;
}

static void equal_values_in_other_spellings_are_no_change(void **state)
{
	static const char *const same[] = {RATES("user-to-peers: 2000k"),
		RATES("user-to-peers: 2000000"), RATES("user-to-peers: '2M', user-from-peers: 0")};
	char text[256] = "";

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(changes(RATES("user-to-peers: 2M"), same[i], text), 0);
	assert_int_equal(changes(RATES("user-to-peers: 2M"), RATES("user-to-peers: 64k"), text), 1);
	assert_string_equal(text, "limits.rates.user-to-peers: 2000000, then 64000");
}

// --- warnings ------------------------------------------------------------------------------------

static void keep_warning(void *ctx, enum conf_weight weight, const char *line)
{
	char *text = ctx;

	assert_int_equal(weight, CONF_WARNING);
	if (strstr(line, "limits.rates") != NULL)
		snprintf(text + strlen(text), 512 - strlen(text), "%s\n", line);
}

static void assert_warned(const char *rates, const char *piece, const char *want)
{
	char text[512] = "";
	struct conf_report report = {.say = keep_warning, .ctx = text};
	struct conf *c = conf_file_changed(BEFORE, rates);

	conf_warnings(c, &report);
	conf_free(c);
	assert_string_equal(text, piece != NULL ? conf_file_at(piece, want) : want);
}

static void a_rate_that_one_user_can_use_up_is_a_warning(void **state)
{
	assert_warned(RATES("realm-from-peers: 1G"), "1G",
		"limits.rates.realm-from-peers: one user can use it up for all others: limit "
		"users, too\n");
	assert_warned(RATES("realm-from-peers: 1G, user-from-peers: 1M"), NULL, "");
	assert_warned(RATES("allocation-to-peers: 1M, user-from-peers: 1M"), NULL, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(equal_values_in_other_spellings_are_no_change),
		cmocka_unit_test(a_rate_that_one_user_can_use_up_is_a_warning),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
