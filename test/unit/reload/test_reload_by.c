// SPDX-License-Identifier: BSD-3-Clause
// The source of a reload: each reload is reported with its own source, even if the next one is
// requested meanwhile.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "conf_file.h"
#include "hash.h"
#include "log/log.h"
#include "reload/reload.h"
#include "reload/own_change.h"
#include "test.h"

static const struct hash_key hash = {{1, 2, 3, 4}};
static char told[8][160];
static unsigned int nb_told;
static struct mgmt_reload *reload;
static struct conf *running;
static bool asks; // request another reload when a lock is released

// Keeps the messages of finished reloads. Any thread may log; these lines come from the test's own
// thread.
void __wrap_mgmt_log(enum conf_area area, int level, const char *fmt, ...);
void __wrap_mgmt_log(enum conf_area area, int level, const char *fmt, ...)
{
	va_list args;

	if (strncmp(fmt, "reload by ", 10) != 0)
		return;
	assert_in_range(nb_told, 0, 7);
	va_start(args, fmt);
	vsnprintf(told[nb_told++], sizeof(told[0]), fmt, args);
	va_end(args);
}

int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	const int rc = __real_pthread_mutex_unlock(lock);

	if (asks) {
		asks = false;
		mgmt_reload_ask(reload, "the second", true);
	}
	return rc;
}

static int setup(void **state)
{
	struct conf_report quiet = {0};
	struct own_parts nothing = {0}; // a refused file changes no part

	conf_file_open(state);
	nb_told = 0;
	conf_file_write(conf_good, strlen(conf_good));
	running = conf_load_and_report(conf_path, &quiet, &hash);
	assert_non_null(running);
	reload = mgmt_reload_open(&nothing, running);
	assert_non_null(reload);
	conf_file_write("realm", 5);
	return 0;
}

static int teardown(void **state)
{
	mgmt_reload_close(reload);
	conf_free(running);
	return conf_file_close(state);
}

// Continues until no reload is in progress; then both have been reported.
static void assert_both(void)
{
	struct mgmt_reload_state now = {.asked = 1};

	while (now.ended != now.asked) {
		const struct timespec pause = {.tv_nsec = 1000000};

		mgmt_reload_tick(reload);
		mgmt_reload_state(reload, &now);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(now.asked, 2);
	assert_int_equal(nb_told, 2);
	assert_non_null(strstr(told[0], "reload by the first: nothing has changed"));
	assert_non_null(strstr(told[1], "reload by the second: nothing has changed"));
}

static void test_each_by_its_own(void **state)
{
	mgmt_reload_ask(reload, "the first", false);
	mgmt_reload_tick(reload); // it begins
	mgmt_reload_ask(reload, "the second", false);
	assert_both();
}

// A reload requested while another begins is a separate one: the running one may not include the
// change.
static void test_as_it_begins(void **state)
{
	mgmt_reload_ask(reload, "the first", false);
	asks = true;
	mgmt_reload_tick(reload);
	assert_false(asks);
	assert_both();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_by_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_as_it_begins, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
