// SPDX-License-Identifier: BSD-3-Clause
// Events from the rings of workers to records, log and attempts, and the shutdown. The log is
// standard error, which goes to a file here.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "explain/attempts.h"
#include "dp_world.h"
#include "events/events.h"
#include "log/log.h"
#include "records/records.h"
#include "turn_event.h"
#include "turn_refusal.h"

#define DEADLINE_MS 20000

static struct dp_world world;
static struct mgmt_events *events;
static char dir[] = "/tmp/events.XXXXXX", file[64], log_path[64];
static char refusals_file[CONF_RECORDS_PATH];
static bool refusals;

static void change(struct dp_world *w)
{
	w->conf.records = (struct conf_records){.file = file, .keep = 1, .refusals = refusals};
	w->conf.events = 4096;
}

static void open_all(bool with_refusals)
{
	const struct world_setup s = {
		.workers = 2, .rx_queues = 2, .tx_queues = 2, .change = change};
	char error[CONF_ERROR_LEN];

	refusals = with_refusals;
	unlink(file);
	world_open(&world, &s);
	events = mgmt_events_open(&world.conf, error, sizeof(error));
	if (events == NULL)
		fail_msg("%s", error);
	mgmt_events_attach(events, world.dp);
}

static void close_all(void)
{
	world_close(&world);
	mgmt_events_close(events);
}

static void put(unsigned int worker, struct turn_event e, const char *name)
{
	e.at_ms = dp_clock_ms(world.dp);
	e.worker = (uint8_t)worker;
	e.client = world_endpoint("192.0.2.7", 5000);
	e.name_len = (uint8_t)strlen(name);
	memcpy(e.name, name, e.name_len);
	world_event(&world, worker, &e);
}

// Number of records in a file, all whole. *last: the newest, owned by the caller.
static unsigned int records_in(const char *path, json_t **last)
{
	FILE *f = fopen(path, "r");
	json_t *o = NULL, *next;
	unsigned int n = 0;

	assert_non_null(f);
	while ((next = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
		json_decref(o);
		o = next;
		n++;
	}
	fclose(f);
	if (last != NULL)
		*last = o;
	else
		json_decref(o);
	return n;
}

// Total number of log lines that contain a text.
static unsigned int lines_with(const char *text)
{
	FILE *f = fopen(log_path, "r");
	char line[MGMT_LOG_LINE_LEN + 2];
	unsigned int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, text) != NULL;
	fclose(f);
	return n;
}

static void test_sinks(void **state)
{
	const struct turn_event made = {.kind = TURN_EVENT_MADE, .id = 7, .lifetime_s = 600},
				refused = {.kind = TURN_EVENT_REFUSED,
					.proved = true,
					.reason = TURN_REFUSED_PASSWORD,
					.method = STUN_ALLOCATE,
					.more = 3};
	const uint64_t before = (uint64_t)time(NULL);
	const struct addr client = world_endpoint("192.0.2.7", 0).addr;
	struct attempt found[8];
	json_t *last;

	open_all(true);
	put(0, made, "ivan");
	put(1, refused, "ev\nil%");
	mgmt_events_tick(events);
	assert_int_equal(
		mgmt_events_of_user(events, &(struct attempts_who){"ivan", 4, 0}, found, 8), 1);
	assert_int_equal(found[0].id, 7);
	assert_in_range(found[0].wall_ms / 1000, before, before + 60);
	assert_int_equal(mgmt_events_of_source(events, &client, found, 8), 2);
	// the text of doc/operations.md
	assert_int_equal(
		lines_with("auth: ev%0Ail%25 at 192.0.2.7:5000 (udp): Allocate answered "
			   "401: password-wrong: the user is known, but the signature does "
			   "not match the password; correct the password in the client (3 "
			   "times since the last)\n"),
		1);
	close_all();
	assert_int_equal(records_in(file, NULL), 1);
	assert_int_equal(records_in(refusals_file, &last), 1);
	assert_string_equal(json_string_value(json_object_get(last, "user")), "ev%0Ail%25");
	json_decref(last);
}

static void test_no_refusals(void **state)
{
	open_all(false);
	put(0, (struct turn_event){.kind = TURN_EVENT_REFUSED, .reason = 5}, "a");
	put(0, (struct turn_event){.kind = TURN_EVENT_CONNECTION}, "");
	put(0, (struct turn_event){.kind = TURN_EVENT_ENDED}, "a");
	mgmt_events_tick(events);
	close_all();
	assert_int_equal(records_in(file, NULL), 1);
}

// However many refusals there are, the log has some of them, and the number of the rest.
static void test_log_bound(void **state)
{
	const unsigned int before = lines_with("answered 403");
	const uint64_t end = (uint64_t)time(NULL) + DEADLINE_MS / 1000;
	unsigned int lines, ticks = 0;

	open_all(true);
	while (lines_with("more refusals were not logged") == 0) {
		assert_true((uint64_t)time(NULL) < end);
		for (unsigned int i = 0; i < 100; i++)
			put(0,
				(struct turn_event){.kind = TURN_EVENT_REFUSED,
					.proved = true,
					.reason = TURN_REFUSED_PEER_DENIED,
					.method = STUN_CHANNEL_BIND},
				"ivan");
		mgmt_events_tick(events);
		ticks++;
	}
	lines = lines_with("answered 403") - before;
	assert_in_range(lines, 20, 40); // of two seconds
	assert_true(ticks * 100 > lines);
	close_all();
}

// Refusals of unproved addresses leave most of the lines to others.
static void test_log_unproved(void **state)
{
	const unsigned int before = lines_with("answered 437");

	open_all(true);
	for (unsigned int i = 0; i < 200; i++)
		put(0,
			(struct turn_event){.kind = TURN_EVENT_REFUSED,
				.reason = TURN_REFUSED_NO_ALLOCATION,
				.method = STUN_REFRESH},
			"");
	mgmt_events_tick(events);
	assert_in_range(lines_with("answered 437") - before, 1, 10);
	close_all();
}

// Steps that every client goes through are not logged at level info.
static void test_log_usual(void **state)
{
	const unsigned int before = lines_with("challenge");

	open_all(true);
	put(0, (struct turn_event){.kind = TURN_EVENT_REFUSED, .reason = TURN_REFUSED_CHALLENGE},
		"");
	mgmt_events_tick(events);
	assert_int_equal(lines_with("challenge"), before);
	close_all();
}

// A reader that finds many events looks again soon: a ring can fill up more often than ten times a
// second.
static void test_soon(void **state)
{
	open_all(false);
	assert_false(mgmt_events_tick(events));
	for (unsigned int i = 0; i < 1500; i++)
		put(0, (struct turn_event){.kind = TURN_EVENT_ENDED}, "ivan");
	assert_true(mgmt_events_tick(events));
	put(0, (struct turn_event){.kind = TURN_EVENT_ENDED}, "ivan");
	assert_false(mgmt_events_tick(events));
	close_all();
	assert_int_equal(records_in(file, NULL), 1501);
}

// Events on the rings at the stop, and the shards' last ones, which are more than any queue has
// room for.
static void test_stop(void **state)
{
	const struct turn_event ended = {.kind = TURN_EVENT_ENDED, .reason = TURN_END_STOPPED};

	open_all(true);
	for (unsigned int i = 0; i < 100; i++)
		put(i & 1, ended, "ivan");
	world_drain_events(&world);
	for (unsigned int i = 0; i < 20000; i++)
		put(i & 1, ended, "ivan");
	close_all();
	assert_int_equal(records_in(file, NULL), 20100);
}

static int begin(void **state)
{
	int fd;

	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/records.json", dir);
	conf_records_beside(file, CONF_RECORDS_REFUSALS, refusals_file);
	snprintf(log_path, sizeof(log_path), "%s/log", dir);
	fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	return fd >= 0 && dup2(fd, STDERR_FILENO) >= 0 && close(fd) == 0 ? 0 : -1;
}

static int end(void **state)
{
	return unlink(file) | unlink(refusals_file) | unlink(log_path) | rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sinks),
		cmocka_unit_test(test_no_refusals),
		cmocka_unit_test(test_log_bound),
		cmocka_unit_test(test_log_unproved),
		cmocka_unit_test(test_log_usual),
		cmocka_unit_test(test_soon),
		cmocka_unit_test(test_stop),
	};

	world_eal();
	return cmocka_run_group_tests(tests, begin, end);
}
