// SPDX-License-Identifier: BSD-3-Clause
// How many records wait for a file: an order or a reload can end very many allocations at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "addr_text.h"
#include "conf.h"
#include "records/records.h"

static sem_t go_on;

static ssize_t stuck_write(int fd, const void *data, size_t len)
{
	while (sem_wait(&go_on) != 0)
		;
	sem_post(&go_on); // from now on all pass
	return (ssize_t)len;
}

static void room_for(unsigned int least, unsigned int most)
{
	char file[] = "/tmp/records-queue.XXXXXX";
	const int fd = mkstemp(file);
	struct turn_listener listener = {.transport = TURN_OVER_UDP};
	const struct conf conf = {.turn = {.listeners = &listener, .nb_listeners = 1},
		.records = {.file = file, .keep = 1}};
	const struct records_hooks hooks = {.write = stuck_write};
	const struct record r = {
		.event = {.kind = TURN_EVENT_ENDED, .client = {addr_text("192.0.2.7"), 5000}}};
	struct records *records;
	char error[CONF_ERROR_LEN];

	assert_true(fd >= 0);
	close(fd);
	sem_init(&go_on, 0, 0);
	if (records_open(&conf, &hooks, &records, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	for (unsigned int i = 0; i < least; i++)
		records_put(records, &r);
	assert_int_equal(records_counters(records).lost, 0);
	// the thread holds a few more
	for (unsigned int i = least; i < most; i++)
		records_put(records, &r);
	assert_int_not_equal(records_counters(records).lost, 0);
	sem_post(&go_on);
	records_close(records, 20000);
	unlink(file);
}

static void test_room(void **state)
{
	room_for(262144, 264000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_room)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
