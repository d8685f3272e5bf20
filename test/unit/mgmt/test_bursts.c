// SPDX-License-Identifier: BSD-3-Clause
// Burst statistics: names of the classes of burst sizes, and the line in the log.
#include "bytes.h"
#include "dp_world.h"
#include "log/log.h"
#include "log/bursts.h"

#include <string.h>

static struct dp_world world;

// Largest burst of each class, from the names that operators read.
static unsigned int class_end(unsigned int class)
{
	const char *dash = strchr(mgmt_bursts_classes[class], '-');
	unsigned int end = 0;

	assert_int_equal(
		sscanf(dash != NULL ? dash + 1 : mgmt_bursts_classes[class], "%u", &end), 1);
	return end;
}

static void put_bindings(unsigned int n)
{
	const struct endpoint src = world_endpoint("10.99.0.20", 5000);
	const struct endpoint server = world_endpoint("10.99.0.1", 3478);
	// RFC 8489 section 5: Binding request, no attributes, the cookie, any transaction
	const uint8_t message[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3};

	for (unsigned int i = 0; i < n; i++)
		world_send_bytes(&world, &src, &server, message, sizeof(message));
}

// Asserts that the worker counts a burst of n frames in a class.
static void assert_counted(unsigned int n, unsigned int class)
{
	const uint64_t before = world_stats(&world).rx_hist[class];

	put_bindings(n);
	world_round(&world);
	assert_int_equal(world_stats(&world).rx_hist[class], before + 1);
	world_run(&world);
}

static void test_classes(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	unsigned int n = 1;

	world_open(&world, &s);
	for (unsigned int class = 0; class < DP_BURST_CLASSES; class ++) {
		unsigned int begin = 0;

		// no burst is in two classes or in no class
		assert_int_equal(sscanf(mgmt_bursts_classes[class], "%u", &begin), 1);
		assert_int_equal(begin, n);
		for (; n <= class_end(class); n++)
			assert_counted(n, class);
	}
	assert_int_equal(n, TURN_BURST + 1);
	world_close(&world);
}

// --- the log line -------------------------------------------------------------------------------

static void assert_line(const struct dp_stats *s, unsigned int worker, const char *want)
{
	char buf[MGMT_LOG_LINE_LEN];

	assert_int_equal(mgmt_bursts_line(buf, sizeof(buf), worker, s), strlen(want));
	assert_string_equal(buf, want);
}

static void test_line(void **state)
{
	struct dp_stats s = {0};

	assert_line(&s, 63,
		"worker 63: 0 polls, 0.0 % empty, else 0.0 packets; rx none; tx none; hand-over "
		"none; no-mbuf 0; tx short 0, retried 0");
	s = (struct dp_stats){.rx_bursts = 432000,
		.rx_empty = 768000,
		.rx = 5313600,
		.tx = 1000,
		.rx_hist = {1, 22, 9999, 10000, 99949, 312029},
		.tx_hist = {0, 0, 0, 0, 0, 99950},
		.hand_hist = {999499, 999500, 1000000, UINT64_MAX, 0, 7},
		.tx_short = 3,
		.tx_retried = 5,
		.uso_frames = 100,
		.uso_segments = 250};
	s.drop[DP_DROP_NO_MBUF] = 2;
	assert_line(&s, 0,
		"worker 0: 1.20M polls, 64.0 % empty, else 12.3 packets; rx 1:1 2:22 3-4:9999 "
		"5-8:10.0k 9-16:99.9k 17-32:312k; tx 1:0 2:0 3-4:0 5-8:0 9-16:0 17-32:100k; "
		"hand-over 1:999k 2:1.00M 3-4:1.00M 5-8:18.4E 9-16:0 17-32:7; no-mbuf 2; tx short "
		"3, retried 5; uso 100 frames of 2.5, 25.0 % of tx");
}

// The longest text fits into a line of the log; a short buffer gets its beginning.
static void test_line_lengths(void **state)
{
	char whole[MGMT_LOG_LINE_LEN], buf[MGMT_LOG_LINE_LEN];
	struct dp_stats s;
	size_t len;

	for (size_t i = 0; i < sizeof(s) / sizeof(uint64_t); i++)
		((uint64_t *)&s)[i] = UINT64_MAX;
	len = mgmt_bursts_line(whole, sizeof(whole), UINT32_MAX, &s);
	assert_true(len < sizeof(whole) - 64); // time and level precede it
	for (size_t cut = 1; cut < len + 2; cut++) {
		memset(buf, 'x', sizeof(buf));
		assert_true(mgmt_bursts_line(buf, cut, UINT32_MAX, &s) < cut);
		assert_memory_equal(buf, whole, cut - 1);
		assert_int_equal(buf[cut - 1], '\0');
		assert_int_equal(buf[cut], 'x');
	}
}

static void test_ratio(void **state)
{
	assert_true(mgmt_bursts_ratio(0, 0) == 0 && mgmt_bursts_ratio(5, 0) == 0 &&
		mgmt_bursts_ratio(1, 4) == 0.25);
}

// Reports the events since the last report, and not before the interval is over.
static void test_interval(void **state)
{
	const struct world_setup s = {.workers = 2, .rx_queues = 1, .tx_queues = 1};
	struct mgmt_bursts b;

	world_open(&world, &s);
	assert_int_equal(mgmt_bursts_start(&b, world.dp, 0, 1000), 0);
	mgmt_bursts_tick(&b, world.dp, UINT64_MAX); // off
	assert_null(b.before);
	mgmt_bursts_stop(&b);
	assert_int_equal(mgmt_bursts_start(&b, world.dp, 10, 1000), 0);
	put_bindings(3);
	world_run(&world);
	mgmt_bursts_tick(&b, world.dp, 10999);
	assert_int_equal(b.before[0].rx, 0);
	mgmt_bursts_tick(&b, world.dp, 11000);
	assert_true(b.before[0].rx >= 3);
	assert_int_equal(b.due_ms, 21000);
	// a late one does not shift the next ones
	mgmt_bursts_tick(&b, world.dp, 21070);
	assert_int_equal(b.due_ms, 31000);
	mgmt_bursts_tick(&b, world.dp, 55000);
	assert_int_equal(b.due_ms, 61000);
	mgmt_bursts_stop(&b);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_lengths),
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_interval),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
