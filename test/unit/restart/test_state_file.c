// SPDX-License-Identifier: BSD-3-Clause
// The file of the state area: creation, adoption and refusal, even if another user has put
// something there.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state/state_deaths.h"
#include "state/state_file.h"
#include "test.h"

#define SIZE 100000
#define NOBODY 65534
#define SECRET 0xa5

static char dir[64], file[96], error[320];

static int begin(void **state)
{
	snprintf(dir, sizeof(dir), "/dev/shm/state.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/area", dir);
	error[0] = '\0';
	return 0;
}

static int end(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static const char *beside(const char *suffix)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s%s", file, suffix);
	return path;
}

static bool is_there(const char *suffix)
{
	struct stat st;

	return lstat(beside(suffix), &st) == 0;
}

static void open_file(struct state_file *f)
{
	if (state_file_open(f, file, error, sizeof(error)) != 0)
		fail_msg("%s", error);
}

static void make(struct state_file *f, size_t size)
{
	if (state_file_make(f, size, error, sizeof(error)) < 0)
		fail_msg("%s", error);
}

// A process that fills a file with a byte, and dies before or after it has settled the file.
static void process(uint8_t byte, bool settles)
{
	struct state_file f;

	open_file(&f);
	make(&f, SIZE);
	for (size_t i = 0; i < f.fresh.size; i++)
		assert_int_equal(((const uint8_t *)f.fresh.mem)[i], 0);
	memset(f.fresh.mem, byte, f.fresh.size);
	if (settles && state_file_settle(&f, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	// done by the kernel when a process dies
	close(f.lock);
	f.lock = -1;
}

static void assert_found(uint8_t byte)
{
	struct state_file f;

	open_file(&f);
	assert_int_equal(state_file_map(&f, error, sizeof(error)), 0);
	assert_int_equal(f.old.size, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		assert_int_equal(((const uint8_t *)f.old.mem)[i], byte);
	state_file_close(&f, false);
}

static void the_next_process_finds_it(void **state)
{
	struct state_file f;
	struct stat st;

	open_file(&f);
	assert_int_equal(state_file_map(&f, error, sizeof(error)), -ENOENT);
	state_file_close(&f, false);
	process(1, true);
	assert_found(1);
	assert_false(is_there(".new"));
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	process(2, true);
	assert_found(2);
}

static void death_at_the_start_leaves_the_old_one(void **state)
{
	process(1, true);
	process(2, false);
	assert_true(is_there(".new"));
	assert_found(1);
	process(3, true);
	assert_found(3);
	assert_false(is_there(".new"));
}

static void an_end_removes_its_file(void **state)
{
	struct state_file f;

	process(1, true);
	open_file(&f);
	make(&f, SIZE);
	state_file_close(&f, true); // not adopted: it was never settled
	assert_false(is_there(".new"));
	assert_found(1);
	open_file(&f);
	make(&f, SIZE);
	assert_int_equal(state_file_settle(&f, error, sizeof(error)), 0);
	state_file_close(&f, true);
	assert_false(is_there(""));
}

// For a process that has changed its user in the meantime.
static void files_that_cannot_be_removed_are_emptied(void **state)
{
	struct state_file f;
	unsigned int secrets = 0;
	pid_t child;
	int status, byte;
	FILE *in;

	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		open_file(&f);
		make(&f, SIZE);
		memset(f.fresh.mem, SECRET, f.fresh.size);
		if (state_file_settle(&f, error, sizeof(error)) != 0 || seteuid(NOBODY) != 0)
			_exit(1);
		state_file_close(&f, true);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(is_there(""));
	in = fopen(file, "r");
	assert_non_null(in);
	while ((byte = fgetc(in)) != EOF)
		secrets += byte == SECRET;
	fclose(in);
	assert_int_equal(secrets, 0);
	open_file(&f);
	assert_int_equal(state_file_map(&f, error, sizeof(error)), -ENOENT);
	state_file_close(&f, false);
	process(2, true);
	assert_found(2);
}

// --- refusals ------------------------------------------------------------------------------------

static void assert_refused(const char *reason)
{
	struct state_file f;

	open_file(&f);
	assert_int_equal(state_file_map(&f, error, sizeof(error)), -1);
	assert_null(f.old.mem);
	assert_non_null(strstr(error, reason));
	assert_int_equal(state_file_aside(&f, "refused"), 0);
	assert_true(is_there(".refused"));
	assert_int_equal(state_file_map(&f, error, sizeof(error)), -ENOENT);
	state_file_close(&f, false);
	assert_int_equal(remove(beside(".refused")), 0);
}

static void put(mode_t mode, const char *text)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_EXCL, mode);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void foreign_files_are_refused(void **state)
{
	char second_link[128];

	put(0640, "x");
	assert_refused("others may open it");
	put(0602, "x");
	assert_refused("others may open it");
	put(0600, "");
	assert_refused("it is empty");
	assert_int_equal(symlink("/etc/passwd", file), 0);
	assert_refused("symbolic link");
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_refused("no regular file");
	assert_int_equal(mkdir(file, 0700), 0);
	assert_refused("no regular file");
	put(0600, "x");
	snprintf(second_link, sizeof(second_link), "%s", beside(".other"));
	assert_int_equal(link(file, second_link), 0);
	assert_refused("another name");
	if (geteuid() != 0)
		return;
	put(0600, "x");
	assert_int_equal(chown(file, 12345, 12345), 0);
	assert_refused("another user");
}

static void assert_no_place(const char *path, const char *reason)
{
	struct state_file f;

	assert_int_equal(state_file_look(&f, path, error, sizeof(error)), -1);
	if (strstr(error, reason) == NULL)
		fail_msg("%s: %s", path, error);
	assert_int_equal(state_file_open(&f, path, error, sizeof(error)), -1);
	assert_non_null(strstr(error, reason));
	state_file_close(&f, true);
}

static void assert_place(void)
{
	struct state_file f;

	assert_int_equal(state_file_look(&f, file, error, sizeof(error)), 0);
	close(f.dir);
}

static void unusable_places_are_refused(void **state)
{
	char path[400];

	assert_place();
	assert_no_place("/proc/self/area", "no file system in memory");
	snprintf(path, sizeof(path), "%s/missing/area", dir);
	assert_no_place(path, "make the directory first");
	snprintf(path, sizeof(path), "%s/%0300d", dir, 0);
	assert_no_place(path, "too long");
	assert_int_equal(chmod(dir, 0770), 0);
	assert_no_place(file, "others may write");
	assert_int_equal(chmod(dir, 0707), 0);
	assert_no_place(file, "others may write");
	assert_int_equal(chmod(dir, 0755), 0);
	assert_place();
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(dir, 12345, 12345), 0);
	assert_no_place(file, "belongs to uid 12345");
}

static void memory_that_is_not_there_is_told(void **state)
{
	struct state_file f;

	open_file(&f);
	assert_int_equal(state_file_make(&f, (size_t)1 << 45, error, sizeof(error)), -ENOSPC);
	assert_non_null(strstr(error, "cannot be allocated"));
	assert_false(is_there(".new"));
	state_file_close(&f, false);
}

// --- deaths in a row -----------------------------------------------------------------------------

static void deaths_are_counted_from_process_to_process(void **state)
{
	struct state_file f;
	struct stat st;

	for (uint32_t i = 0; i < 300; i++) {
		open_file(&f);
		assert_int_equal(state_deaths(&f), i < 255 ? i : 255);
		state_deaths_set(&f, state_deaths(&f) + 1);
		state_file_close(&f, false);
	}
	assert_int_equal(stat(beside(".lock"), &st), 0);
	assert_int_equal(st.st_blocks, 0); // it takes no memory
	open_file(&f);
	state_deaths_set(&f, 0);
	assert_int_equal(state_deaths(&f), 0);
	state_file_close(&f, true);
}

// --- two processes -------------------------------------------------------------------------------

static void two_processes_never_share_it(void **state)
{
	struct state_file f;
	char wanted[32], byte;
	int go[2];
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		close(go[0]);
		_exit(state_file_open(&f, file, error, sizeof(error)) == 0 &&
					write(go[1], "x", 1) == 1 && pause() == 0
				? 0
				: 1);
	}
	assert_int_equal(read(go[0], &byte, 1), 1);
	assert_int_equal(state_file_open(&f, file, error, sizeof(error)), -1);
	snprintf(wanted, sizeof(wanted), "in use by pid %d", (int)pid);
	assert_non_null(strstr(error, wanted));
	state_file_close(&f, true);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	open_file(&f);
	state_file_close(&f, false);
	close(go[0]);
	close(go[1]);
}

// It contains keys: not in a core dump (dd), not in a child (dc), not in swap (lo).
static void it_stays_where_it_is(void **state)
{
	char line[512], range[40];
	struct state_file f;
	bool found = false, in = false;
	FILE *maps;
	int rc;

	open_file(&f);
	rc = state_file_make(&f, SIZE, error, sizeof(error));
	assert_true(rc >= 0);
	snprintf(range, sizeof(range), "%lx-", (unsigned long)(uintptr_t)f.fresh.mem);
	maps = fopen("/proc/self/smaps", "r");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL) {
		in = in || strncmp(line, range, strlen(range)) == 0;
		if (!in || strncmp(line, "VmFlags:", 8) != 0)
			continue;
		assert_non_null(strstr(line, " dd"));
		assert_non_null(strstr(line, " dc"));
#ifndef __SANITIZE_ADDRESS__ // where mlock has no effect
		assert_true((strstr(line, " lo") != NULL) == (rc == 0));
#endif
		found = true;
		break;
	}
	fclose(maps);
	assert_true(found);
	state_file_close(&f, false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(the_next_process_finds_it),
		TEST(death_at_the_start_leaves_the_old_one),
		TEST(an_end_removes_its_file),
		TEST(files_that_cannot_be_removed_are_emptied),
		TEST(foreign_files_are_refused),
		TEST(unusable_places_are_refused),
		TEST(memory_that_is_not_there_is_told),
		TEST(deaths_are_counted_from_process_to_process),
		TEST(two_processes_never_share_it),
		TEST(it_stays_where_it_is),
	};

	return cmocka_run_group_tests_name("state_file", tests, NULL, NULL);
}
