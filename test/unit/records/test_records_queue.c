// SPDX-License-Identifier: BSD-3-Clause
// The number of records that wait for a file, and the time they get at the end: an order or a
// reload can end very many allocations at once.
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addr_text.h"
#include "clock.h"
#include "conf.h"
#include "records/records.h"
#include "test.h"

static sem_t entered, go_on;

static ssize_t stuck_write(int fd, const void *data, size_t len)
{
	sem_post(&entered);
	while (sem_wait(&go_on) != 0)
		;
	sem_post(&go_on); // from now on all pass
	return (ssize_t)len;
}

static char file[32];

static struct records *open_records(const struct records_hooks *hooks)
{
	static struct turn_listener listener = {.transport = TURN_OVER_UDP};
	static struct conf conf = {.turn = {.listeners = &listener, .nb_listeners = 1},
		.records = {.file = file, .keep = 1}};
	struct records *records;
	char error[CONF_ERROR_LEN];

	if (records_open(&conf, hooks, &records, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	return records;
}

static void put_many(struct records *records, unsigned int n)
{
	const struct record r = {
		.event = {.kind = TURN_EVENT_ENDED, .client = {addr_text("192.0.2.7"), 5000}}};

	for (unsigned int i = 0; i < n; i++)
		records_put(records, &r);
}

static void test_room(void **state)
{
	const struct records_hooks hooks = {.write = stuck_write};
	struct records *records;

	sem_init(&entered, 0, 0);
	sem_init(&go_on, 0, 0);
	records = open_records(&hooks);
	put_many(records, 262144);
	assert_int_equal(records_counters(records).lost, 0);
	put_many(records, 2000); // the thread holds a few more
	assert_int_not_equal(records_counters(records).lost, 0);
	sem_post(&go_on);
	records_close(records, 20000);
}

// While the disk does not answer, strangers fill half of the queue, and leave the rest to sessions.
static void test_flood(void **state)
{
	const struct records_hooks hooks = {.write = stuck_write, .queue = 1000};
	const struct record refused = {.event = {.kind = TURN_EVENT_REFUSED}};
	struct records *records;
	uint64_t until_ms;

	sem_init(&entered, 0, 0);
	sem_init(&go_on, 0, 0);
	records = open_records(&hooks);
	put_many(records, 1);
	while (sem_wait(&entered) != 0)
		;
	for (unsigned int i = 0; i < 5000; i++)
		records_put(records, &refused);
	assert_int_equal(records_counters(records).waiting, 500);
	assert_int_equal(records_counters(records).lost, 4500);
	// at shutdown the queue waits for its half
	until_ms = clock_monotonic_ms() + 100;
	assert_false(records_put_until(records, &refused, until_ms));
	assert_true(clock_monotonic_ms() >= until_ms);
	put_many(records, 500);
	assert_int_equal(records_counters(records).waiting, 1000);
	assert_int_equal(records_counters(records).lost, 4501);
	sem_post(&go_on);
	records_close(records, 20000);
}

static unsigned int written; // by the thread, until it is joined

static ssize_t steady_write(int fd, const void *data, size_t len)
{
	usleep(250000);
	for (size_t i = 0; i < len; i++)
		written += ((const char *)data)[i] == '\n';
	return (ssize_t)len;
}

// A slow disk gets the time it needs, as long as it makes progress.
static void test_slow_at_end(void **state)
{
	const struct records_hooks hooks = {.write = steady_write};
	struct records *records = open_records(&hooks);

	put_many(records, 3000); // written in pieces of 64 KB
	records_close(records, 2000);
	assert_int_equal(written, 3000);
}

static int make_file(void **state)
{
	int fd;

	strcpy(file, "/tmp/records-queue.XXXXXX");
	fd = mkstemp(file);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_room, make_file, remove_file),
		cmocka_unit_test_setup_teardown(test_flood, make_file, remove_file),
		cmocka_unit_test_setup_teardown(test_slow_at_end, make_file, remove_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
