// SPDX-License-Identifier: BSD-3-Clause
// A configuration as the server shows it: it reads back as the same one, and has no secret.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_changes.h"
#include "conf_dir.h"
#include "conf_file.h"
#include "feature_names.h"
#include "test.h"

#define HEX "0123456789abcdef0123456789abcdef"

static const struct hash_key key;
// The lines, each with a newline.
static char shown[1 << 18];

static void hear_line(void *ctx, const char *line)
{
	const size_t used = strlen(shown);

	assert_true(strchr(line, '\n') == NULL);
	assert_true(used + strlen(line) + 2 < sizeof(shown));
	sprintf(shown + used, "%s\n", line);
}

static void show(const struct conf *c, struct conf_show how)
{
	uint32_t first = 0;

	shown[0] = '\0';
	how.max = how.max > 0 ? how.max : SIZE_MAX;
	do
		first = conf_show(c, &how, first, hear_line, NULL);
	while (first > 0);
}

static void assert_shown(const char *text)
{
	if (strstr(shown, text) == NULL)
		fail_msg("%s: not in:\n%.3000s", text, shown);
}

static void assert_not_shown(const char *text)
{
	if (strstr(shown, text) != NULL)
		fail_msg("%s: is in:\n%.3000s", text, shown);
}

// Writes a secret in the place of the comment of a key, as an operator would.
static void put_secret(FILE *out, const char *comment)
{
	const size_t len = strcspn(comment, ":");
	const bool files = strncmp(comment + len - 6, "-files", 6) == 0;
	const bool file = strncmp(comment + len - 5, "-file", 5) == 0;
	const int name = (int)len - (files ? 6 : file ? 5 : 0);
	const bool list = files || strncmp(comment, "secrets:", 8) == 0;
	const char *value = strncmp(comment, "key:", 4) == 0 ? HEX
		: strncmp(comment, "key-sha256", len) == 0
		? HEX HEX
		: "R3JhbmF0ZUp1bmlwZXJLZXN0cmVsUXVhcnR6V2FsbnU=";

	fprintf(out, "%.*s%s: %s%s%s\n", name, comment, files ? "s" : "", list ? "[" : "", value,
		list ? "]" : "");
}

// Returns the shown text with secrets. The caller frees it.
static char *with_secrets(void)
{
	char *text, *line = strtok(shown, "\n");
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (; line != NULL; line = strtok(NULL, "\n")) {
		const size_t indent = strspn(line, " ");

		if (strncmp(line + indent, "# include", 9) == 0)
			continue;
		fprintf(out, "%.*s", (int)indent, line);
		if (line[indent] == '#')
			put_secret(out, line + indent + 2);
		else
			fprintf(out, "%s\n", line + indent);
	}
	fclose(out);
	return text;
}

// Included files are merged, and a derived value is written out.
static void hear_change(void *ctx, const struct conf_change *c)
{
	const struct conf_show *how = ctx;
	const bool derived = how->effective && c->before == NULL && !c->entry;

	if (!c->secret && !derived && strncmp(c->key, "include", 7) != 0)
		fail_msg("%s: %s, not %s", c->key, c->after, c->before);
}

static void say_problem(void *ctx, enum conf_weight weight, const char *line)
{
	if (weight == CONF_ERROR)
		fail_msg("%s", line);
}

// Asserts that the shown configuration is the same one, except for secrets.
static void assert_same(const struct conf *before, struct conf_show how)
{
	char *text;
	struct conf *after;

	show(before, how);
	text = with_secrets();
	conf_file_write(text, strlen(text));
	after = conf_load_and_report(conf_path, &(struct conf_report){.say = say_problem}, &key);
	if (after == NULL)
		fail_msg("refused:\n%s", text);
	conf_changes(before, after, hear_change, &how);
	conf_free(after);
	free(text);
}

static void the_shown_examples_read_back(void **state)
{
	glob_t g;

	if (!FEATURES_ALL)
		skip(); // the files have keys of all features
	assert_int_equal(glob(SOURCE_ROOT "/conf/*.yaml", 0, NULL, &g), 0);
	assert_true(g.gl_pathc > 5);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct conf *c = conf_load_and_report(
			g.gl_pathv[i], &(struct conf_report){.say = say_problem}, &key);

		assert_non_null(c);
		assert_same(c, (struct conf_show){.origin = true});
		assert_same(c, (struct conf_show){.effective = true});
		conf_free(c);
	}
	globfree(&g);
}

static void odd_values_read_back(void **state)
{
	static const char *const odd[][2] = {{"realm: turn.test", "realm: 'turn\"x\\y: # z'"},
		{"log: {", "records: {rotate: 3G}\nlog: {"},
		{"addresses: [10.0.0.1/24,",
			"addresses: [{address: 10.0.0.1/24, external: 203.0.113.2},"},
		{"  - {transport: udp, address: 10.0.0.1, port: 3478}\n", "  - {address: all}\n"},
		{"deny: ['fd00:1::/32']", "deny: []"},
		{"log: {", "drain: {on-change: /bin/a b c}\nlog: {"},
		{"log: {", "drain: {on-change: [/bin/a, b c]}\nlog: {"}};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		char *text = conf_file_edit(odd[i][0], odd[i][1]);
		struct conf *c = conf_file_said(text);

		assert_same(c, (struct conf_show){0});
		assert_same(c, (struct conf_show){.effective = true});
		conf_free(c);
		free(text);
	}
}

static void only_the_keys_of_the_file_are_shown(void **state)
{
	struct conf *c = conf_file_said(conf_good);

	show(c, (struct conf_show){0});
	assert_shown("eal:\n  lcores: \"0@(0-1),1@0,2@1\"\n  args: []\nworkers:\n  count: 2\n");
	assert_shown("ports:\n  - name: \"wan\"\n    device: \"net_a\"\n");
	assert_shown("    addresses:\n      - \"10.0.0.1/24\"\n      - \"fd00::1/64\"\n");
	assert_shown("  binding:\n    rate: 1000\n");
	assert_not_shown("burst");
	assert_not_shown("records");
	show(c, (struct conf_show){.effective = true, .origin = true});
	assert_shown(" # derived\n");
	assert_not_shown("bond");
	assert_shown("  rotate: 104857600 # default\n");
	assert_not_shown("test-constants");
	conf_free(c);
}

static void secrets_are_hidden(void **state)
{
	struct conf *c = conf_file_said(conf_good);

	show(c, (struct conf_show){.effective = true});
	assert_shown("      # password: (hidden)\n");
	assert_shown("  # secrets: (hidden)\n");
	assert_not_shown("hunter");
	assert_not_shown("01234567");
	assert_not_shown(": sha256:");
	show(c, (struct conf_show){.hashes = true});
	// printf hunter2 | sha256sum
	assert_shown("    - name: \"ivan\"\n      # password: sha256:f52fbd32\n");
	assert_shown("      # key: sha256:");
	assert_not_shown("hunter");
	assert_not_shown("01234567");
	conf_free(c);
}

static void each_key_has_its_place(void **state)
{
	struct conf *c;
	char want[128];

	assert_int_equal(conf_dir_open(NULL), 0);
	conf_dir_put("more.yaml", "log: {level: debug}\npeers:\n  deny: [192.0.2.0/24]\n");
	conf_dir_put("main.yaml",
		"include: more.yaml\ninclude-holds: all\n"
		"ports: [{name: wan, device: net_a, addresses: [10.0.0.1/24]}]\n"
		"listeners: [{address: 10.0.0.1}]\nrelay: {addresses: [10.0.0.1]}\n"
		"auth:\n  realm: turn.test\n\n  secrets: [JuniperGranite0001]\n");
	c = conf_load_and_report(
		conf_dir_path("main.yaml"), &(struct conf_report){.say = say_problem}, &key);
	assert_non_null(c);
	show(c, (struct conf_show){.origin = true});
	snprintf(want, sizeof(want), "  realm: \"turn.test\" # %s:7\n", conf_dir_path("main.yaml"));
	assert_shown(want);
	snprintf(want, sizeof(want), "  deny: [\"192.0.2.0/24\"] # %s:3\n",
		conf_dir_path("more.yaml"));
	assert_shown(want);
	snprintf(want, sizeof(want), "peers: # %s:2\n", conf_dir_path("more.yaml"));
	assert_shown(want);
	assert_shown("# include: ");
	conf_dir_remove("main.yaml");
	conf_dir_remove("more.yaml");
	assert_same(c, (struct conf_show){0});
	conf_free(c);
	assert_int_equal(conf_dir_close(NULL), 0);
}

static void parts_make_the_whole(void **state)
{
	struct conf *c = conf_file_said(conf_good);
	char *whole;

	show(c, (struct conf_show){.effective = true});
	whole = strdup(shown);
	for (size_t max = 1; max < 300; max += 7) {
		show(c, (struct conf_show){.effective = true, .max = max});
		assert_string_equal(shown, whole);
	}
	free(whole);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shown_examples_read_back),
		cmocka_unit_test(odd_values_read_back),
		cmocka_unit_test(only_the_keys_of_the_file_are_shown),
		cmocka_unit_test(secrets_are_hidden),
		cmocka_unit_test(each_key_has_its_place),
		cmocka_unit_test(parts_make_the_whole),
	};

	return cmocka_run_group_tests(tests, conf_file_open, conf_file_close);
}
