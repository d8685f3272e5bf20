// SPDX-License-Identifier: BSD-3-Clause
// Records with a slow or blocked sink, and the file that a record belongs to. Slow daemons lose
// nothing, blocked ones cost the other sinks nothing, and the file is reopened between the records
// before the order and those after it.
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "clock.h"
#include "records/records.h"
#include "test.h"

#define DEADLINE_MS 20000
#define MANY 500 // more than the queue of a datagram socket holds
#define SLOW_READS 100

static char dir[] = "/tmp/records.XXXXXX";
static char file[64], journal[80], syslog_path[80];
static struct turn_listener listeners[1] = {{.transport = TURN_OVER_UDP}};
static struct conf conf;
static struct records *records;

static void nap(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	nanosleep(&pause, NULL);
}

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/records.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/records.json", dir);
	snprintf(journal, sizeof(journal), "%s/journal", dir);
	snprintf(syslog_path, sizeof(syslog_path), "%s/log", dir);
	conf = (struct conf){.turn = {.listeners = listeners, .nb_listeners = 1},
		.records = {.file = file, .keep = 3}};
	return 0;
}

static int remove_dir(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void start(const struct records_hooks *hooks)
{
	char error[CONF_ERROR_LEN];

	if (records_open(&conf, hooks, &records, error, sizeof(error)) != 0)
		fail_msg("%s", error);
}

static void put(uint64_t first, uint64_t last)
{
	for (uint64_t id = first; id <= last; id++) {
		const struct record r = {.event = {.kind = TURN_EVENT_ENDED, .id = id}};

		records_put(records, &r);
	}
}

// Number of ids in a file's lines. Asserts that they are consecutive.
static unsigned int ids_of(const char *path, uint64_t first)
{
	FILE *f = fopen(path, "r");
	char line[8192];
	unsigned int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		json_t *o = json_loads(line, 0, NULL);

		assert_non_null(o);
		assert_int_equal(first + n++,
			strtoull(json_string_value(json_object_get(o, "id")), NULL, 10));
		json_decref(o);
	}
	fclose(f);
	return n;
}

static int listen_at(const char *path)
{
	const struct timeval patience = {.tv_sec = DEADLINE_MS / 1000};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	return fd;
}

// --- daemons -------------------------------------------------------------------------------------

static void *read_slowly(void *fd)
{
	char got[8192];

	for (intptr_t n = 0; n < MANY; n++) {
		if (n < SLOW_READS)
			nap();
		if (recv(*(int *)fd, got, sizeof(got), 0) <= 0)
			return (void *)n;
	}
	return (void *)(intptr_t)MANY;
}

// The daemon takes some records at once and the rest later: nothing is lost.
static void a_daemon_may_take_its_time(void **state)
{
	const struct records_hooks hooks = {
		.journal = journal, .syslog = syslog_path, .patience_ms = DEADLINE_MS};
	int fd[2] = {listen_at(journal), listen_at(syslog_path)};
	pthread_t thread[2];
	void *n[2];

	conf.records.journal = conf.records.syslog = true;
	start(&hooks);
	put(1, MANY);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, read_slowly, &fd[i]), 0);
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(thread[i], &n[i]);
		assert_int_equal((intptr_t)n[i], MANY);
		close(fd[i]);
	}
	assert_int_equal(records_counters(records).unsent, 0);
	records_close(records, DEADLINE_MS);
	assert_int_equal(ids_of(file, 1), MANY);
}

// It takes nothing: the thread waits for it once, and the file loses no record.
static void a_stuck_daemon_is_waited_for_once(void **state)
{
	const struct records_hooks hooks = {
		.journal = journal, .syslog = syslog_path, .patience_ms = 300};
	const uint64_t begin = clock_monotonic_ms();
	const int fd = listen_at(journal);
	unsigned int taken = 0;
	char got[8192];

	conf.records.journal = true;
	start(&hooks);
	put(1, MANY);
	while (records_counters(records).written < MANY) {
		assert_true(clock_monotonic_ms() - begin < DEADLINE_MS);
		nap();
	}
	// one wait is 0.3 s, a wait for each would be minutes
	assert_true(clock_monotonic_ms() - begin >= 300);
	records_close(records, DEADLINE_MS);
	while (recv(fd, got, sizeof(got), MSG_DONTWAIT) > 0)
		taken++;
	assert_in_range(taken, 1, MANY - 1);
	close(fd);
	assert_int_equal(ids_of(file, 1), MANY);
}

// --- which file ----------------------------------------------------------------------------------

static sem_t entered, go_on;
static unsigned int lines[2]; // written before the file was reopened, and after

// The first file loses O_NONBLOCK, which identifies it.
static ssize_t held_write(int fd, const void *data, size_t len)
{
	static bool marked;

	if (!marked)
		assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	marked = true;
	for (size_t i = 0; i < len; i++)
		lines[(fcntl(fd, F_GETFL) & O_NONBLOCK) != 0] += ((const char *)data)[i] == '\n';
	sem_post(&entered);
	while (sem_wait(&go_on) != 0)
		;
	sem_post(&go_on); // from now on all pass
	return write(fd, data, len);
}

// However many records follow the order, it is carried out between those before and those after it.
static void the_file_is_reopened_at_the_order(void **state)
{
	const struct records_hooks hooks = {.write = held_write};

	assert_int_equal(sem_init(&entered, 0, 0), 0);
	assert_int_equal(sem_init(&go_on, 0, 0), 0);
	start(&hooks);
	put(1, 1);
	while (sem_wait(&entered) != 0)
		;
	put(2, 150);
	records_reopen(records);
	put(151, 1000);
	sem_post(&go_on);
	records_close(records, DEADLINE_MS);
	assert_int_equal(lines[0], 150);
	assert_int_equal(lines[1], 850);
	assert_int_equal(ids_of(file, 1), 1000);
}

// Other sinks get the records from then on, and the counters continue. "No file" is a sink, too.
static void other_sinks_follow_at_the_order(void **state)
{
	const struct records_hooks none = {.write = NULL};
	struct conf_records changed = conf.records;
	char second[80], error[CONF_ERROR_LEN], buf[128];
	struct records_sinks *sinks;

	snprintf(second, sizeof(second), "%s/second.json", dir);
	start(&none);
	put(1, 200);
	changed.file = second;
	sinks = records_sinks_open(&changed, &none, error, sizeof(error));
	assert_non_null(sinks);
	records_change(records, sinks);
	assert_string_equal(records_path(records, RECORDS_SESSIONS, buf, sizeof(buf)), second);
	put(201, 500);
	while (records_counters(records).written < 500)
		nap();
	changed.file = NULL;
	sinks = records_sinks_open(&changed, &none, error, sizeof(error));
	assert_non_null(sinks);
	records_change(records, sinks);
	assert_null(records_path(records, RECORDS_SESSIONS, buf, sizeof(buf)));
	put(501, 600);
	while (records_counters(records).waiting > 0)
		nap();
	assert_int_equal(records_counters(records).lost, 0);
	records_close(records, DEADLINE_MS);
	assert_int_equal(ids_of(file, 1), 200);
	assert_int_equal(ids_of(second, 201), 300);
}

// --- refusals ------------------------------------------------------------------------------------

static void put_kind(enum turn_event_kind kind, uint64_t id)
{
	const struct record r = {.event = {.kind = kind, .id = id}};

	records_put(records, &r);
}

static void path_of(char buf[96], const char *base, unsigned int number)
{
	snprintf(buf, 96, number > 0 ? "%s.%u" : "%s", base, number);
}

// Thousands of refused strangers only rotate their own files. The history of sessions stays whole,
// over several files, and so do new sessions.
static void refusals_rotate_their_own_files_alone(void **state)
{
	static const enum turn_event_kind refused[] = {TURN_EVENT_REFUSED, TURN_EVENT_CONNECTION};
	static const enum turn_event_kind kept[] = {TURN_EVENT_MADE, TURN_EVENT_INTERIM,
		TURN_EVENT_MOVED, TURN_EVENT_ROAMED, TURN_EVENT_ENDED};
	char path[96], refusals[80];
	unsigned int id = 0;
	struct stat st;

	conf.records.refusals = true;
	conf.records.rotate = 4096;
	start(NULL);
	for (unsigned int i = 0; i < 50; i++)
		put_kind(kept[i % 5], ++id);
	for (unsigned int i = 0; i < 5000; i++) {
		put_kind(refused[i % 2], 0);
		if (i % 1000 == 0)
			put_kind(kept[i / 1000], ++id);
	}
	records_close(records, DEADLINE_MS);
	snprintf(refusals, sizeof(refusals), "%s/records-refusals.json", dir);
	for (unsigned int i = 0; i <= conf.records.keep; i++) {
		path_of(path, refusals, i);
		assert_int_equal(stat(path, &st), 0);
		assert_in_range(st.st_size, 1, conf.records.rotate);
	}
	path_of(path, refusals, conf.records.keep + 1);
	assert_int_equal(access(path, F_OK), -1);
	path_of(path, file, 1);
	assert_int_equal(access(path, F_OK), 0);
	for (unsigned int i = conf.records.keep + 1, next = 1; i-- > 0;) {
		path_of(path, file, i);
		if (access(path, F_OK) == 0)
			next += ids_of(path, next);
		assert_int_equal(i > 0 || next == id + 1, 1);
	}
}

// The number of the last record of a file.
static json_int_t last_seq(const char *path)
{
	FILE *f = fopen(path, "r");
	json_int_t seq = 0;
	char line[4096];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		json_t *o = json_loads(line, 0, NULL);

		assert_int_equal(json_integer_value(json_object_get(o, "seq")), seq + 1);
		seq++;
		json_decref(o);
	}
	fclose(f);
	return seq;
}

// Peers have a file of their own, if there are records of them, and only rotate that.
static void peers_rotate_their_own_files_alone(void **state)
{
	char peers[96], rotated[96];
	unsigned int id = 0;
	struct stat st;

	conf.records.rotate = 4096;
	conf.records.peers = CONF_DETAIL_FULL;
	start(NULL);
	put_kind(TURN_EVENT_MADE, ++id);
	for (unsigned int i = 0; i < 1000; i++)
		put_kind(TURN_EVENT_PEER, 7);
	put_kind(TURN_EVENT_ENDED, ++id);
	records_close(records, DEADLINE_MS);
	assert_int_equal(ids_of(file, 1), id);
	assert_int_equal(last_seq(file), 2); // each file counts its records
	snprintf(peers, sizeof(peers), "%s/records-peers.json", dir);
	path_of(rotated, peers, conf.records.keep);
	assert_int_equal(stat(rotated, &st), 0);
	path_of(rotated, peers, conf.records.keep + 1);
	assert_int_equal(stat(rotated, &st), -1);
}

// Without records of refusals there is no file for them.
static void no_refusals_no_file(void **state)
{
	char path[96], buf[128];

	start(NULL);
	put_kind(TURN_EVENT_MADE, 1);
	put_kind(TURN_EVENT_REFUSED, 0);
	put_kind(TURN_EVENT_ENDED, 2);
	assert_null(records_path(records, RECORDS_REFUSALS, buf, sizeof(buf)));
	records_close(records, DEADLINE_MS);
	assert_int_equal(ids_of(file, 1), 2);
	snprintf(path, sizeof(path), "%s/records-refusals.json", dir);
	assert_int_equal(access(path, F_OK), -1);
}

static void the_file_of_refusals_has_its_name(void **state)
{
	static const char *const names[][2] = {
		{"/var/log/slipring/records.json", "/var/log/slipring/records-refusals.json"},
		{"/var/log.d/records", "/var/log.d/records-refusals"},
		{"/var/log/.records", "/var/log/.records-refusals"},
		{"/r.2026.log", "/r.2026-refusals.log"},
		{"/r.", "/r-refusals."},
	};
	char longest[1024], buf[CONF_RECORDS_PATH];

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		conf_records_beside(names[i][0], CONF_RECORDS_REFUSALS, buf);
		assert_string_equal(buf, names[i][1]);
	}
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[sizeof(longest) - 1] = '\0';
	conf_records_beside(longest, CONF_RECORDS_REFUSALS, buf);
	assert_int_equal(strlen(buf), strlen(longest) + strlen("-refusals"));
}

// A sink that cannot be opened is refused.
static void sinks_that_cannot_be_opened_are_refused(void **state)
{
	const struct records_hooks none = {.write = NULL};
	struct conf_records changed = conf.records;
	char error[CONF_ERROR_LEN] = "", away[96];

	snprintf(away, sizeof(away), "%s/away/records.json", dir);
	changed.file = away;
	assert_null(records_sinks_open(&changed, &none, error, sizeof(error)));
	assert_non_null(strstr(error, away));
	changed = conf.records; // a directory is in the way of the second file
	changed.refusals = true;
	snprintf(away, sizeof(away), "%s/records-refusals.json", dir);
	assert_int_equal(mkdir(away, 0700), 0);
	assert_null(records_sinks_open(&changed, &none, error, sizeof(error)));
	assert_non_null(strstr(error, away));
}

// A disk that is missing or read-only does not prevent a start: the file is created as soon as
// possible. A wrong path is an error.
static void a_file_is_opened_later(void **state)
{
	static const struct records_hooks later = {.later = true};
	char path[128], error[CONF_ERROR_LEN];

	snprintf(path, sizeof(path), "%s/disk", dir);
	snprintf(file, sizeof(file), "%s/disk/records.json", dir);
	start(&later);
	put(1, 1);
	while (records_counters(records).lost == 0)
		nap();
	assert_int_equal(mkdir(path, 0700), 0);
	for (uint64_t id = 2; records_counters(records).written == 0; id++) {
		put(id, id);
		nap();
	}
	assert_int_equal(access(file, F_OK), 0);
	records_close(records, DEADLINE_MS);
	snprintf(file, sizeof(file), "/dev/null");
	assert_int_equal(records_open(&conf, &later, &records, error, sizeof(error)), -1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
	const struct CMUnitTest tests[] = {
		CASE(a_file_is_opened_later),
		CASE(a_daemon_may_take_its_time),
		CASE(a_stuck_daemon_is_waited_for_once),
		CASE(the_file_is_reopened_at_the_order),
		CASE(other_sinks_follow_at_the_order),
		CASE(refusals_rotate_their_own_files_alone),
		CASE(peers_rotate_their_own_files_alone),
		CASE(no_refusals_no_file),
		cmocka_unit_test(the_file_of_refusals_has_its_name),
		CASE(sinks_that_cannot_be_opened_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
