// SPDX-License-Identifier: BSD-3-Clause
// Included files: which files, the effect of their keys, and the position of errors.
#include <stdlib.h>
#include <unistd.h>

#include "conf_changes.h"
#include "conf_dir.h"
#include "conf_file.h"
#include "feature_names.h"
#include "hash.h"
#include "test.h"

#define MIB (1u << 20)
#define HUNTER_FILE "auth: {users: [{name: petr, password: hunter5hunter5hu}]}\n"

static const struct hash_key hash = {{1, 2, 3, 4}};
static char main_text[4096]; // conf_good, and what it includes
static char lines[8192]; // the last messages
static const char *holds = "all";

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	const size_t used = strlen(lines);

	assert_null(strstr(line, "hunter"));
	snprintf(lines + used, sizeof(lines) - used, "%s%s\n",
		weight == CONF_WARNING ? "warning: " : "", line);
}

// Loads conf_good with that include. Returns NULL on an error, which is then in lines.
static struct conf *load_with(const char *include)
{
	struct conf_report r = {.say = hear};

	lines[0] = '\0';
	snprintf(main_text, sizeof(main_text), "%sinclude: %s\ninclude-holds: %s\n", conf_good,
		include, holds);
	conf_file_write(main_text, strlen(main_text));
	return conf_load_and_report(conf_path, &r, &hash);
}

static struct conf *load(void)
{
	struct conf *c = load_with(conf_dir_path("d"));

	if (c == NULL)
		fail_msg("%s", lines);
	return c;
}

// Asserts that it is refused with this text.
static void assert_refused(const char *line)
{
	struct conf *c = load_with(conf_dir_path("d"));

	if (c != NULL)
		fail_msg("accepted, wanted: %s", line);
	if (strncmp(lines, line, strlen(line)) != 0)
		fail_msg("wanted: %s\n   got: %s", line, lines);
}

// Makes a file with this text without its mark, and writes "FILE:LINE:COL: " to place.
static void put_marked(const char *name, const char *text, char place[128])
{
	char *plain = strdup(text), mark[CONF_PLACE_LEN];

	conf_text_unmark(plain, strlen(plain), mark);
	conf_dir_put(name, plain);
	snprintf(place, 128, "%s:%s", conf_dir_path(name), mark);
	free(plain);
}

static void refused_in(const char *text, const char *want)
{
	char place[128], line[CONF_ERROR_LEN];

	put_marked("d/a.yaml", text, place);
	snprintf(line, sizeof(line), "%s%s", place, want);
	assert_refused(line);
}

// first: the piece of conf_good that has the key.
static void refused_twice(const char *text, const char *key, const char *first)
{
	char want[CONF_ERROR_LEN];

	conf_file_write(conf_good, strlen(conf_good));
	snprintf(want, sizeof(want), "%s: given twice, first at %s", key,
		conf_file_at(first, "remove one\n"));
	refused_in(text, want);
}

static void put_user(const char *file, const char *name)
{
	char text[128];

	snprintf(text, sizeof(text), "auth: {users: [{name: %s, password: hunter6}]}\n", name);
	conf_dir_put(file, text);
}

static int make(void **state)
{
	return conf_file_open(state) == 0 ? conf_dir_open(state) : -1;
}

static int clean(void **state)
{
	conf_dir_remove("d");
	conf_dir_put("d/keep", "");
	return 0;
}

static int end(void **state)
{
	return conf_file_close(state) == 0 ? conf_dir_close(state) : -1;
}

// --- which files, and their effect ---------------------------------------------------------------

static void files_come_in_the_order_of_their_names(void **state)
{
	static const char *const names[] = {"ivan", "olga", "u10", "u9", "uB", "ua"};
	struct conf *c;

	put_user("d/a.yaml", "ua");
	put_user("d/B.yaml", "uB");
	put_user("d/9.yaml", "u9");
	put_user("d/10.yaml", "u10");
	c = load();
	assert_int_equal(c->turn.first.nb_users, 6);
	for (unsigned int i = 0; i < 6; i++)
		assert_string_equal(c->turn.first.users[i].name, names[i]);
	assert_int_equal(c->nb_included, 4);
	assert_string_equal(c->included[0], conf_dir_path("d/10.yaml"));
	assert_string_equal(c->turn.first.users[0].password, "hunter2");
	assert_string_equal(c->turn.first.users[5].password, "hunter6");
	conf_free(c);
}

static void other_files_are_left_out(void **state)
{
	static const char *const others[] = {"d/.a.yaml", "d/a.yml", "d/a.yaml~",
		"d/a.yaml.dpkg-old", "d/README", "d/yaml", "d/.yaml", "d/sub/a.yaml"};
	struct conf *c;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		conf_dir_put(others[i], "nonsense: [\n");
	c = load();
	assert_int_equal(c->nb_included, 0);
	assert_int_equal(c->turn.first.nb_users, 2);
	conf_free(c);
}

static void empty_ones_are_fine(void **state)
{
	struct conf *c;

	conf_dir_put("d/a.yaml", "");
	conf_dir_put("d/b.yaml", "# nothing yet\n");
	conf_dir_put("d/c.yaml", "auth:\n#  realm: x\n");
	c = load();
	assert_int_equal(c->nb_included, 3);
	conf_free(c);
}

static void mappings_are_joined_and_lists_appended(void **state)
{
	struct conf *c;

	conf_dir_put("d/a.yaml",
		"ports:\n  - {name: dmz, device: net_c, addresses: [10.2.0.1/24]}\n"
		"listeners: [{address: 10.2.0.1}]\n"
		"auth: {secrets: [hunter7hunter7hunter7]}\n"
		"limits: {per-user: 3, lifetime: {permission: 400}}\n"
		"peers: {allow: [192.0.2.0/24]}\n"
		"test-constants: {fragments.flows: 0}\n");
	conf_dir_put("d/b.yaml",
		"limits: {lifetime: {channel: 700}}\n"
		"test-constants: {fragments.timeout: 900}\n");
	c = load();
	assert_int_equal(c->nb_ports, 3);
	assert_string_equal(c->ports[2].name, "dmz");
	assert_int_equal(c->turn.nb_listeners, 3);
	assert_int_equal(c->turn.first.nb_secrets, 2);
	assert_string_equal(c->turn.first.secrets[1], "hunter7hunter7hunter7");
	assert_int_equal(c->turn.limits.allocations, 1000);
	assert_int_equal(c->turn.limits.per_user, 3);
	assert_int_equal(c->turn.limits.permission_s, 400);
	assert_int_equal(c->turn.limits.channel_s, 700);
	assert_int_equal(c->turn.nb_allow, 6);
	assert_int_equal(c->fragments.flows, 0);
	assert_int_equal(c->fragments.timeout_ms, 900);
	conf_free(c);
}

// The main file is opened by another path, so a relative name must be resolved against its
// directory.
static void a_name_is_relative_to_the_file(void **state)
{
	char text[2048], error[CONF_ERROR_LEN], path[64];
	struct conf *c;

	put_user("d/a.yaml", "ua");
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "include: %s\n%s", i == 0 ? "d" : "d/a.yaml",
			conf_good);
		conf_dir_put("main.yaml", text);
		snprintf(path, sizeof(path), "%s", conf_dir_path("main.yaml"));
		c = conf_load(path, error);
		if (c == NULL)
			fail_msg("%s", error);
		assert_int_equal(c->turn.first.nb_users, 3);
		conf_free(c);
	}
}

// --- errors, and their positions -----------------------------------------------------------------

static void a_repeated_key_is_reported_with_both_places(void **state)
{
	refused_twice("auth:\n  realm: ^x\n", "auth.realm", "realm:");
	refused_twice("limits: {lifetime: {max: ^5}}\n", "limits.lifetime.max", "max:");
	refused_twice("relay: {addresses: ^all}\n", "relay.addresses", "addresses: [10.0.0.1, ");
	refused_twice("peers: ^[10.0.0.0/8]\n", "peers", "peers:");
	refused_twice("auth:\n  realm:^\n", "auth.realm", "realm:");
}

static void two_included_files_may_not_repeat_a_key(void **state)
{
	char first[128], second[128], line[CONF_ERROR_LEN];

	put_marked("d/a.yaml", "limits: {^per-user: 3}\n", first);
	put_marked("d/b.yaml", "# b\nlimits: {per-user: ^4}\n", second);
	snprintf(line, sizeof(line), "%slimits.per-user: given twice, first at %sremove one\n",
		second, first);
	assert_refused(line);
}

static void one_file_may_not_repeat_a_key(void **state)
{
	refused_in(
		"auth: {secrets: [hunter8]}\n\nauth: ^{secrets: [hunter9]}\n", "auth: given twice");
	refused_in("state: {file: /a}\nstate: ^{file: /b}\n", "state: given twice");
	refused_in("state: {file: /a, file: ^/b}\n", "state.file: given twice");
}

static void errors_name_the_included_file(void **state)
{
	static const struct {
		const char *text, *want;
	} bad[] = {
		{"limits: {per-user: ^many}\n", "limits.per-user: must be a decimal number"},
		{"auth:\n  users:\n    - ^name: petr\n", "auth.users[2]: this user has neither"},
		{"auth: {users: [{name: ^ivan, password: hunter5}]}\n",
			"auth.users[2].name: auth.users[0] has this name already"},
		{"auth: {users: [^{password: hunter5}]}\n", "auth.users[2].name: missing"},
		{"auth: {^relm: hunter5}\n", "auth.relm: unknown key, did you mean"},
		{"^nonsense: 1\n", "nonsense: unknown key"},
		{"auth: [\n^", "yaml: syntax"},
		{"^- a\n", "yaml: the file must be a mapping of keys"},
		{"^listening-port=3478\n",
			"yaml: a ':' and a blank must follow a key, not '='. slipring-import "
			"converts a turnserver.conf (doc/coturn.md)"},
		{"include: ^x\n",
			"include: an included file cannot include files: put all of them in "
			"one directory"},
		{"listeners: [{address: ^10.9.9.9}]\n", "listeners[2].address: "},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused_in(bad[i].text, bad[i].want);
}

static void errors_of_several_files_are_all_told(void **state)
{
	conf_dir_put("d/a.yaml", "limits: {per-user: x}\n");
	conf_dir_put("d/b.yaml", "limits: {per-source: y}\n");
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines, "d/a.yaml:1:20: limits.per-user"));
	assert_non_null(strstr(lines, "d/b.yaml:1:22: limits.per-source"));
	conf_dir_put("d/a.yaml", "{\n");
	conf_dir_put("d/b.yaml", "[\n");
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines, "d/a.yaml:2:1: yaml"));
	assert_non_null(strstr(lines, "d/b.yaml:2:1: yaml"));
}

static void unreadable_files_are_refused(void **state)
{
	assert_null(load_with("/nonexistent/conf.d"));
	assert_string_equal(lines,
		conf_file_at("/nonexistent",
			"include: /nonexistent/conf.d: No such file or directory\n"));
	assert_null(load_with("[d]"));
	assert_non_null(strstr(lines, conf_file_at("[d]", "include: must be text")));
	assert_null(load_with("''"));
	assert_non_null(strstr(lines, conf_file_at("''", "include: must not be empty")));
	assert_null(load_with("/dev/null"));
	assert_non_null(strstr(lines, "/dev/null is not a regular file: name one"));
	conf_dir_put("d/sub.yaml/x", "");
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines, "d/sub.yaml is not a regular file: name one"));
}

static void files_and_bytes_are_limited(void **state)
{
	char name[32], *text = malloc(MIB + 1);
	struct conf *c;

	for (unsigned int i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "d/%03u.yaml", i);
		conf_dir_put(name, "");
	}
	c = load();
	assert_int_equal(c->nb_included, 256);
	conf_free(c);
	conf_dir_put("d/more.yaml", "");
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines, "has 257 files: at most 256 are allowed"));
	clean(state);
	memset(text, '#', MIB);
	text[MIB] = '#';
	conf_dir_write("d/a.yaml", 0600, text, MIB);
	conf_free(load());
	conf_dir_write("d/a.yaml", 0600, text, MIB + 1);
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines,
		"d/a.yaml:1:1: file: has more than 1048576 bytes: name a "
		"configuration file"));
	for (unsigned int i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), "d/%02u.yaml", i);
		conf_dir_write(name, 0600, "#", 1);
		assert_int_equal(truncate(conf_dir_path(name), MIB), 0); // never read
	}
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines, "all files together have more than 16777216 bytes"));
	free(text);
}

static void a_mapping_of_too_many_keys_is_refused(void **state)
{
	char *text = calloc(1, 65536);
	size_t used = 0;

	for (unsigned int i = 0; i < 2000; i++)
		used += (size_t)sprintf(text + used, "k%u: 1\n", i);
	conf_dir_put("d/a.yaml", text);
	assert_null(load_with(conf_dir_path("d")));
	assert_non_null(strstr(lines, "d/a.yaml:1:1: file: has 2000 keys"));
	free(text);
}

// --- other readers of the file -------------------------------------------------------------------

static void warnings_name_the_included_file(void **state)
{
	struct conf_report r = {.say = hear};
	struct conf *c;

	conf_dir_write("d/a.yaml", 0644, "auth: {secrets: [short]}\n", 25);
	conf_dir_write("d/b.yaml", 0644, "limits: {per-user: 3}\n", 22);
	c = load();
	conf_warnings(c, &r);
	assert_non_null(strstr(lines, "d/a.yaml:1:18: auth.secrets[1]: has fewer than"));
	assert_non_null(strstr(lines, "d/a.yaml:1:18: auth.secrets[1]: everyone on this host"));
	assert_null(strstr(lines, "d/b.yaml"));
	conf_free(c);
}

struct told {
	unsigned int nb;
	char key[64];
};

static void keep(void *ctx, const struct conf_change *c)
{
	struct told *t = ctx;

	t->nb++;
	snprintf(t->key, sizeof(t->key), "%s", c->key);
	assert_true(c->hot);
}

static void included_files_are_compared(void **state)
{
	struct conf *before = load(), *after;
	struct told t = {0};

	put_user("d/a.yaml", "ua");
	after = load();
	assert_int_equal(conf_changes(before, after, keep, &t), 1);
	assert_string_equal(t.key, "auth.users[ua]");
	conf_free(before);
	// a key that moves to another file is unchanged
	conf_dir_remove("d/a.yaml");
	put_user("d/b.yaml", "ua");
	before = load();
	assert_int_equal(conf_changes(before, after, keep, &t), 0);
	conf_free(before);
	conf_free(after);
}

// No piece of a password is shown of a file that is damaged anywhere.
static void damaged_files_tell_no_password(void **state)
{
	for (size_t pos = 0; pos < strlen(HUNTER_FILE); pos++)
		for (const char *damage = ":{}[]'\",#\n &*"; *damage != '\0'; damage++) {
			char text[] = HUNTER_FILE;

			text[pos] = *damage;
			conf_dir_put("d/a.yaml", text);
			conf_free(load_with(conf_dir_path("d")));
		}
}

// A program that may write a file of accounts can only create accounts with it.
static void accounts_alone_by_default(void **state)
{
	static const char *const good[] = {
		HUNTER_FILE,
		"auth: {secrets: [hunter6hunter6hunter6]}\n",
#ifdef FEATURE_REALMS
		"realms: [{name: a.test, users: [{name: anna, key: "
		"0123456789abcdef0123456789abcdef}], secrets: [hunter7hunter7hunter7]}]\n",
#endif
	};
	static const char *const bad[] = {"eal: {args: [-d, /tmp/x.so]}\n",
		"drain: {on-change: [/tmp/x]}\n", "peers: {allow: [10.0.0.0/8]}\n",
		"auth: {realm: other}\n",
		"auth: {users: [{name: petr, password-file: /etc/shadow}]}\n",
		"auth: {secret-files: [/etc/shadow]}\n",
		"realms: [{name: a.test, peers: {allow: [10.0.0.0/8]}}]\n", "include-holds: all\n"};

	holds = "accounts";
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		conf_dir_put("d/a.yaml", good[i]);
		conf_free(load());
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		conf_dir_put("d/a.yaml", bad[i]);
		assert_null(load_with(conf_dir_path("d")));
		assert_non_null(strstr(lines, "d/a.yaml:1:"));
		assert_true(strstr(lines, "include-holds: all there") != NULL ||
			strstr(lines, "is a key of the including file only: move it there") !=
				NULL);
	}
	holds = "all";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accounts_alone_by_default),
		cmocka_unit_test_setup(files_come_in_the_order_of_their_names, clean),
		cmocka_unit_test_setup(other_files_are_left_out, clean),
		cmocka_unit_test_setup(empty_ones_are_fine, clean),
		cmocka_unit_test_setup(mappings_are_joined_and_lists_appended, clean),
		cmocka_unit_test_setup(a_name_is_relative_to_the_file, clean),
		cmocka_unit_test_setup(a_repeated_key_is_reported_with_both_places, clean),
		cmocka_unit_test_setup(two_included_files_may_not_repeat_a_key, clean),
		cmocka_unit_test_setup(one_file_may_not_repeat_a_key, clean),
		cmocka_unit_test_setup(errors_name_the_included_file, clean),
		cmocka_unit_test_setup(errors_of_several_files_are_all_told, clean),
		cmocka_unit_test_setup(unreadable_files_are_refused, clean),
		cmocka_unit_test_setup(files_and_bytes_are_limited, clean),
		cmocka_unit_test_setup(a_mapping_of_too_many_keys_is_refused, clean),
		cmocka_unit_test_setup(warnings_name_the_included_file, clean),
		cmocka_unit_test_setup(included_files_are_compared, clean),
		cmocka_unit_test_setup(damaged_files_tell_no_password, clean),
	};

	return cmocka_run_group_tests(tests, make, end);
}
