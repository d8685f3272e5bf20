// SPDX-License-Identifier: BSD-3-Clause
// Who has asked for a reload: each one is told with its own asker, also where the next one is asked
// for while it is under way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "conf.h"
#include "conf_file.h"
#include "hash.h"
#include "log.h"
#include "reload.h"
#include "reload/own_change.h"

static const struct hash_key hash = {{1, 2, 3, 4}};
static char told[8][160];
static unsigned int nb_told;

// Keeps what reloads say at their ends. Any thread logs; those lines come from the test's own.
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

static void test_each_by_its_own(void **state)
{
	struct conf_report quiet = {0};
	struct own_parts nothing = {0}; // a refused file reaches no part
	struct mgmt_reload_state now = {0};
	struct mgmt_reload *reload;
	struct conf *running;

	conf_file_write(conf_good, strlen(conf_good));
	running = conf_load_said(conf_path, &quiet, &hash);
	assert_non_null(running);
	reload = mgmt_reload_open(&nothing, running);
	assert_non_null(reload);
	conf_file_write("realm", 5);

	mgmt_reload_ask(reload, "the first", false);
	mgmt_reload_tick(reload); // it begins
	mgmt_reload_ask(reload, "the second", false);
	while (now.ended < 2) {
		const struct timespec pause = {.tv_nsec = 1000000};

		mgmt_reload_tick(reload);
		mgmt_reload_state(reload, &now);
		nanosleep(&pause, NULL);
	}
	assert_int_equal(now.asked, 2);
	assert_int_equal(nb_told, 2);
	assert_non_null(strstr(told[0], "reload by the first: nothing has changed"));
	assert_non_null(strstr(told[1], "reload by the second: nothing has changed"));
	mgmt_reload_close(reload);
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_each_by_its_own, conf_file_open, conf_file_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
