// SPDX-License-Identifier: BSD-3-Clause
// The file of records when another program has written to it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "records/records_file.h"
#include "test.h"

static char dir[] = "/tmp/records.XXXXXX";
static char file[64];

static int begin(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/records.json", dir);
	return 0;
}

static int end(void **state)
{
	unlink(file);
	return rmdir(dir);
}

// A full disk takes half of a write.
static ssize_t write_half(int fd, const void *data, size_t len)
{
	static bool half;

	half = !half;
	if (half)
		return write(fd, data, len / 2);
	errno = ENOSPC;
	return -1;
}

// logrotate with copytruncate: the file's current length counts, so it is not rotated too early,
// and a line that had no room as a whole leaves no hole.
static void test_shortened(void **state)
{
	static struct records_file f;
	const char line[] = "{\"event\": \"made\"}\n";
	char error[256], old[80];
	struct stat st;

	f = (struct records_file){.path = file, .rotate = 3 * (sizeof(line) - 1), .keep = 3};
	snprintf(old, sizeof(old), "%s.1", file);
	assert_int_equal(records_file_open(&f, error, sizeof(error)), 0);
	for (unsigned int i = 0; i < 3; i++)
		records_file_put(&f, line, sizeof(line) - 1);
	records_file_flush(&f);
	assert_int_equal(truncate(file, 0), 0);
	records_file_put(&f, line, sizeof(line) - 1);
	records_file_flush(&f);
	assert_int_not_equal(access(old, F_OK), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, sizeof(line) - 1);
	assert_int_equal(truncate(file, 0), 0);
	f.write = write_half;
	records_file_put(&f, line, sizeof(line) - 1);
	records_file_flush(&f);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(f.fd);
}

static uint64_t ages_s[3]; // by the number of the file; 0 = unknown

static uint64_t born_then(const char *path)
{
	const uint64_t age_s = ages_s[path[strlen(file)] == '.' ? path[strlen(file) + 1] - '0' : 0];

	return age_s > 0 ? (uint64_t)time(NULL) - age_s : 0;
}

static void make(unsigned int number)
{
	char path[80];
	FILE *out;

	snprintf(path, sizeof(path), number > 0 ? "%s.%u" : "%s", file, number);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fputs("{}\n", out) > 0 && fclose(out) == 0, 1);
}

static bool there(unsigned int number)
{
	char path[80];

	snprintf(path, sizeof(path), number > 0 ? "%s.%u" : "%s", file, number);
	return access(path, F_OK) == 0;
}

// No record becomes older than the limit, and the files together reach it: with two rotated files
// each has a third of the time.
static void test_old(void **state)
{
	static struct records_file f;
	char error[256];

	f = (struct records_file){.path = file, .keep = 2, .max_age_s = 3000, .born = born_then};
	for (unsigned int i = 0; i <= 2; i++)
		make(i);
	assert_int_equal(records_file_open(&f, error, sizeof(error)), 0);
	ages_s[0] = 900;
	ages_s[1] = 1900;
	ages_s[2] = 2900;
	records_file_tick(&f, 5000);
	assert_true(there(1) && there(2));
	assert_true(f.size > 0); // not rotated yet
	ages_s[2] = 3100;
	records_file_tick(&f, 10000);
	assert_true(there(1) && !there(2));
	ages_s[0] = 1100;
	records_file_tick(&f, 15000);
	assert_int_equal(f.size, 0); // rotated
	assert_true(there(0) && there(1) && !there(2)); // the second of them was too old
	memset(ages_s, 0, sizeof(ages_s));
	make(2);
	records_file_tick(&f, 20000); // a file system that does not tell
	assert_true(there(1) && there(2));
	f.max_age_s = 0; // never
	ages_s[1] = ages_s[2] = 1000000;
	records_file_tick(&f, 25000);
	assert_true(there(1) && there(2));
	records_file_close(&f);
	for (unsigned int i = 1; i <= 2; i++) {
		snprintf(error, sizeof(error), "%s.%u", file, i);
		assert_int_equal(unlink(error), 0);
	}
}

// The time comes from the file system.
static void test_born(void **state)
{
	static struct records_file f;
	const uint64_t now_s = (uint64_t)time(NULL);
	uint64_t born;
	char error[256];

	f = (struct records_file){.path = file, .keep = 2};
	assert_int_equal(records_file_open(&f, error, sizeof(error)), 0);
	born = f.born(file);
	if (born != 0)
		assert_in_range(born, now_s - 3600, now_s + 10);
	assert_int_equal(f.born("/nowhere/records.json"), 0);
	records_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shortened),
		cmocka_unit_test(test_old),
		cmocka_unit_test(test_born),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
