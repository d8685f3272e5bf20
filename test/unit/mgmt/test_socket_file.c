// SPDX-License-Identifier: BSD-3-Clause
// The control socket as a file: its mode, the file of a dead process and of a live one, and foreign
// files.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conf.h"
#include "socket/socket_file.h"
#include "test.h"

static char folder[] = "/tmp/control-XXXXXX", path[64], lock[80], error[256];
static struct conf conf;

static int setup(void **state)
{
	memcpy(folder, "/tmp/control-XXXXXX", sizeof(folder));
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/control.sock", folder);
	conf = (struct conf){.control = {.socket = path}};
	error[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	return rmdir(folder);
}

static void only_its_owner_may_open_it(void **state)
{
	struct socket_file p;
	struct stat st;

	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);
	socket_file_close(&p);
	assert_int_equal(access(path, F_OK), -1);
}

static void its_group_may_when_there_is_one(void **state)
{
	struct socket_file p;
	struct stat st;

	if (geteuid() != 0)
		skip();
	conf.control.group = (char *)(uintptr_t) "daemon";
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(st.st_gid, 1); // Debian's
	socket_file_close(&p);
	conf.control.group = (char *)(uintptr_t) "no-such-group";
	assert_true(socket_file_open(&p, &conf, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "control.group"));
	assert_int_equal(access(path, F_OK), -1);
}

static void readers_may_as_well(void **state)
{
	struct socket_file p;
	struct stat st;

	if (geteuid() != 0)
		skip();
	conf.control.readers = (char *)(uintptr_t) "daemon";
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(st.st_gid, 1); // Debian's
	assert_int_equal(p.roles.readers, 1);
	assert_int_equal(p.roles.operators, ROLES_NO_GROUP);
	socket_file_close(&p);
	// a file has one group: all may connect, and roles.c decides
	conf.control.group = (char *)(uintptr_t) "adm";
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	assert_int_equal(p.roles.readers, 1);
	assert_int_equal(p.roles.operators, 4);
	socket_file_close(&p);
	conf.control.readers = (char *)(uintptr_t) "64999"; // without a name
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(p.roles.readers, 64999);
	socket_file_close(&p);
	conf.control.readers = (char *)(uintptr_t) "no-such-group";
	assert_true(socket_file_open(&p, &conf, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "control.readers: there is no group no-such-group"));
	assert_int_equal(access(path, F_OK), -1);
}

// The members of process.user, which the process has not adopted yet, can use it afterwards.
static void the_socket_belongs_to_the_later_user(void **state)
{
	struct socket_file p;
	struct stat st;

	if (geteuid() != 0)
		skip();
	conf.process.user = (char *)(uintptr_t) "daemon";
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 1); // Debian's
	assert_int_equal(st.st_mode & 07777, 0600);
	socket_file_close(&p);
	conf.control.group = (char *)(uintptr_t) "adm";
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 1);
	assert_int_equal(st.st_gid, 4);
	assert_int_equal(st.st_mode & 07777, 0660);
	socket_file_close(&p);
	conf.process.user = (char *)(uintptr_t) "no-such-user";
	assert_true(socket_file_open(&p, &conf, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "process.user: there is no user no-such-user"));
	assert_int_equal(access(path, F_OK), -1);
}

// A user who may read the folder can lock it. This does not block a start.
static void a_lock_on_the_folder_holds_nobody_up(void **state)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY);
	struct socket_file p;
	struct stat st;

	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	assert_int_equal(stat(lock, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	socket_file_close(&p);
	close(fd);
}

// A start does not wait forever for another one that is stopped in the middle.
static void a_lock_that_stays_is_an_error(void **state)
{
	struct socket_file p;
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_RDWR | O_CREAT, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_true(socket_file_open(&p, &conf, error, sizeof(error)) < 0);
	assert_int_not_equal(error[0], '\0');
	close(fd);
}

static void a_dead_process_is_replaced_and_a_live_one_is_not(void **state)
{
	struct socket_file live, late;
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memcpy(a.sun_path, path, sizeof(path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	close(fd); // and the file is kept
	assert_int_equal(socket_file_open(&live, &conf, error, sizeof(error)), 0);
	assert_true(socket_file_open(&late, &conf, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "another process"));
	assert_int_equal(access(path, F_OK), 0);
	socket_file_close(&live);
}

static void a_file_that_is_no_socket_stays(void **state)
{
	struct socket_file p;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fclose(file);
	assert_true(socket_file_open(&p, &conf, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "not a socket"));
	assert_int_equal(access(path, F_OK), 0);
}

// A process that has taken the path since keeps it.
static void a_replaced_file_stays(void **state)
{
	struct socket_file p;
	FILE *file;

	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 0);
	assert_int_equal(unlink(path), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	socket_file_close(&p);
	assert_int_equal(access(path, F_OK), 0);
}

static void no_socket_and_a_missing_folder(void **state)
{
	struct socket_file p;

	conf.control.socket = (char *)(uintptr_t) "";
	assert_int_equal(socket_file_open(&p, &conf, error, sizeof(error)), 1);
	conf.control.socket = (char *)(uintptr_t) "/tmp/no/such/folder/control.sock";
	assert_true(socket_file_open(&p, &conf, error, sizeof(error)) < 0);
	assert_non_null(strstr(error, "RuntimeDirectory"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(only_its_owner_may_open_it),
		T(its_group_may_when_there_is_one),
		T(readers_may_as_well),
		T(the_socket_belongs_to_the_later_user),
		T(a_lock_on_the_folder_holds_nobody_up),
		T(a_lock_that_stays_is_an_error),
		T(a_dead_process_is_replaced_and_a_live_one_is_not),
		T(a_file_that_is_no_socket_stays),
		T(a_replaced_file_stays),
		T(no_socket_and_a_missing_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
