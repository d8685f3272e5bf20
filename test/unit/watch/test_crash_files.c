// SPDX-License-Identifier: BSD-3-Clause
// The files of crash reports: one is kept open, reports in it are kept, the oldest is removed, and
// only reports can be read.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_watch.h"
#include "crash/crash_files.h"
#include "test.h"

static char directory[] = "/tmp/slipring-crash-XXXXXX";
static struct crash_files files;
static char error[256];

static int make(void **state)
{
	memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
	return mkdtemp(directory) != NULL ? 0 : -1;
}

static int clear(void **state)
{
	char command[64];

	crash_files_close(&files);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command);
}

static int start(const char *prefix, uint32_t keep)
{
	const struct conf_crash c = {.directory = directory, .keep = keep};

	return crash_files_open(&files, &c, prefix, error, sizeof(error));
}

// A run that crashes in a given second, and leaves a text.
static void crash_at(time_t second, const char *text)
{
	const struct timespec times[2] = {{.tv_sec = second}, {.tv_sec = second}};

	assert_int_equal(start("slipring", 3), 0);
	assert_int_equal(write(files.fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(futimens(files.fd, times), 0);
	close(files.fd); // the process has died
}

static void test_nothing_happens(void **state)
{
	struct crash_file rows[4];

	assert_int_equal(start("slipring", 3), 0);
	assert_true(files.fd >= 0);
	assert_string_equal(files.newest, "");
	assert_int_equal(crash_files_list(&files, rows, 4), 0);
	assert_int_equal(access(files.waiting, F_OK), 0);
	crash_files_close(&files);
	assert_int_equal(access(files.waiting, F_OK), -1);
}

static void test_kept(void **state)
{
	struct crash_file rows[8];
	char text[64];
	struct stat st;

	crash_at(1763920000, "first");
	crash_at(1763923456, "second, longer");
	assert_int_equal(start("slipring", 3), 0);
	assert_string_equal(files.newest, "crash-slipring-20251123T184416Z.txt");
	assert_int_equal(fstat(files.fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(crash_files_list(&files, rows, 8), 2);
	assert_string_equal(rows[0].name, files.newest);
	assert_int_equal(rows[0].bytes, strlen("second, longer"));
	assert_int_equal(rows[0].at_s, 1763923456);
	assert_int_equal(crash_files_read(&files, rows[1].name, text, sizeof(text)), 5);
	assert_string_equal(text, "first");
	assert_int_equal(crash_files_read(&files, rows[0].name, text, 7), 6); // truncated
	assert_string_equal(text, "second");
}

static void test_oldest_goes(void **state)
{
	struct crash_file rows[8];

	for (unsigned int i = 0; i < 6; i++)
		crash_at(1763920000 + (time_t)i * 60, "x");
	assert_int_equal(start("slipring", 3), 0);
	assert_int_equal(crash_files_list(&files, rows, 8), 3);
	assert_int_equal(files.kept, 3);
	assert_int_equal(rows[0].at_s, 1763920000 + 5 * 60);
	assert_int_equal(rows[2].at_s, 1763920000 + 3 * 60);
}

// Two crashes within a second, as when each start crashes at once.
static void test_same_second(void **state)
{
	struct crash_file rows[8];

	for (unsigned int i = 0; i < 3; i++)
		crash_at(1763920000, "x");
	assert_int_equal(start("slipring", 9), 0);
	assert_int_equal(crash_files_list(&files, rows, 8), 3);
}

static void test_others_prefix(void **state)
{
	struct crash_file rows[8];

	crash_at(1763920000, "x");
	assert_int_equal(start("slip", 3), 0);
	assert_int_equal(crash_files_list(&files, rows, 8), 0);
	crash_files_close(&files);
	assert_int_equal(start("slipring", 3), 0);
	assert_int_equal(crash_files_list(&files, rows, 8), 1);
}

// Users of the control socket can read reports, and no other files of the process.
static void test_names(void **state)
{
	static const char *const bad[] = {"", "..", "../../../etc/passwd", "/etc/passwd",
		"crash-slipring-.txt", "crash-slipring-/../../x.txt", "crash-slipring.waiting",
		"crash-slipring-20251123T184416Z.txt/..", "crash-slipring-%x.txt"};
	char text[64], path[128];

	assert_int_equal(start("slipring", 3), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(crash_files_read(&files, bad[i], text, sizeof(text)) < 0);
	snprintf(path, sizeof(path), "%s/crash-slipring-1.txt", directory);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(
		crash_files_read(&files, "crash-slipring-1.txt", text, sizeof(text)), -ELOOP);
}

static void test_no_directory(void **state)
{
	struct conf_crash c = {.directory = (char[]){"/nonexistent/crashes"}, .keep = 1};
	struct crash_file rows[1];

	assert_int_equal(crash_files_open(&files, &c, "slipring", error, sizeof(error)), -1);
	assert_non_null(strstr(error, "/nonexistent/crashes/crash-slipring.waiting: No such file"));
	c.directory = (char[]){""};
	assert_int_equal(crash_files_open(&files, &c, "slipring", error, sizeof(error)), 0);
	assert_int_equal(files.fd, -1);
	assert_int_equal(crash_files_list(&files, rows, 1), 0);
	assert_int_equal(
		crash_files_read(&files, "crash-slipring-1.txt", error, sizeof(error)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_happens, make, clear),
		cmocka_unit_test_setup_teardown(test_kept, make, clear),
		cmocka_unit_test_setup_teardown(test_oldest_goes, make, clear),
		cmocka_unit_test_setup_teardown(test_same_second, make, clear),
		cmocka_unit_test_setup_teardown(test_others_prefix, make, clear),
		cmocka_unit_test_setup_teardown(test_names, make, clear),
		cmocka_unit_test_setup_teardown(test_no_directory, make, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
