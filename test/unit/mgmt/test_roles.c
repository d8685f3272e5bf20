// SPDX-License-Identifier: BSD-3-Clause
// The roles of the control socket's clients: by user, by main and by supplementary group, as the
// kernel tells them.
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "socket/roles.h"
#include "test.h"

#define OWNER 990
#define OPERATORS 40001
#define READERS 40002
#define MANY 300 // groups of a process, more than any small buffer holds

static const struct roles both = {OPERATORS, READERS}, none = {ROLES_NO_GROUP, ROLES_NO_GROUP};

static enum role judge(const struct roles *r, uid_t uid, gid_t gid, gid_t group)
{
	const gid_t groups[] = {7, group};
	const struct roles_peer p = {.uid = uid, .gid = gid, .groups = groups, .nb_groups = 2};

	return roles_judge(r, &p, OWNER);
}

static void root_and_the_own_user_own_the_server(void **state)
{
	assert_int_equal(judge(&none, 0, 0, 8), ROLE_OWNER);
	assert_int_equal(judge(&none, OWNER, 9, 8), ROLE_OWNER);
	assert_int_equal(judge(&both, OWNER, READERS, READERS), ROLE_OWNER);
	assert_int_equal(judge(&none, 1005, 9, 8), ROLE_NONE);
	assert_int_equal(judge(&both, 1005, 9, 8), ROLE_NONE);
}

static void groups_decide_for_others(void **state)
{
	assert_int_equal(judge(&both, 1005, OPERATORS, 8), ROLE_OPERATOR);
	assert_int_equal(judge(&both, 1005, 9, OPERATORS), ROLE_OPERATOR);
	assert_int_equal(judge(&both, 1005, READERS, 8), ROLE_READER);
	assert_int_equal(judge(&both, 1005, 9, READERS), ROLE_READER);
	assert_int_equal(judge(&both, 1005, READERS, OPERATORS), ROLE_OPERATOR);
}

// No group is a number, too: nobody is a member of it.
static void without_a_group_nobody_is_a_member(void **state)
{
	assert_int_equal(judge(&none, 1005, ROLES_NO_GROUP, ROLES_NO_GROUP), ROLE_NONE);
}

// Connects as somebody else. Never returns.
static void connect_as(const struct sockaddr_un *a, socklen_t len, uid_t uid, unsigned int nb)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	gid_t groups[MANY];
	char end;

	for (unsigned int i = 0; i < nb; i++)
		groups[i] = READERS - nb + 1 + i; // READERS is the last of them
	if (setgroups(nb, groups) != 0 || setresgid(9, 9, 9) != 0 ||
		setresuid(uid, uid, uid) != 0 || connect(fd, (const struct sockaddr *)a, len) != 0)
		_exit(1);
	// the kernel has noted the groups: later ones do not count
	_exit(read(fd, &end, 1) != 0);
}

static enum role role_of(uid_t uid, unsigned int nb)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(a);
	const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	const struct roles readers = {ROLES_NO_GROUP, READERS};
	enum role role;
	uid_t told_uid;
	pid_t child, told_pid;
	int fd, status;

	// the kernel chooses an abstract name
	assert_int_equal(bind(listener, (const struct sockaddr *)&a, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	child = fork();
	assert_return_code(child, 0);
	if (child == 0)
		connect_as(&a, len, uid, nb);
	fd = accept(listener, NULL, NULL);
	assert_return_code(fd, 0);
	role = roles_of(&readers, fd, &told_uid, &told_pid);
	assert_int_equal(told_uid, uid);
	assert_int_equal(told_pid, child);
	close(fd);
	close(listener);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return role;
}

static void the_kernel_tells_the_groups(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(role_of(1005, 0), ROLE_NONE);
	assert_int_equal(role_of(1005, 1), ROLE_READER);
	assert_int_equal(role_of(1005, MANY), ROLE_READER);
	assert_int_equal(role_of(0, 0), ROLE_OWNER);
}

static void without_credentials_there_is_no_role(void **state)
{
	uid_t uid = 0;
	pid_t pid = 1;

	assert_int_equal(roles_of(&both, -1, &uid, &pid), ROLE_NONE);
	assert_int_equal(uid, (uid_t)-1);
	assert_int_equal(pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_the_own_user_own_the_server),
		cmocka_unit_test(groups_decide_for_others),
		cmocka_unit_test(without_a_group_nobody_is_a_member),
		cmocka_unit_test(the_kernel_tells_the_groups),
		cmocka_unit_test(without_credentials_there_is_no_role),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
