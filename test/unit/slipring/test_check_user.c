// SPDX-License-Identifier: BSD-3-Clause
// Files that the server may still read as another user: one child process checks all of them,
// however many there are.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_user.h"
#include "conf.h"
#include "test.h"

#define FILES 500

static unsigned int forks;
static bool fork_fails;

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
	forks++;
	return fork_fails ? -1 : __real_fork();
}

static char dir[] = "/tmp/check-user-XXXXXX", path[2][64];
static char *files[FILES];

static int setup(void **state)
{
	const char *name[2] = {"open", "closed"};

	if (mkdtemp(dir) == NULL || chmod(dir, 0755) != 0)
		return -1;
	for (unsigned int i = 0; i < 2; i++) {
		int fd;

		snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name[i]);
		fd = open(path[i], O_WRONLY | O_CREAT, 0600);
		if (fd < 0 || fchmod(fd, i == 0 ? 0644 : 0600) != 0)
			return -1;
		close(fd);
	}
	for (unsigned int i = 0; i < FILES; i++)
		files[i] = path[i % 2];
	forks = 0;
	fork_fails = false;
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		unlink(path[i]);
	rmdir(dir);
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	return 0;
}

static unsigned int told;

static void hear(void *ctx, enum conf_weight weight, const char *line)
{
	assert_int_equal(weight, CONF_WARNING);
	assert_non_null(strstr(line, "user nobody cannot read "));
	assert_non_null(strstr(line, "/closed"));
	told++;
}

static void ask(void)
{
	struct conf c = {.path = path[0],
		.process.user = (char *)"nobody",
		.crash.directory = (char *)"",
		.secret_files = files,
		.nb_secret_files = FILES};
	struct conf_report r = {.say = hear};

	told = 0;
	check_user(&c, &r);
}

static void one_process_answers_for_all_files(void **state)
{
	if (geteuid() != 0)
		skip();
	ask();
	assert_int_equal(told, FILES / 2);
	assert_int_equal(forks, 1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // and it has been reaped
}

static void nothing_is_said_without_a_process(void **state)
{
	if (geteuid() != 0)
		skip();
	fork_fails = true;
	ask();
	assert_int_equal(told, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_process_answers_for_all_files),
		T(nothing_is_said_without_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
