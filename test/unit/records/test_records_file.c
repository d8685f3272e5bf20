// SPDX-License-Identifier: BSD-3-Clause
// The file of records when another program has written to it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shortened),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
