// SPDX-License-Identifier: BSD-3-Clause
// Giving up privileges in a process with several threads: afterwards each thread can do what its
// role needs, and no more. The processes are children of this one, because privileges cannot be
// regained.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conf.h"
#include "confine/confine.h"
#include "fatal.h"
#include "test.h"

#define MAY_RENAME 1u
#define MAY_SOCKET 2u
#define MAY_RUN 4u

static const struct {
	const char *name;
	unsigned int allowed;
} roles[] = {{"rte-worker-1", 0}, {"lcore-worker-2", 0}, {"dpdk-worker3", 0},
	{"stream-0", MAY_SOCKET}, {"records", MAY_RENAME | MAY_SOCKET},
	{"telemetry-v2", MAY_RENAME | MAY_SOCKET}};

#define NB (sizeof(roles) / sizeof(roles[0]))

static unsigned int there; // number of threads
static bool go; // all have given up their privileges
static unsigned int can[NB]; // calls that each thread could make then
static bool deaf; // one thread blocks the signal
static bool fertile; // a thread creates another one after its turn

static struct conf_port port = {.name = "p", .device = "vtap:p"};

// --- in a child ----------------------------------------------------------------------------------

static unsigned int check_call(long rc, unsigned int action)
{
	return rc >= 0 || errno != EPERM ? action : 0;
}

static unsigned int look(void)
{
	return check_call(syscall(SYS_renameat2, AT_FDCWD, "/nonexistent/a", AT_FDCWD,
				  "/nonexistent/b", 0),
		       MAY_RENAME) |
		check_call(syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0), MAY_SOCKET) |
		check_call(syscall(SYS_execve, "/nonexistent", NULL, NULL), MAY_RUN);
}

static void *late(void *arg)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return NULL;
}

// Like DPDK's telemetry for a client: a thread that is created while others still have to give up
// their privileges.
static void beget(void)
{
	const long uid = syscall(SYS_geteuid);
	pthread_t id;

	while (syscall(SYS_geteuid) == uid)
		;
	if (pthread_create(&id, NULL, late, NULL) != 0)
		_exit(92);
}

static void *thread(void *arg)
{
	const size_t i = (size_t)arg;
	sigset_t set;

	pthread_setname_np(pthread_self(), roles[i].name);
	fatal_others(&set);
	if (!deaf || i != NB - 1)
		pthread_sigmask(SIG_SETMASK, &set, NULL);
	__atomic_fetch_add(&there, 1, __ATOMIC_RELEASE);
	if (fertile && i == NB - 2)
		beget();
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	can[i] = look();
	return NULL;
}

// Starts the threads with all signals blocked, as in our threads.
static void start(pthread_t id[NB])
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (size_t i = 0; i < NB; i++)
		if (pthread_create(&id[i], NULL, thread, (void *)i) != 0)
			_exit(90);
	while (__atomic_load_n(&there, __ATOMIC_ACQUIRE) < NB)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

// The value of a field in a thread's status file.
static uint64_t status(const char *tid, const char *field, int base)
{
	char path[300], line[256];
	const size_t len = strlen(field);
	uint64_t value = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "re");
	if (f == NULL)
		_exit(91);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, field, len) == 0 && line[len] == ':')
			value = strtoull(line + len + 1, NULL, base);
	fclose(f);
	return value;
}

// Checks what the kernel reports of all threads except the first, before they end. Returns 0, or
// the number of the failed check.
static int check_status(uid_t uid, bool filters)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		if (strtol(e->d_name, NULL, 10) != getpid() && status(e->d_name, "CapPrm", 16) != 0)
			return 1;
		if ((status(e->d_name, "CapPrm", 16) & ~UINT64_C(0x83000)) != 0)
			return 2; // NET_ADMIN; with a sanitizer NET_RAW and SYS_PTRACE
		if (status(e->d_name, "NoNewPrivs", 10) != 1)
			return 3;
		if (status(e->d_name, "Seccomp", 10) != (filters ? 2 : 0))
			return 4;
		if (status(e->d_name, "Uid", 10) != uid)
			return 5;
	}
	closedir(d);
	return 0;
}

// Returns 0, 100 if privileges could not be given up, or the number of the failed check.
static int live(const struct conf *c, uid_t uid)
{
	const bool filters = c->process.seccomp != CONF_SECCOMP_OFF;
	pthread_t id[NB];
	int rc;

	start(id);
	if (confine_enter(c) != 0)
		return 100;
	rc = check_status(uid, filters);
	__atomic_store_n(&go, true, __ATOMIC_RELEASE);
	for (size_t i = 0; i < NB; i++) {
		pthread_join(id[i], NULL);
		if (filters && can[i] != roles[i].allowed && rc == 0)
			rc = 10 + (int)i;
	}
	if (filters && rc == 0 && look() != (MAY_RENAME | MAY_SOCKET))
		rc = 20;
	return rc;
}

// --- the tests -----------------------------------------------------------------------------------

static int result(const struct conf *c, uid_t uid)
{
	const pid_t child = fork();
	int status_;

	if (child == 0)
		_exit(live(c, uid));
	assert_int_equal(waitpid(child, &status_, 0), child);
	assert_true(WIFEXITED(status_));
	return WEXITSTATUS(status_);
}

static struct conf conf_with(enum conf_seccomp seccomp)
{
	return (struct conf){
		.workers = 3, .ports = &port, .nb_ports = 1, .process = {.seccomp = seccomp}};
}

static void each_thread_can_do_what_its_role_says(void **state)
{
	const struct conf c = conf_with(CONF_SECCOMP_LOG);

	assert_int_equal(result(&c, geteuid()), 0);
}

static void without_filters_the_rest_is_given_up(void **state)
{
	const struct conf c = conf_with(CONF_SECCOMP_OFF);

	assert_int_equal(result(&c, geteuid()), 0);
}

static void root_becomes_the_user(void **state)
{
	struct conf c = conf_with(CONF_SECCOMP_LOG);
	const struct passwd *nobody = getpwnam("nobody");

	if (geteuid() != 0 || nobody == NULL)
		skip();
	c.process.user = "nobody";
	assert_int_equal(result(&c, nobody->pw_uid), 0);
}

static void new_threads_inherit_dropped_privileges(void **state)
{
	struct conf c = conf_with(CONF_SECCOMP_LOG);
	const struct passwd *nobody = getpwnam("nobody");

	if (geteuid() != 0 || nobody == NULL)
		skip();
	c.process.user = "nobody";
	fertile = true;
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(result(&c, nobody->pw_uid), 0);
	fertile = false;
}

static void only_root_changes_its_user(void **state)
{
	struct conf c = conf_with(CONF_SECCOMP_LOG);

	c.process.user = geteuid() == 0 ? "no-such-user" : "root";
	assert_int_equal(result(&c, 0), 100);
}

// A worker that is not found has no filter.
static void a_worker_that_is_not_found_is_an_error(void **state)
{
	struct conf c = conf_with(CONF_SECCOMP_LOG);

	c.workers = 4;
	assert_int_equal(result(&c, geteuid()), 100);
}

// eal.lcores may name more lcores than there are workers.
static void an_idle_lcore_is_no_worker(void **state)
{
	struct conf c = conf_with(CONF_SECCOMP_LOG);

	c.workers = 1;
	assert_int_equal(result(&c, geteuid()), 0);
}

static void a_thread_that_does_not_answer_is_an_error(void **state)
{
	const struct conf c = conf_with(CONF_SECCOMP_LOG);

	deaf = true;
	assert_int_equal(result(&c, geteuid()), 100);
	deaf = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_can_do_what_its_role_says),
		cmocka_unit_test(without_filters_the_rest_is_given_up),
		cmocka_unit_test(root_becomes_the_user),
		cmocka_unit_test(new_threads_inherit_dropped_privileges),
		cmocka_unit_test(only_root_changes_its_user),
		cmocka_unit_test(a_worker_that_is_not_found_is_an_error),
		cmocka_unit_test(an_idle_lcore_is_no_worker),
		cmocka_unit_test(a_thread_that_does_not_answer_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
