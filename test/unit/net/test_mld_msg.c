// SPDX-License-Identifier: BSD-3-Clause
// The maximum response delay of an MLD query (RFC 3810 section 5.1.3; RFC 2710 section 3.4), and
// its group. test_mld has whole frames.
#include "bytes.h"
#include "mld_msg.h"
#include "test.h"

static struct net_mld_query got;

static bool query(uint16_t len, uint16_t code)
{
	uint8_t packet[40 + 8 + 28] = {0x60, [7] = 1, [40] = 58, 0, 5, 2, 0, 0, 1, 0, 130};
	const struct net_frame f = {.kind = NET_ICMP6,
		.ttl = 1,
		.src = {.b = {0xfe, 0x80, [15] = 1}},
		.l4_off = 48,
		.payload_off = 48,
		.payload_len = len};

	store_be16(packet + 52, code);
	packet[56] = 0xff;
	packet[71] = 0x77;
	return net_mld_msg_query(packet, &f, &got);
}

static void delays_above_32_seconds_are_floating_point(void **state)
{
	static const struct {
		uint16_t code;
		uint32_t ms;
	} rows[] = {{0, 0}, {1000, 1000}, {0x7fff, 32767}, {0x8000, 0x1000 << 3},
		{0x8001, 0x1001 << 3}, {0x9000, 0x1000 << 4}, {0xffff, 0x1fff << 10}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(query(28, rows[i].code));
		assert_int_equal(got.delay_ms, rows[i].ms);
		assert_false(got.v1);
	}
	assert_true(query(24, 0xffff)); // a plain number in version 1
	assert_int_equal(got.delay_ms, 65535);
	assert_true(got.v1);
	assert_int_equal(got.group.b[0], 0xff);
	assert_int_equal(got.group.b[15], 0x77);
}

static void lengths_tell_the_version(void **state)
{
	for (uint16_t len = 8; len <= 28; len++)
		assert_int_equal(query(len, 0), len == 24 || len == 28);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delays_above_32_seconds_are_floating_point),
		cmocka_unit_test(lengths_tell_the_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
