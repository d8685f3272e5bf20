// SPDX-License-Identifier: BSD-3-Clause
// Echo requests: which are answered, and the replies byte by byte with the correct checksum.
#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "frames.h"
#include "net.h"
#include "slow_sum.h"
#include "test.h"

static const struct net_rx rx = {.mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x0a}};

static bool reply(uint8_t *frame, size_t len)
{
	struct net_frame f;

	assert_int_equal(net_frame_parse(frame, len, &rx, &f), NET_OK);
	return net_echo_reply(frame, &f, mac_a);
}

static void refused(const uint8_t *golden, size_t len)
{
	uint8_t frame[128];

	memcpy(frame, golden, len);
	assert_false(reply(frame, len));
	assert_memory_equal(frame, golden, len);
}

static void test_golden(void **state)
{
	uint8_t frame[128];

	memcpy(frame, echo4, sizeof(echo4));
	assert_true(reply(frame, sizeof(echo4)));
	assert_memory_equal(frame, reply4, sizeof(reply4));
	memcpy(frame, echo6, sizeof(echo6));
	assert_true(reply(frame, sizeof(echo6)));
	assert_memory_equal(frame, reply6, sizeof(reply6));
}

// Replies, errors, other types and other codes are not answered.
static void test_not_a_request(void **state)
{
	uint8_t frame[128];

	refused(udp4, sizeof(udp4));
	refused(nd_probe, sizeof(nd_probe));
	memcpy(frame, echo4, sizeof(echo4));
	frame[34] = 0;
	frames_fix_l4(frame + 26, 8, 1, frame + 34, sizeof(echo4) - 34);
	refused(frame, sizeof(echo4));
	frame[34] = 8;
	frame[35] = 1;
	frames_fix_l4(frame + 26, 8, 1, frame + 34, sizeof(echo4) - 34);
	refused(frame, sizeof(echo4));
	frame[35] = 0;
	frame[34] = 128; // the type of the other family
	frames_fix_l4(frame + 26, 8, 1, frame + 34, sizeof(echo4) - 34);
	refused(frame, sizeof(echo4));
	memcpy(frame, echo6, sizeof(echo6));
	frame[54] = 129;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, sizeof(echo6) - 54);
	refused(frame, sizeof(echo6));
	frame[54] = 8;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, sizeof(echo6) - 54);
	refused(frame, sizeof(echo6));
}

static void test_groups(void **state)
{
	uint8_t frame[128];

	memcpy(frame, echo6, sizeof(echo6));
	memcpy(frame, (const uint8_t[]){0x33, 0x33, 0, 0, 0, 1}, 6);
	memset(frame + 38, 0, 16);
	store_be16(frame + 38, 0xff02);
	frame[53] = 1;
	frames_fix_l4(frame + 22, 32, 58, frame + 54, sizeof(echo6) - 54);
	refused(frame, sizeof(echo6));
	memcpy(frame, mac_a, 6); // a group by its IP address alone
	refused(frame, sizeof(echo6));
	memcpy(frame, echo6, sizeof(echo6)); // no address to answer to
	memset(frame + 22, 0, 16);
	frames_fix_l4(frame + 22, 32, 58, frame + 54, sizeof(echo6) - 54);
	refused(frame, sizeof(echo6));
}

// Extension headers would return with the reply.
static void test_extension(void **state)
{
	uint8_t frame[128];

	memcpy(frame, echo6, 54);
	frame[19] += 8;
	frame[20] = 60;
	memcpy(frame + 54, (const uint8_t[]){58, 0, 1, 4, 0, 0, 0, 0}, 8);
	memcpy(frame + 62, echo6 + 54, sizeof(echo6) - 54);
	refused(frame, sizeof(echo6) + 8);
}

// The checksum of the reply for any length and content, including the all-zero message.
static void test_checksums(void **state)
{
	for (size_t len = 8; len < 64; len++) {
		uint8_t frame[128] = {0};

		memcpy(frame, echo4, 34);
		store_be16(frame + 16, (uint16_t)(20 + len));
		frames_fix_ip4(frame + 14);
		for (size_t i = 38; i < 34 + len; i++)
			frame[i] = len == 20 ? 0 : (uint8_t)(i * len);
		frame[34] = 8;
		frames_fix_l4(frame + 26, 8, 1, frame + 34, len);
		assert_true(reply(frame, 34 + len));
		assert_int_equal(slow_sum(0, frame + 14, 20), 0xffff);
		assert_int_equal(slow_sum(0, frame + 34, len), 0xffff);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_not_a_request),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_extension),
		cmocka_unit_test(test_checksums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
