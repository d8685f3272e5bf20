// SPDX-License-Identifier: BSD-3-Clause
// The relayed and lost datagrams in an allocation's listing: exact, whichever path a datagram took.
// A line's copy never becomes valid again when its 16-bit time wraps.
#include "turn_fixture.h"

#include "bytes.h"
#include "shard.h"
#include "shard_rows.h"

#define CHANNEL 0x4000
#define ROUND_MS ((uint64_t)65536 * TURN_LINE_MS) // until has wrapped once: 70 minutes

static struct fixture f;
static struct fixture_client ivan;
static struct endpoint peer, second;
static uint8_t data[UINT16_MAX];
static struct turn_usage expected;

static struct turn_usage usage(void)
{
	struct turn_info info;

	assert_int_equal(shard_rows(f.shard, &info, 1), 1);
	return info.usage;
}

static void check(void)
{
	const struct turn_usage got = usage();

	for (unsigned int leg = 0; leg < 2; leg++) {
		assert_int_equal(got.leg[leg].datagrams, expected.leg[leg].datagrams);
		assert_int_equal(got.leg[leg].bytes, expected.leg[leg].bytes);
	}
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		assert_int_equal(got.lost[i], expected.lost[i]);
}

static int setup(void **state)
{
	*state = &f;
	ivan = fixture_open_ivan(&f);
	peer = fixture_endpoint("10.99.0.9", 7000);
	second = fixture_endpoint("10.99.0.9", 7001);
	expected = (struct turn_usage){0};
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, "10.99.0.9", 7000), 0);
	return 0;
}

static const struct turn_plan *send_to(const struct endpoint *target, uint16_t len)
{
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&f.w, STUN_DATA_ATTR, data, len);
	return fixture_send(&f, &ivan);
}

static void relayed(unsigned int leg, uint16_t len, const struct turn_plan *p)
{
	assert_true(p->verdict == TURN_RELAY || p->verdict == TURN_SEND);
	expected.leg[leg].datagrams++;
	expected.leg[leg].bytes += len;
}

static void lost(enum turn_loss loss, unsigned int reason, const struct turn_plan *p)
{
	assert_int_equal(fixture_drop(p), reason);
	expected.lost[loss]++;
}

// All four kinds of data, with sizes from 0 to the longest that each can have.
static void relay(unsigned int direction, uint16_t len)
{
	switch (direction) {
	case 0:
		relayed(0, len, fixture_channel_data(&f, &ivan, CHANNEL, data, len % 2048));
		expected.leg[0].bytes -= len - len % 2048;
		break;
	case 1:
		relayed(0, len % 8192,
			send_to(test_rand_below(&f.rand, 2) ? &peer : &second, len % 8192));
		break;
	case 2:
		relayed(1, len, fixture_from_peer(&f, &ivan.relay, &peer, data, len));
		break;
	default:
		len = len < 65000 ? len : 65000; // a Data indication has no room for more
		relayed(1, len, fixture_from_peer(&f, &ivan.relay, &second, data, len));
	}
}

static void counts_are_exact_in_each_direction(void **state)
{
	static const uint16_t sizes[] = {0, 1, 1500, 2047, 65535};

	check();
	for (unsigned int i = 0; i < 20000; i++) {
		const unsigned int direction = test_rand_below(&f.rand, 4);

		if (test_rand_below(&f.rand, 4) == 0)
			relay(direction, sizes[test_rand_below(&f.rand, 5)]);
		else
			relay(direction, (uint16_t)test_rand_below(&f.rand, 200));
		if (i % 7 == 0)
			check();
	}
	check();
}

// A leg whose counts overflow changes neither the other leg nor the time next to them.
static void one_leg_leaves_the_other(void **state)
{
	const struct turn_line *l;

	relay(2, 77);
	relay(0, 33);
	l = &turn_shard_lines(f.shard)[f.burst.view[0].slot];
	for (unsigned int leg = 0; leg < 2; leg++) {
		const uint16_t until = l->until;

		for (unsigned int i = 0; i < 300; i++) {
			relay(leg == 0 ? 0 : 2, i % 2 == 0 ? 0 : 2047);
			check();
			assert_int_equal(l->until, until);
		}
		for (unsigned int i = 0; i < 300; i++)
			relay(leg == 0 ? 0 : 2, leg == 0 ? 2047 : 65535);
		check();
		assert_int_equal(l->until, until);
	}
}

static void losses_have_classes(void **state)
{
	const struct endpoint stranger = fixture_endpoint("10.99.0.77", 9);
	const struct endpoint denied = fixture_endpoint("127.0.0.1", 9);
	static const uint8_t keepalive[] = {0, 0x11, 0, 0, 0x21, 0x12, 0xa4, 0x42, [19] = 1};

	lost(TURN_LOSS_PERMISSION, TURN_DROP_PEER_NO_PERMISSION,
		fixture_from_peer(&f, &ivan.relay, &stranger, data, 10));
	lost(TURN_LOSS_PERMISSION, TURN_DROP_NO_PERMISSION, send_to(&stranger, 10));
	lost(TURN_LOSS_PERMISSION, TURN_DROP_NO_PERMISSION, send_to(&denied, 10));
	lost(TURN_LOSS_PERMISSION, TURN_DROP_CHANNEL_UNBOUND,
		fixture_channel_data(&f, &ivan, CHANNEL + 1, data, 10));
	lost(TURN_LOSS_SIZE, TURN_DROP_PEER_OVERSIZE,
		fixture_from_peer(&f, &ivan.relay, &second, data, 65530));
	lost(TURN_LOSS_OTHER, TURN_DROP_CHANNEL_LENGTH,
		fixture_from_client(&f, &ivan, "\x40\0\0\7xxx", 7));
	lost(TURN_LOSS_OTHER, TURN_DROP_NOT_TURN, fixture_from_client(&f, &ivan, "\x04x", 2));
	assert_int_equal(fixture_drop(fixture_from_client(&f, &ivan, keepalive, sizeof(keepalive))),
		TURN_DROP_KEEPALIVE);
	check();
}

// A datagram lost after it was counted was not relayed, even if its count has overflowed meanwhile.
static void late_losses_are_subtracted(void **state)
{
	struct turn_relayed r = {.slot = 0, .bytes = 0};

	for (unsigned int i = 0; i < 5000; i++) {
		const unsigned int leg = test_rand_below(&f.rand, 2);

		r = (struct turn_relayed){
			.bytes = (uint16_t)test_rand_below(&f.rand, 2048), .leg = (uint8_t)leg};
		relay(leg == 0 ? 0 : 2, r.bytes);
		r.slot = f.burst.view[0].slot;
		for (unsigned int k = test_rand_below(&f.rand, 3); k > 0; k--)
			relay(leg == 0 ? 0 : 2, leg == 0 ? 2047 : 65535);
		turn_usage_lost(f.shard, &r, TURN_LOSS_WAY);
		expected.leg[leg].datagrams--;
		expected.leg[leg].bytes -= r.bytes;
		expected.lost[TURN_LOSS_WAY]++;
		check();
	}
}

// The next allocation of a slot begins at zero.
static void the_next_allocation_begins_at_zero(void **state)
{
	const struct endpoint relay_addr = ivan.relay;

	for (unsigned int i = 0; i < 200; i++)
		relay(i % 4, 1000);
	lost(TURN_LOSS_OTHER, TURN_DROP_NOT_TURN, fixture_from_client(&f, &ivan, "\x04x", 2));
	check();
	do {
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
		fixture_advance(&f, 1000);
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	} while (!endpoint_eq(&ivan.relay, &relay_addr));
	expected = (struct turn_usage){0};
	check();
}

// A count that stops at its maximum.
static void losses_stop(void **state)
{
	const uint32_t slot = (relay(0, 1), f.burst.view[0].slot);

	f.shard->usage[slot].lost[TURN_LOSS_OTHER] = UINT16_MAX - 1;
	for (unsigned int i = 0; i < 3; i++)
		fixture_from_client(&f, &ivan, "\x04x", 2);
	assert_int_equal(usage().lost[TURN_LOSS_OTHER], UINT16_MAX);
}

// --- the time of a copy --------------------------------------------------------------------------

static bool vouches(void)
{
	const struct turn_view *v = &f.burst.view[0];

	fixture_channel_data(&f, &ivan, CHANNEL, data, 10);
	if (v->slot == TURN_NONE)
		return false;
	return turn_line_vouches(&turn_shard_lines(f.shard)[v->slot], v, TURN_FROM_CLIENT,
		(uint32_t)(f.now_ms / TURN_LINE_MS));
}

static void open_for_a_day(void)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.limits.lifetime_max_s = 86400;
	c.nonce_lifetime_s = 86400;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&f.w, STUN_LIFETIME, 86400);
	fixture_sign(&f, &ivan);
	assert_int_equal(fixture_ask(&f, &ivan), 0);
	ivan.relay = fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS);
	assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, "10.99.0.9", 7000), 0);
}

// No request renews the channel: in no second while its time wraps three times may the line match.
static void no_copy_comes_round(void **state)
{
	uint64_t began;

	open_for_a_day();
	began = f.now_ms;
	assert_true(vouches());
	while (f.now_ms < began + 3 * ROUND_MS) {
		fixture_advance(&f, 1000);
		fixture_expire(&f);
		if (f.now_ms < began + 600 * 1000)
			continue;
		assert_false(vouches()); // RFC 8656 12: 600 seconds, unless refreshed
		assert_int_not_equal(fixture_drop(&f.burst.plan), TURN_OK);
	}
}

// The process was suspended for half a cycle of the time, and for a whole one: 35 and 70 minutes.
static void no_copy_survives_a_standstill(void **state)
{
	for (unsigned int i = 1; i < 9; i++) {
		open_for_a_day();
		assert_true(vouches());
		fixture_advance(&f, i * ROUND_MS / 4);
		assert_false(vouches());
	}
}

// A copy made at any time, including those whose low half is 0, is valid to the tick, and no
// longer.
static void copies_are_exact_at_any_time(void **state)
{
	open_for_a_day();
	fixture_advance(&f, ROUND_MS - f.now_ms % ROUND_MS - 610 * 1000);
	for (unsigned int i = 0; i < 400; i++) {
		uint64_t end_ms;
		const struct turn_view *v = &f.burst.view[0];
		const struct turn_line *l;

		fixture_advance(&f, TURN_LINE_MS);
		fixture_expire(&f);
		assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, "10.99.0.9", 7000), 0);
		end_ms = f.now_ms + 600 * 1000;
		assert_true(vouches());
		l = &turn_shard_lines(f.shard)[v->slot];
		assert_int_not_equal(l->until, 0); // the data path would take it for no copy
		assert_true(turn_line_vouches(
			l, v, TURN_FROM_CLIENT, (uint32_t)((end_ms - 128) / TURN_LINE_MS)));
		assert_false(turn_line_vouches(
			l, v, TURN_FROM_CLIENT, (uint32_t)(end_ms / TURN_LINE_MS)));
	}
}

// A permission that is kept alive for a day: the line relays the channel all the time.
static void good_for_a_day(void **state)
{
	open_for_a_day();
	for (unsigned int s = 0; s < 86000; s += 250) {
		assert_true(vouches());
		fixture_advance(&f, 250 * 1000);
		fixture_expire(&f);
		assert_true(vouches());
		assert_int_equal(fixture_bind(&f, &ivan, CHANNEL, "10.99.0.9", 7000), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			counts_are_exact_in_each_direction, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(one_leg_leaves_the_other, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(losses_have_classes, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			late_losses_are_subtracted, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			the_next_allocation_begins_at_zero, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(losses_stop, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(no_copy_comes_round, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			no_copy_survives_a_standstill, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			copies_are_exact_at_any_time, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(good_for_a_day, setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
