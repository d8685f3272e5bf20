// SPDX-License-Identifier: BSD-3-Clause
// Session records: the fields of a line, and their fate when the disk fails. Lines are parsed by
// jansson, as their consumers would do.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "addr_text.h"
#include "clock.h"
#include "records/records.h"
#include "test.h"
#include "turn_refusal.h"

#define DEADLINE_MS 20000
#define WALL_MS UINT64_C(1767323045678) // 2026-01-02T03:04:05.678Z

static char dir[] = "/tmp/records.XXXXXX";
static char file[64];
static struct turn_listener listeners[2] = {
	{.transport = TURN_OVER_UDP}, {.transport = TURN_OVER_TLS}};
static struct conf conf;
static struct records *records;

// --- around the tests ----------------------------------------------------------------------------

static int make_dir(void **state)
{
	strcpy(dir, "/tmp/records.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/records.json", dir);
	conf = (struct conf){.turn = {.listeners = listeners, .nb_listeners = 2},
		.records = {.file = file, .rotate = 0, .keep = 3, .refusals = true}};
	records = NULL;
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

static void stop(void)
{
	records_close(records, DEADLINE_MS);
	records = NULL;
}

static struct record record_of(uint64_t id)
{
	return (struct record){.wall_ms = WALL_MS,
		.event = {.kind = TURN_EVENT_ENDED,
			.id = id,
			.client = {addr_text("192.0.2.7"), 5000},
			.relay = {addr_text("203.0.113.5"), 49152},
			.listener = 1,
			.worker = 3,
			.reason = TURN_END_CLIENT,
			.lifetime_s = 61,
			.usage = {.leg = {{10, 1000}, {UINT64_C(1) << 40, UINT64_C(1) << 50}},
				.lost = {1, 2, 3, 4, 5}},
			.name_len = 4,
			.name = "ivan"}};
}

static void put(uint64_t id)
{
	const struct record r = record_of(id);

	records_put(records, &r);
}

// Waits until a condition on the counters holds.
#define UNTIL(condition)                                                                         \
	do {                                                                                     \
		const uint64_t until = clock_monotonic_ms() + DEADLINE_MS;                       \
		struct records_counters c;                                                       \
                                                                                                 \
		for (;;) {                                                                       \
			const struct timespec pause = {.tv_nsec = 1000000};                      \
                                                                                                 \
			c = records_counters(records);                                           \
			if (condition)                                                           \
				break;                                                           \
			if (clock_monotonic_ms() > until)                                        \
				fail_msg("written %" PRIu64 " lost %" PRIu64 " unsent %" PRIu64, \
					c.written, c.lost, c.unsent);                            \
			nanosleep(&pause, NULL);                                                 \
		}                                                                                \
	} while (0)

// Fills in the ids of a file's lines, each of which must be one whole JSON object. Returns their
// number.
static unsigned int ids_of(const char *path, uint64_t *ids, unsigned int max)
{
	FILE *f = fopen(path, "r");
	char line[8192];
	unsigned int n = 0;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		json_error_t error;
		json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &error);

		if (o == NULL)
			fail_msg("%s: %s", error.text, line);
		assert_true(n < max);
		ids[n++] = strtoull(json_string_value(json_object_get(o, "id")), NULL, 10);
		json_decref(o);
	}
	fclose(f);
	return n;
}

// --- fields of a line ----------------------------------------------------------------------------

static json_t *object_of(const struct record *r)
{
	json_t *o = records_line_object(r, &conf.turn), *again;
	char line[4096];
	const size_t n = records_line_write(o, line, sizeof(line));

	assert_true(n > 2);
	assert_int_equal(line[n - 1], '\n');
	assert_null(memchr(line, '\n', n - 1));
	for (size_t i = 0; i + 1 < n; i++)
		assert_in_range(line[i], 0x20, 0x7e);
	again = json_loadb(line, n, 0, NULL);
	assert_non_null(again);
	json_decref(o);
	return again;
}

static const char *text_of(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static int64_t number_of(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

static void test_ended(void **state)
{
	const struct record r = record_of(UINT64_C(18446744073709551557));
	json_t *o = object_of(&r), *lost = json_object_get(o, "lost");

	assert_string_equal(text_of(o, "time"), "2026-01-02T03:04:05.678Z");
	assert_string_equal(text_of(o, "event"), "ended");
	assert_string_equal(text_of(o, "id"), "18446744073709551557");
	assert_string_equal(text_of(o, "user"), "ivan");
	assert_string_equal(text_of(o, "client"), "192.0.2.7:5000");
	assert_string_equal(text_of(o, "relay"), "203.0.113.5:49152");
	assert_string_equal(text_of(o, "transport"), "tls");
	assert_int_equal(number_of(o, "worker"), 3);
	assert_int_equal(number_of(o, "seconds"), 61);
	assert_string_equal(text_of(o, "why"), "client");
	assert_int_equal(number_of(json_object_get(o, "from_client"), "datagrams"), 10);
	assert_int_equal(number_of(json_object_get(o, "from_client"), "bytes"), 1000);
	assert_int_equal(number_of(json_object_get(o, "from_peers"), "bytes"), INT64_C(1) << 50);
	assert_int_equal(number_of(lost, "permission"), 1);
	assert_int_equal(number_of(lost, "other"), 5);
	assert_null(json_object_get(o, "peer"));
	assert_null(json_object_get(o, "code"));
	json_decref(o);
}

static void test_taken_up(void **state)
{
	struct record r = record_of(7);
	json_t *o;

	r.event.kind = TURN_EVENT_MOVED;
	r.event.was = UINT64_C(18446744073709551557);
	r.event.lifetime_s = 599;
	o = object_of(&r);
	assert_string_equal(text_of(o, "event"), "moved");
	assert_string_equal(text_of(o, "id"), "7");
	assert_string_equal(text_of(o, "was"), "18446744073709551557");
	assert_string_equal(text_of(o, "relay"), "203.0.113.5:49152");
	assert_int_equal(number_of(o, "lifetime"), 599);
	assert_null(json_object_get(o, "why"));
	assert_null(json_object_get(o, "lost"));
	json_decref(o);
	r.event.kind = TURN_EVENT_ROAMED; // by the client
	r.event.old_client = (struct endpoint){r.event.client.addr, 6000};
	o = object_of(&r);
	assert_string_equal(text_of(o, "event"), "roamed");
	assert_string_equal(text_of(o, "from"), "192.0.2.7:6000");
	json_decref(o);
}

static void test_refused(void **state)
{
	struct record r = record_of(0);
	json_t *o;

	r.event.kind = TURN_EVENT_REFUSED;
	r.event.reason = TURN_REFUSED_PASSWORD;
	r.event.method = 3;
	r.event.more = 4211;
	r.event.proved = true;
	r.event.peer = (struct endpoint){addr_text("2001:db8::1"), 9};
	o = object_of(&r);
	assert_string_equal(text_of(o, "event"), "refused");
	assert_string_equal(text_of(o, "method"), "Allocate");
	assert_int_equal(number_of(o, "code"), 401);
	assert_string_equal(text_of(o, "why"), "password-wrong");
	assert_string_equal(text_of(o, "peer"), "[2001:db8::1]:9");
	assert_int_equal(number_of(o, "times"), 4211);
	assert_null(json_object_get(o, "others"));
	assert_true(json_is_true(json_object_get(o, "proved")));
	assert_null(json_object_get(o, "id"));
	assert_null(json_object_get(o, "lost"));
	json_decref(o);
	r.event.others = true;
	o = object_of(&r);
	assert_string_equal(text_of(o, "user"), "ivan");
	assert_true(json_is_true(json_object_get(o, "others")));
	json_decref(o);
}

// Every value that a field can have makes a line, even values that are never sent.
static void test_values(void **state)
{
	for (unsigned int kind = 0; kind < 9; kind++) {
		for (unsigned int reason = 0; reason < 300; reason++) {
			struct record r = record_of(UINT64_MAX);

			memset(&r.event, reason & 1 ? 0xff : 0, sizeof(r.event));
			r.event.proved = r.event.others = true;
			r.event.kind = (uint8_t)kind;
			r.event.reason = (uint16_t)(reason < 299 ? reason : UINT16_MAX);
			r.wall_ms = reason & 2 ? 0 : WALL_MS;
			json_decref(object_of(&r));
		}
	}
}

// A name has any bytes. None of them breaks out of its field, and the name can be restored.
static void test_names(void **state)
{
	static const char nasty[] = "a\"b\\c\n\r\t\0\x7f\xff\xc3\xa9%41,\"id\":1}";
	struct record r = record_of(5);
	char back[TURN_EVENT_NAME_LEN];
	const char *text;
	size_t n = 0;
	json_t *o;

	r.event.name_len = sizeof(nasty) - 1;
	memcpy(r.event.name, nasty, sizeof(nasty) - 1);
	o = object_of(&r);
	assert_string_equal(text_of(o, "id"), "5");
	text = text_of(o, "user");
	for (; *text != '\0'; n++) {
		unsigned int byte = (unsigned char)*text;

		if (byte == '%')
			assert_int_equal(sscanf(text + 1, "%2X", &byte), 1);
		text += *text == '%' ? 3 : 1;
		back[n] = (char)byte;
	}
	assert_int_equal(n, sizeof(nasty) - 1);
	assert_memory_equal(back, nasty, n);
	json_decref(o);
}

// --- the file ------------------------------------------------------------------------------------

static void test_file(void **state)
{
	uint64_t ids[8];
	struct stat st;

	umask(0);
	start(NULL);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	put(1);
	put(2);
	stop();
	// existing lines are kept
	start(NULL);
	put(3);
	UNTIL(c.written == 1);
	assert_int_equal(ids_of(file, ids, 8), 3);
	assert_int_equal(ids[2], 3);
	stop();
}

static void refused(const char *path, const char *reason)
{
	char error[CONF_ERROR_LEN];

	conf.records.file = (char *)(uintptr_t)path;
	assert_int_equal(records_open(&conf, NULL, &records, error, sizeof(error)), -1);
	if (strstr(error, reason) == NULL)
		fail_msg("wanted: %s\n   got: %s", reason, error);
	assert_null(records);
}

static void test_no_file(void **state)
{
	char path[128], bad_path[128];
	int reader;

	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(path, "not a regular file");
	reader = open(path, O_RDONLY | O_NONBLOCK);
	refused(path, "not a regular file");
	close(reader);
	snprintf(bad_path, sizeof(bad_path), "%s/link", dir);
	assert_int_equal(symlink("/etc/passwd", bad_path), 0);
	refused(bad_path, "symbolic link");
	refused("/dev/null", "not a regular file");
	refused(dir, "not a regular file");
	snprintf(bad_path, sizeof(bad_path), "%s/none/records", dir);
	refused(bad_path, "no such directory");
}

static void test_rotation(void **state)
{
	char path[96];
	uint64_t ids[64], expect = 1;
	unsigned int n;
	struct stat st;

	conf.records.rotate = 2000;
	start(NULL);
	for (unsigned int i = 1; i <= 40; i++)
		put(i);
	UNTIL(c.written == 40);
	stop();
	for (int i = 3; i >= 0; i--) {
		snprintf(path, sizeof(path), i > 0 ? "%s.%d" : "%s", file, i);
		assert_int_equal(stat(path, &st), 0);
		assert_in_range(st.st_size, 1, 2000);
		n = ids_of(path, ids, 64);
		assert_in_range(n, 1, 10);
		if (i == 3)
			expect = ids[0];
		for (unsigned int k = 0; k < n; k++)
			assert_int_equal(ids[k], expect++);
	}
	assert_int_equal(expect, 41);
	snprintf(path, sizeof(path), "%s.4", file);
	assert_int_equal(stat(path, &st), -1);
}

// A path that rotation cannot use: the file keeps growing, and nothing is lost.
static void test_rotation_fails(void **state)
{
	char path[96], inner[128];
	uint64_t ids[64];

	snprintf(path, sizeof(path), "%s.2", file);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	snprintf(path, sizeof(path), "%s.3", file); // no file replaces a directory
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(inner, sizeof(inner), "%s/x", path);
	assert_int_equal(mkdir(inner, 0700), 0);
	conf.records.rotate = 1000;
	start(NULL);
	for (unsigned int i = 1; i <= 20; i++)
		put(i);
	UNTIL(c.written == 20 && c.lost == 0);
	stop();
	assert_int_equal(ids_of(file, ids, 64), 20);
}

// An operator removes or moves the file, or asks for another: the next record creates it again.
static void test_moved(void **state)
{
	uint64_t ids[8];
	char path[96];
	uint64_t next = 2;
	struct stat st;

	start(NULL);
	put(1);
	UNTIL(c.written == 1);
	snprintf(path, sizeof(path), "%s/moved", dir);
	assert_int_equal(rename(file, path), 0);
	records_reopen(records);
	put(next);
	UNTIL(c.written == 2);
	// the record may have come before the request: then the next one is in the new file
	while (stat(file, &st) != 0 || st.st_size == 0) {
		put(++next);
		UNTIL(c.written == next);
	}
	assert_int_equal(ids_of(path, ids, 8), next - 1);
	// without a request: it is noticed within a second or two
	assert_int_equal(unlink(file), 0);
	for (const uint64_t end = clock_monotonic_ms() + DEADLINE_MS; stat(file, &st) != 0;) {
		const struct timespec pause = {.tv_nsec = 20000000};

		assert_true(clock_monotonic_ms() < end);
		nanosleep(&pause, NULL);
	}
	put(++next);
	UNTIL(c.written == next);
	assert_int_equal(ids_of(file, ids, 8), 1);
	assert_int_equal(ids[0], next);
	stop();
}

// The directory is removed and comes back: records in between are lost, and counted.
static void test_directory_gone(void **state)
{
	char path[96];
	uint64_t n = 1;

	snprintf(path, sizeof(path), "%s.away", dir);
	start(NULL);
	put(n);
	UNTIL(c.written == 1);
	assert_int_equal(rename(dir, path), 0);
	for (const uint64_t end = clock_monotonic_ms() + DEADLINE_MS;
		records_counters(records).lost == 0;) {
		assert_true(clock_monotonic_ms() < end);
		put(++n);
		UNTIL(c.written + c.lost == n);
	}
	assert_int_equal(rename(path, dir), 0);
	for (const uint64_t end = clock_monotonic_ms() + DEADLINE_MS;;) {
		const uint64_t before = records_counters(records).written;

		assert_true(clock_monotonic_ms() < end);
		put(++n);
		UNTIL(c.written + c.lost == n);
		if (records_counters(records).written > before)
			break;
	}
	stop();
}

// A file system of 16 KB: only whole lines are written, the lost ones are counted, and it continues
// when there is room.
static void test_full(void **state)
{
	static uint64_t ids[4096];
	char path[96], ballast[96];
	struct records_counters k;
	unsigned int n;
	int fd;

	snprintf(path, sizeof(path), "%s/small", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	if (mount("none", path, "tmpfs", 0, "size=64k") != 0) {
		print_message("no tmpfs can be mounted here: skipped\n");
		skip();
	}
	snprintf(file, sizeof(file), "%s/small/r", dir);
	snprintf(ballast, sizeof(ballast), "%s/small/b", dir);
	fd = open(ballast, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(posix_fallocate(fd, 0, 40960), 0);
	close(fd);
	start(NULL);
	for (unsigned int i = 1; i <= 200; i++)
		put(i);
	UNTIL(c.written + c.lost == 200);
	k = records_counters(records);
	assert_in_range(k.written, 10, 190);
	n = ids_of(file, ids, 4096);
	assert_int_equal(n, k.written);
	for (unsigned int i = 1; i < n; i++)
		assert_true(ids[i] > ids[i - 1]);
	// room comes back
	assert_int_equal(unlink(ballast), 0);
	put(777);
	UNTIL(c.written == k.written + 1);
	assert_int_equal(ids_of(file, ids, 4096), n + 1);
	assert_int_equal(ids[n], 777);
	stop();
	assert_int_equal(umount(path), 0);
}

// --- a disk that does not answer -----------------------------------------------------------------

static sem_t entered, go_on;

static ssize_t slow_write(int fd, const void *data, size_t len)
{
	sem_post(&entered);
	while (sem_wait(&go_on) != 0)
		;
	sem_post(&go_on); // from now on all pass
	return write(fd, data, len);
}

static void test_slow(void **state)
{
	const struct records_hooks hooks = {.write = slow_write, .queue = 100};
	uint64_t ids[256], before;
	unsigned int n;

	assert_int_equal(sem_init(&entered, 0, 0), 0);
	assert_int_equal(sem_init(&go_on, 0, 0), 0);
	start(&hooks);
	put(1);
	while (sem_wait(&entered) != 0)
		;
	// no thread waits for the disk, which does not answer during this
	before = clock_monotonic_ms();
	for (unsigned int i = 2; i <= 1001; i++)
		put(i);
	assert_in_range(clock_monotonic_ms() - before, 0, DEADLINE_MS / 4);
	assert_int_equal(records_counters(records).waiting, 100);
	assert_int_equal(records_counters(records).lost, 900);
	assert_int_equal(records_counters(records).written, 0);
	sem_post(&go_on);
	UNTIL(c.written == 101);
	n = ids_of(file, ids, 256);
	assert_int_equal(n, 101);
	for (unsigned int i = 0; i < n; i++) // the oldest, in order
		assert_int_equal(ids[i], i + 1);
	stop();
}

// At the end there is no wait for the disk either, beyond the given time.
static void test_stuck_at_end(void **state)
{
	static struct records *volatile left; // referenced by the thread: no leak
	static char own_path[sizeof(file)]; // the thread's file, also while other tests run
	const struct records_hooks hooks = {.write = slow_write, .queue = 10};
	const uint64_t before = clock_monotonic_ms();
	struct record r = record_of(2);

	strcpy(own_path, file);
	conf.records.file = own_path;
	assert_int_equal(sem_init(&entered, 0, 0), 0);
	assert_int_equal(sem_init(&go_on, 0, 0), 0);
	start(&hooks);
	put(1);
	while (sem_wait(&entered) != 0)
		;
	for (unsigned int i = 0; i < 10; i++)
		assert_true(records_put_until(records, &r, before + 200));
	for (unsigned int i = 0; i < 10; i++)
		assert_false(records_put_until(records, &r, before + 200));
	assert_true(clock_monotonic_ms() >= before + 200);
	left = records;
	records_close(records, 100);
	assert_in_range(clock_monotonic_ms() - before, 300, DEADLINE_MS / 2);
	assert_non_null(left);
	sem_post(&go_on); // lets the thread continue, without a wait for it
	records = left;
	UNTIL(c.written == 11); // it has created its file, and does not touch the directory
	records = NULL;
}

// At shutdown there is room for more records than the queue holds.
static void test_put_until(void **state)
{
	const struct records_hooks hooks = {.queue = 10};
	static uint64_t ids[6000];

	start(&hooks);
	for (unsigned int i = 1; i <= 5000; i++) {
		const struct record r = record_of(i);

		assert_true(records_put_until(records, &r, clock_monotonic_ms() + DEADLINE_MS));
	}
	stop();
	assert_int_equal(ids_of(file, ids, 6000), 5000);
}

// --- journald and syslog -------------------------------------------------------------------------

static int listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void test_sockets(void **state)
{
	char journal[80], log[80], got[8192];
	const struct records_hooks hooks = {.journal = journal, .syslog = log};
	const struct timeval patience = {.tv_sec = DEADLINE_MS / 1000};
	int fd[2];
	ssize_t n;

	snprintf(journal, sizeof(journal), "%s/journal", dir);
	snprintf(log, sizeof(log), "%s/log", dir);
	fd[0] = listen_at(journal);
	fd[1] = listen_at(log);
	for (unsigned int i = 0; i < 2; i++)
		setsockopt(fd[i], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	conf.records.file = NULL;
	conf.records.journal = conf.records.syslog = true;
	start(&hooks);
	put(9);
	n = recv(fd[0], got, sizeof(got) - 1, 0);
	assert_true(n > 0);
	got[n] = '\0';
	// the native protocol of journald: NAME=value, a line each
	assert_non_null(strstr(got, "PRIORITY=6\n"));
	assert_non_null(strstr(got, "\nSYSLOG_IDENTIFIER=slipring\n"));
	assert_non_null(strstr(got, "\nSLIPRING_EVENT=ended\n"));
	assert_non_null(strstr(got, "\nSLIPRING_ID=9\n"));
	assert_non_null(strstr(got, "\nSLIPRING_USER=ivan\n"));
	assert_non_null(strstr(got, "\nSLIPRING_FROM_CLIENT_BYTES=1000\n"));
	assert_non_null(strstr(got, "\nMESSAGE={\"time\":"));
	assert_int_equal(got[n - 1], '\n');
	n = recv(fd[1], got, sizeof(got) - 1, 0);
	assert_true(n > 0);
	got[n] = '\0';
	assert_int_equal(strncmp(got, "<30>", 4), 0); // daemon 3 * 8 + info 6
	assert_non_null(strstr(got, "]: {\"time\":"));
	// no reader: counted
	close(fd[0]);
	close(fd[1]);
	put(10);
	UNTIL(c.unsent == 2);
	stop();
}

static void test_none(void **state)
{
	char error[CONF_ERROR_LEN];
	const struct record r = record_of(1);

	conf.records.file = NULL;
	assert_int_equal(records_open(&conf, NULL, &records, error, sizeof(error)), 0);
	assert_null(records);
	records_put(records, &r);
	records_reopen(records);
	assert_int_equal(records_counters(records).lost, 0);
	records_close(records, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
	const struct CMUnitTest tests[] = {
		CASE(test_ended),
		CASE(test_taken_up),
		CASE(test_refused),
		CASE(test_values),
		CASE(test_names),
		CASE(test_file),
		CASE(test_no_file),
		CASE(test_rotation),
		CASE(test_rotation_fails),
		CASE(test_moved),
		CASE(test_directory_gone),
		CASE(test_full),
		CASE(test_slow),
		CASE(test_stuck_at_end),
		CASE(test_put_until),
		CASE(test_sockets),
		CASE(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
