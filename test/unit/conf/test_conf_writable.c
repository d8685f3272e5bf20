// SPDX-License-Identifier: BSD-3-Clause
// Configuration files that other users may write, or may replace.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "conf_dir.h"
#include "test.h"

#define OTHERS 65534 // a group of other users

static char lines[8192];

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	const size_t used = strlen(lines);

	assert_int_equal(weight, CONF_WARNING);
	if (strstr(line, "may write") != NULL)
		snprintf(lines + used, sizeof(lines) - used, "%s\n", line);
}

// The warning about the file at path, relative to the directory.
static const char *warned_of(const char *path)
{
	struct conf_report r = {.say = hear};
	char error[CONF_ERROR_LEN];
	struct conf *c = conf_load(conf_dir_path(path), error);

	if (c == NULL)
		fail_msg("%s", error);
	lines[0] = '\0';
	conf_warnings(c, &r);
	conf_free(c);
	return lines;
}

static const char *warned(void)
{
	return warned_of("box/main.yaml");
}

// Asserts one warning: others may write `entry` of the directory and so change `file`.
static void assert_told(const char *got, const char *entry, const char *file)
{
	char want[1024], path[512];

	snprintf(path, sizeof(path), "%s", conf_dir_path(entry));
	snprintf(want, sizeof(want), "other users may write %s, and so change %s: chmod go-w\n",
		path, conf_dir_path(file));
	if (strstr(got, want) == NULL || strchr(got, '\n')[1] != '\0')
		fail_msg("wanted: %s   got: %s", want, got);
}

static void mode(const char *name, mode_t bits)
{
	assert_int_equal(chmod(conf_dir_path(name), bits), 0);
}

static int setup(void **state)
{
	if (conf_dir_open(state) != 0)
		return -1;
	conf_dir_put("box/main.yaml",
		"ports: [{name: wan, device: net_a, addresses: [198.51.100.1/24], gateway: "
		"[198.51.100.254]}]\n"
		"listeners: [{address: 198.51.100.1}]\n"
		"relay: {addresses: [198.51.100.1]}\n"
		"include: users\n"
		"auth: {realm: turn.test, secret-files: [secret]}\n");
	conf_dir_put("box/secret", "Walnut3Cobalt0001");
	conf_dir_put("box/users/a.yaml", "auth: {users: [{name: ivan, password: Kestrel5}]}\n");
	return 0;
}

static void each_file_and_directory_is_looked_at(void **state)
{
	static const struct {
		const char *entry, *file;
		mode_t usual;
	} t[] = {
		{"box/main.yaml", "box/main.yaml", 0600},
		{"box", "box/main.yaml", 0700},
		{"box/users/a.yaml", "box/users/a.yaml", 0600},
		{"box/users", "box/users/a.yaml", 0700},
		{"box/secret", "box/secret", 0600},
	};

	assert_string_equal(warned(), "");
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		mode(t[i].entry, t[i].usual | 0002);
		assert_told(warned(), t[i].entry, t[i].file);
		if (getegid() == 0 && chown(conf_dir_path(t[i].entry), -1, OTHERS) != 0)
			fail();
		mode(t[i].entry, t[i].usual | 0020);
		assert_told(warned(), t[i].entry, t[i].file);
		mode(t[i].entry, t[i].usual | 0055);
		assert_string_equal(warned(), "");
		mode(t[i].entry, t[i].usual);
	}
}

// Root's group counts as root.
static void group_root_is_trusted(void **state)
{
	if (getegid() != 0)
		skip();
	mode("box/main.yaml", 0660);
	assert_string_equal(warned(), "");
}

// In a sticky directory such as /tmp, users cannot change files of others. But everybody can add
// files.
static void a_sticky_directory_is_as_good_as_its_files(void **state)
{
	mode("box", 01777);
	assert_string_equal(warned(), "");
	mode("box/users", 01777);
	assert_told(warned(), "box/users", "box/users");
	if (getegid() != 0)
		return;
	mode("box/users", 0700);
	assert_int_equal(chown(conf_dir_path("box/main.yaml"), OTHERS, -1), 0);
	assert_told(warned(), "box", "box/main.yaml");
}

static void an_empty_directory_counts(void **state)
{
	conf_dir_remove("box/users/a.yaml");
	mode("box/users", 0777);
	assert_told(warned(), "box/users", "box/users");
}

// The directories of a link, and those of its target.
static void both_ends_of_a_link_count(void **state)
{
	char link_path[512];

	conf_dir_write("etc/nothing", 0600, "", 0);
	snprintf(link_path, sizeof(link_path), "%s", conf_dir_path("etc/main.yaml"));
	assert_int_equal(symlink("../box/main.yaml", link_path), 0);
	conf_dir_put("etc/secret", "Walnut3Cobalt0001");
	conf_dir_put("etc/users/a.yaml", "auth: {users: [{name: ivan, password: Kestrel5}]}\n");
	assert_string_equal(warned_of("etc/main.yaml"), "");
	mode("box", 0777);
	assert_told(warned_of("etc/main.yaml"), "box", "etc/main.yaml");
	mode("box", 0700);
	mode("etc", 0777);
	assert_told(warned_of("etc/main.yaml"), "etc", "etc/main.yaml");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, conf_dir_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_file_and_directory_is_looked_at),
		T(group_root_is_trusted),
		T(a_sticky_directory_is_as_good_as_its_files),
		T(an_empty_directory_counts),
		T(both_ends_of_a_link_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
