// SPDX-License-Identifier: BSD-3-Clause
// A worker's notes of its progress, and the headers of its burst: all headers, nothing after them,
// and no fault whatever is in memory.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "bytes.h"
#include "ask/fault.h"
#include "see/progress.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_world.h"
#include "frames.h"
#include "path/worker.h"

static struct dp_world world;

// --- headers -------------------------------------------------------------------------------------

static void test_frames(void **state)
{
	static const struct {
		const uint8_t *frame;
		size_t len, headers;
	} frames[] = {
		{udp4, sizeof(udp4), 14 + 20 + 8},
		{udp4_vlan, sizeof(udp4_vlan), 18 + 20 + 8},
		{udp6, sizeof(udp6), 14 + 40 + 8},
		{echo4, sizeof(echo4), 14 + 20}, // an echo's data is private, too
		{echo6, sizeof(echo6), 14 + 40},
		{arp_request, sizeof(arp_request), 14},
	};

	for (unsigned int i = 0; i < RTE_DIM(frames); i++) {
		assert_int_equal(
			progress_headers_len(frames[i].frame, frames[i].len), frames[i].headers);
		// of a truncated frame only whole headers are noted, or nothing
		for (size_t n = 0; n < frames[i].len; n++)
			assert_true(progress_headers_len(frames[i].frame, n) <= n);
	}
}

// A datagram with this payload after udp4's headers.
static size_t headers_with(const uint8_t *payload, size_t n)
{
	uint8_t frame[14 + 20 + 8 + 64];

	memcpy(frame, udp4, 42);
	store_be16(frame + 14 + 20 + 4, (uint16_t)(8 + n));
	memcpy(frame + 42, payload, n);
	return progress_headers_len(frame, 42 + n) - 42;
}

static void test_messages(void **state)
{
	// RFC 8489 section 5: type, length, cookie, transaction; then a USERNAME
	const uint8_t stun[] = {0, 3, 0, 8, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
		11, 12, 0, 6, 0, 4, 'i', 'v', 'a', 'n'};
	const uint8_t channel[] = {0x40, 1, 0, 5, 'm', 'e', 'd', 'i', 'a', 0, 0, 0};
	uint8_t foreign[32] = {0x40, 1, 0, 5};

	assert_int_equal(headers_with(stun, sizeof(stun)), 20);
	assert_int_equal(headers_with(stun, 19), 0);
	assert_int_equal(headers_with(channel, sizeof(channel)), 4);
	assert_int_equal(headers_with(channel, 9), 4); // RFC 8656 section 12.5: padding is optional
	assert_int_equal(headers_with(channel, 8), 0); // its length rules ChannelData out
	assert_int_equal(headers_with(foreign, sizeof(foreign)), 0); // QUIC may begin like this
	foreign[0] = 0x80; // RTP
	assert_int_equal(headers_with(foreign, sizeof(foreign)), 0);
	memcpy(foreign, stun, 20);
	foreign[7] ^= 1; // another cookie: the first 20 bytes are private
	assert_int_equal(headers_with(foreign, sizeof(foreign)), 0);
}

// Fragments after the first one have payload where others have a UDP header.
static void test_fragment(void **state)
{
	uint8_t frame[sizeof(udp4)];

	memcpy(frame, udp4, sizeof(frame));
	store_be16(frame + 14 + 6, 0x2000);
	assert_int_equal(progress_headers_len(frame, sizeof(frame)), 42);
	store_be16(frame + 14 + 6, 1);
	assert_int_equal(progress_headers_len(frame, sizeof(frame)), 34);
}

static void test_garbage(void **state)
{
	static const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 0x0806};
	uint8_t frame[DP_HEADERS_MAX];
	struct test_rand rand = test_rand_start("progress");

	for (unsigned int i = 0; i < 200000; i++) {
		const size_t n = test_rand_below(&rand, DP_HEADERS_MAX + 1);
		uint8_t *exact = malloc(n + 1); // ASan detects reads beyond it

		for (size_t k = 0; k < n; k++)
			frame[k] = (uint8_t)test_rand(&rand);
		if (n >= 18) {
			store_be16(frame + 12, types[i % 4]);
			store_be16(frame + 16, types[i / 4 % 4]);
			frame[14] = i % 3 == 0 ? 0x45 : frame[14];
		}
		memcpy(exact, frame, n);
		assert_true(progress_headers_len(exact, n) <= n);
		free(exact);
	}
}

// --- a worker that hangs in a burst --------------------------------------------------------------

static struct dp_progress seen;
static struct dp_headers headers[4];
static bool had[4];
static volatile bool looked;

static bool copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return true;
}

static bool cannot(void *dst, const void *src, size_t len)
{
	return false;
}

static void look(int number)
{
	dp_progress(world.dp, 0, &seen);
	for (unsigned int i = 0; i < 4; i++)
		had[i] = dp_progress_headers(world.dp, 0, i, copy, &headers[i]);
	looked = true;
}

static void test_stages(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	struct dp_progress before, after;

	world_open(&world, &s);
	assert_true(dp_progress(world.dp, 0, &before));
	assert_false(dp_progress(world.dp, 1, &after));
	world_run(&world);
	assert_true(dp_progress(world.dp, 0, &after));
	assert_true(after.rounds > before.rounds);
	assert_int_equal(after.stage, DP_STAGE_SEND);
	assert_false(dp_progress_headers(world.dp, 0, 0, cannot, &headers[0]));
	assert_false(dp_progress_headers(world.dp, 0, DP_BURST, copy, &headers[0]));
	world_close(&world);
}

static void put(const char *data, size_t len)
{
	const struct endpoint src = world_endpoint("10.99.0.20", 5000);
	const struct endpoint server = world_endpoint("10.99.0.1", 3478);

	world_send_bytes(&world, &src, &server, (const uint8_t *)data, (uint16_t)len);
}

static void test_burst(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	// in CPU time: the load of the machine does not matter
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	const struct dp_fault_order o = {.fault = DP_FAULT_SPIN, .in_burst = true, .ms = 300};

	world_open(&world, &s);
	world_run(&world);
	fault_take(world.dp->worker[0], &o);
	world_run(&world); // nothing arrives, and nothing happens
	put("marker-one", 10);
	put("\x40\x01\x00\x0amarker-two", 14);
	signal(SIGPROF, look);
	setitimer(ITIMER_PROF, &soon, NULL);
	world_run(&world);
	assert_true(looked);
	assert_int_equal(seen.stage, DP_STAGE_PORT);
	assert_int_equal(seen.source_id, 0);
	assert_int_equal(seen.taken, 2);
	assert_true(had[0] && had[1]);
	assert_int_equal(headers[0].len, 42 + 10);
	assert_int_equal(headers[0].nb, 42);
	assert_int_equal(headers[1].nb, 46);
	assert_int_equal(load_be16(headers[0].bytes + 14 + 20 + 2), 3478);
	assert_int_equal(load_be16(headers[1].bytes + 42), 0x4001);
	world_close(&world);
}

static void test_names(void **state)
{
	for (unsigned int i = 0; i < DP_STAGE_END; i++)
		assert_non_null(dp_stage_name(i));
	assert_null(dp_stage_name(DP_STAGE_END));
	for (unsigned int i = 0; i < DP_FAULT_END; i++)
		assert_non_null(dp_fault_name(i));
	assert_null(dp_fault_name(DP_FAULT_END));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_fragment),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_burst),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
