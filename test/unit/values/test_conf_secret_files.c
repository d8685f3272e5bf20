// SPDX-License-Identifier: BSD-3-Clause
// Passwords and secrets from files: name resolution, and valid contents.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_changes.h"
#include "conf_dir.h"
#include "conf_file.h"
#include "hash.h"
#include "test.h"

#define CREDENTIALS "CREDENTIALS_DIRECTORY"
#define FORM                                                                         \
	"ports: [{name: wan, device: net_a, addresses: [198.51.100.1/24], gateway: " \
	"[198.51.100.254]}]\n"                                                       \
	"listeners: [{address: 198.51.100.1}]\n"                                     \
	"relay: {addresses: [198.51.100.1]}\n"                                       \
	"auth:\n"                                                                    \
	"  realm: turn.test\n"                                                       \
	"  users: [{name: ivan, password-file: %s}]\n"                               \
	"  secrets: [Walnut3Cobalt0001]\n"                                           \
	"  secret-files: [%s]\n"                                                     \
	"  nonce: {secret-file: %s}\n"

static const struct hash_key hash = {{1, 2, 3, 4}};
static char text[2048], lines[8192];

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	const size_t used = strlen(lines);

	assert_null(strstr(line, "Kestrel"));
	if (strstr(line, "workers.count") == NULL)
		snprintf(lines + used, sizeof(lines) - used, "%s\n", line);
}

// Loads main.yaml of the directory with these file names.
static struct conf *load(const char *password, const char *secrets, const char *nonce)
{
	struct conf_report r = {.say = hear};
	char path[64];

	lines[0] = '\0';
	snprintf(text, sizeof(text), FORM, password, secrets, nonce);
	conf_dir_put("main.yaml", text);
	snprintf(path, sizeof(path), "%s", conf_dir_path("main.yaml"));
	return conf_load_and_report(path, &r, &hash);
}

static struct conf *load_good(const char *password, const char *secrets, const char *nonce)
{
	struct conf *c = load(password, secrets, nonce);

	if (c == NULL)
		fail_msg("%s", lines);
	return c;
}

// Asserts that the password's file is refused with this text if it has these bytes.
static void refused(const char *bytes, size_t len, const char *want)
{
	struct conf *c;

	conf_dir_write("bad", 0600, bytes, len);
	c = load("bad", "s1", "n1");
	if (c != NULL || strstr(lines, want) == NULL)
		fail_msg("wanted: %s\n   got: %s", want, lines);
	assert_non_null(strstr(lines, "main.yaml:6:39: auth.users[0].password-file: "));
}

static int make(void **state)
{
	unsetenv(CREDENTIALS);
	if (conf_dir_open(state) != 0)
		return -1;
	conf_dir_put("p1", "Kestrel7Quartz\n");
	conf_dir_put("s1", "Kestrel8QuartzJuniper");
	conf_dir_put("s2", "Kestrel9QuartzJuniper\n");
	conf_dir_put("n1", "Kestrel6QuartzJuniper\n");
	return 0;
}

static void contents_of_files_become_secrets(void **state)
{
	struct conf *c = load_good("p1", "s1, s2", "n1");
	struct conf_report r = {.say = hear};

	assert_string_equal(c->turn.first.users[0].password, "Kestrel7Quartz");
	assert_int_equal(c->turn.first.nb_secrets, 3);
	assert_string_equal(c->turn.first.secrets[0], "Walnut3Cobalt0001");
	assert_string_equal(c->turn.first.secrets[1], "Kestrel8QuartzJuniper");
	assert_string_equal(c->turn.first.secrets[2], "Kestrel9QuartzJuniper");
	assert_string_equal(c->turn.nonce_secret, "Kestrel6QuartzJuniper");
	assert_int_equal(c->nb_secret_files, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(access(c->secret_files[i], R_OK), 0);
	conf_warnings(c, &r);
	assert_string_equal(lines, "");
	conf_free(c);
}

static void one_line_feed_at_the_end_is_removed(void **state)
{
	struct conf *c;

	conf_dir_put("bad", " Kestrel 7 \n");
	c = load_good("bad", "s1", "n1");
	assert_string_equal(c->turn.first.users[0].password, " Kestrel 7 ");
	conf_free(c);
	refused("Kestrel\n\n", 9,
		"byte 8 of the file is a control character (line feed, "
		"carriage return, NUL...): write one line, which may end in a line feed");
	refused("Kestrel\r\n", 9,
		"byte 8 of the file is a control character (line feed, "
		"carriage return, NUL...): write one line, which may end in a line feed");
	refused("\nKestrel", 8,
		"byte 1 of the file is a control character (line feed, carriage "
		"return, NUL...): write one line, which may end in a line feed");
	refused("Kest\0rel", 8,
		"byte 5 of the file is a control character (line feed, carriage "
		"return, NUL...): write one line, which may end in a line feed");
	refused("Kestrel\x7f", 8,
		"byte 8 of the file is a control character (line feed, "
		"carriage return, NUL...): write one line, which may end in a line feed");
	refused("\n", 1, "the file is empty");
	refused("", 0, "the file is empty");
}

static void lengths_of_files_are_limited(void **state)
{
	char longest[1100];
	struct conf *c;

	memset(longest, 'x', sizeof(longest));
	longest[1023] = '\n';
	for (unsigned int feed = 0; feed < 2; feed++) {
		conf_dir_write("bad", 0600, longest, 1023 + feed);
		c = load_good("bad", "s1", "n1");
		assert_int_equal(strlen(c->turn.first.users[0].password), 1023);
		conf_free(c);
	}
	longest[1023] = 'x';
	refused(longest, 1024, "more than 1023 bytes");
	refused(longest, 1025, "more than 1023 bytes");
	refused(longest, 1100, "more than 1023 bytes");
}

static void only_regular_files_are_accepted(void **state)
{
	static const struct {
		const char *name, *want;
	} bad[] = {
		{"gone", "cannot be opened: No such file or directory (looked for beside"},
		{"/nonexistent/Kestrel", "cannot be opened: No such file or directory\n"},
		{".", "is a directory: name a file"},
		{"fifo", "is not a regular file: name a file"},
		{"loop", "cannot be opened: Too many levels of symbolic links"},
		{"/dev/null", "is not a regular file"},
		{"''", "must not be empty"},
		{"", "has no value"},
		{"[p1]", "must be the name of a file: remove the brackets"},
	};

	assert_int_equal(mkfifo(conf_dir_path("fifo"), 0600), 0);
	assert_int_equal(symlink("loop", conf_dir_path("loop")), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(load(bad[i].name, "s1", "n1"));
		if (strstr(lines, bad[i].want) == NULL)
			fail_msg("wanted: %s\n   got: %s", bad[i].want, lines);
	}
}

static void missing_files_of_other_keys_are_refused(void **state)
{
	assert_null(load("p1", "s1, gone", "n1"));
	assert_non_null(strstr(lines, "main.yaml:8:22: auth.secret-files[1]: the file cannot be"));
	assert_null(load("p1", "s1", "gone"));
	assert_non_null(
		strstr(lines, "main.yaml:9:24: auth.nonce.secret-file: the file cannot be"));
}

static void both_kinds_at_once_are_refused(void **state)
{
	assert_null(load("p1, password: Kestrel", "s1", "n1"));
	assert_non_null(strstr(lines, "auth.users[0].password: is given here and in a file"));
	assert_null(load("p1, key: 0123456789abcdef0123456789abcdef", "s1", "n1"));
	assert_non_null(strstr(lines, "auth.users[0]: this user has both a password and a key"));
	assert_null(load("p1", "s1", "n1, secret: Kestrel"));
	assert_non_null(strstr(lines, "auth.nonce.secret: is given here and in a file"));
	assert_null(
		load("p1", "s1, s1, s1, s1, s1, s1, s1, s1, s1, s1, s1, s1, s1, s1, s1, s1", "n1"));
	assert_non_null(strstr(lines,
		"auth.secret-files[15]: one too many: at most 16 are "
		"allowed"));
}

static void a_relative_name_is_a_credential_where_there_are_any(void **state)
{
	struct conf *c;

	conf_dir_put("credentials/p1", "Kestrel-of-systemd");
	assert_int_equal(setenv(CREDENTIALS, conf_dir_path("credentials"), 1), 0);
	assert_null(load("p1", "s1", "n1"));
	assert_null(strstr(lines, "password-file"));
	assert_non_null(strstr(lines,
		"auth.secret-files[0]: the file cannot be opened: No such file or directory "
		"(looked for in $CREDENTIALS_DIRECTORY)"));
	conf_dir_put("credentials/s1", "Kestrel-of-systemd-too");
	conf_dir_put("credentials/n1", "Kestrel-of-systemd-too");
	c = load_good("p1", "s1", "n1");
	assert_string_equal(c->turn.first.users[0].password, "Kestrel-of-systemd");
	assert_string_equal(c->turn.first.secrets[1], "Kestrel-of-systemd-too");
	conf_free(c);
	c = load_good(conf_dir_path("p1"), "s1", "n1"); // an absolute path
	assert_string_equal(c->turn.first.users[0].password, "Kestrel7Quartz");
	conf_free(c);
	assert_int_equal(setenv(CREDENTIALS, "", 1), 0);
	c = load_good("p1", "s1", "n1");
	assert_string_equal(c->turn.first.users[0].password, "Kestrel7Quartz");
	conf_free(c);
	unsetenv(CREDENTIALS);
}

static void names_are_relative_to_the_included_file(void **state)
{
	struct conf *c;

	conf_dir_put("d/a.yaml", "auth: {users: [{name: olga, password-file: p1}]}\n");
	conf_dir_put("d/p1", "Kestrel-of-d");
	c = load_good("p1", "s1", "n1}\ninclude: d\nlimits: {per-user: 3");
	assert_string_equal(c->turn.first.users[0].password, "Kestrel7Quartz");
	assert_string_equal(c->turn.first.users[1].password, "Kestrel-of-d");
	conf_free(c);
	conf_dir_remove("d/p1");
	assert_null(load("p1", "s1", "n1}\ninclude: d\nlimits: {per-user: 3"));
	assert_non_null(strstr(lines, "d/a.yaml:1:44: auth.users[1].password-file: the file"));
}

static void doubtful_files_and_secrets_are_warnings(void **state)
{
	struct conf_report r = {.say = hear};
	struct conf *c;

	conf_dir_write("bad", 0644, "Kestrel8QuartzJuniper", 21);
	conf_dir_put("short", "change me");
	c = load_good("bad", "bad, short", "short");
	conf_warnings(c, &r);
	assert_non_null(strstr(lines,
		"main.yaml:6:39: auth.users[0].password-file: everyone on this host can read"));
	assert_non_null(
		strstr(lines, "main.yaml:8:18: auth.secret-files[0]: everyone on this host"));
	assert_non_null(strstr(lines,
		"main.yaml:8:23: auth.secret-files[1]: is the published secret of "
		"the examples: write your own (openssl rand -hex 24)"));
	assert_non_null(strstr(lines,
		"main.yaml:9:24: auth.nonce.secret-file: is the published secret "
		"of the examples: write your own (openssl rand -hex 24)"));
	conf_free(c);
}

// Without a secret in it, the file itself may be readable by everybody.
static void a_file_without_secrets_may_be_open(void **state)
{
	struct conf_report r = {.say = hear};
	struct conf *c;

	for (unsigned int has_secret = 0; has_secret < 2; has_secret++) {
		conf_free(load_good("p1", "s1", "n1"));
		if (has_secret == 0)
			memcpy(strstr(text, "  secrets: "), "# secrets: ", 11);
		conf_dir_write("main.yaml", 0644, text, strlen(text));
		lines[0] = '\0';
		c = conf_load_and_report(conf_dir_path("main.yaml"), &r, &hash);
		assert_non_null(c);
		conf_warnings(c, &r);
		assert_int_equal(strstr(lines, "auth: everyone on this host") != NULL, has_secret);
		conf_free(c);
	}
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
	assert_true(c->hot && c->secret && c->before == NULL && c->after == NULL);
}

static void changed_contents_are_a_change(void **state)
{
	struct conf *before = load_good("p1", "s1", "n1"), *after;
	struct told t = {0};

	conf_dir_put("p1", "Kestrel7Quarts\n");
	after = load_good("p1", "s1", "n1");
	assert_int_equal(conf_changes(before, after, keep, &t), 1);
	assert_string_equal(t.key, "auth.users[ivan].password-file");
	conf_free(after);
	conf_dir_put("p1", "Kestrel7Quartz"); // unchanged without its line feed
	conf_dir_put("s1", "Kestrel0QuartzJuniper");
	after = load_good("p1", "s1", "n1");
	assert_int_equal(conf_changes(before, after, keep, &t), 1);
	assert_string_equal(t.key, "auth.secret-files");
	conf_free(after);
	conf_dir_put("s1", "Kestrel8QuartzJuniper");
	after = load_good("./p1", "s1", "n1"); // another name
	assert_int_equal(conf_changes(before, after, keep, &t), 0);
	conf_free(before);
	conf_free(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_of_files_become_secrets),
		cmocka_unit_test(one_line_feed_at_the_end_is_removed),
		cmocka_unit_test(lengths_of_files_are_limited),
		cmocka_unit_test(only_regular_files_are_accepted),
		cmocka_unit_test(missing_files_of_other_keys_are_refused),
		cmocka_unit_test(both_kinds_at_once_are_refused),
		cmocka_unit_test(a_relative_name_is_a_credential_where_there_are_any),
		cmocka_unit_test(names_are_relative_to_the_included_file),
		cmocka_unit_test(doubtful_files_and_secrets_are_warnings),
		cmocka_unit_test(a_file_without_secrets_may_be_open),
		cmocka_unit_test(changed_contents_are_a_change),
	};

	return cmocka_run_group_tests(tests, make, conf_dir_close);
}
