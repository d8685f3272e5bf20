// SPDX-License-Identifier: BSD-3-Clause
// Keys of features: a build without the feature says so, at the place of the key.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "feature_names.h"
#include "test.h"

static const struct {
	const char *feature, *piece, *replacement, *key;
} keys[] = {
	{"alternates", "log: {", "^alternate: {allocations: 0}\nlog: {", "alternate"},
	{"alternates", "log: {", "drain: {^alternates: []}\nlog: {", "drain.alternates"},
	{"discovery", "log: {", "^nat-discovery: {addresses: []}\nlog: {", "nat-discovery"},
	// also a key of coturn
	{"mobility", "relay:\n", "relay:\n  ^mobility: {enabled: false}\n", "relay.mobility"},
	{"realms", "auth:\n", "auth:\n  ^origins: []\n", "auth.origins"},
	{"realms", "port: 3478", "port: 3478, ^realms: [turn.test]", "listeners[0].realms"},
	{"realms", "log: {", "^realms: []\nlog: {", "realms"},
	{"shared", "relay:\n", "relay:\n  ^mode: unique\n", "relay.mode"},
	{"rates", "limits:\n", "limits:\n  ^rates: {}\n", "limits.rates"},
	{"tcp", "relay:\n", "relay:\n  ^tcp: {enabled: false}\n", "relay.tcp"},
	{"tokens", "auth:\n", "auth:\n  ^oauth: {keys: []}\n", "auth.oauth"},
};

static bool is_built(const char *feature)
{
	char list[sizeof(FEATURES) + 2], name[32];

	snprintf(list, sizeof(list), " %s ", FEATURES);
	snprintf(name, sizeof(name), " %s ", feature);
	return strstr(list, name) != NULL;
}

static void keys_of_other_builds_are_told_from_wrong_ones(void **state)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *text = conf_file_edit(keys[i].piece, keys[i].replacement);
		char error[CONF_ERROR_LEN] = "", want[CONF_ERROR_LEN], place[CONF_PLACE_LEN];
		const size_t len = conf_text_unmark(text, strlen(text), place);
		struct conf *c = conf_file_load(text, len, error);

		snprintf(want, sizeof(want),
			"%s:%s%s: unknown key: this slipring was built without the feature '%s'",
			conf_path, place, keys[i].key, keys[i].feature);
		if (is_built(keys[i].feature)) {
			assert_string_equal(error, "");
			assert_non_null(c);
		} else {
			assert_null(c);
			assert_string_equal(error, want);
		}
		conf_free(c);
		free(text);
	}
}

// Its names in other sections are unknown as ever.
static void a_wrong_section_is_told(void **state)
{
	static const struct conf_file_mistake list[] = {
		{"log: {to", "log: {^origins: [], to", "log.origins: unknown key, "},
		{"workers: {", "workers: {^tcp: 1, ", "workers.tcp: unknown key, "},
	};

	conf_file_mistakes(list, sizeof(list) / sizeof(list[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_other_builds_are_told_from_wrong_ones),
		cmocka_unit_test(a_wrong_section_is_told),
	};

	return cmocka_run_group_tests_name("conf_absent", tests, conf_file_open, conf_file_close);
}
