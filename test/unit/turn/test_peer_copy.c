// SPDX-License-Identifier: BSD-3-Clause
// A line with the copy of a peer without a channel: each field that it checks, for the client's
// Send indications and the peer's datagrams.
#include "turn_fixture.h"

#include "bytes.h"

#define DATA_LEN 22

static struct fixture f;
static struct fixture_client ivan;
static struct endpoint peer;
static uint8_t message[256];
static uint16_t message_len;

static uint32_t tick(void)
{
	return (uint32_t)(f.now_ms / TURN_LINE_MS);
}

// A view of each leg, as the data path makes it, and the line of the allocation.
static struct turn_view from_client(void)
{
	struct turn_view v;

	fixture_from_client(&f, &ivan, message, message_len);
	v = f.burst.view[0];
	v.data = message; // the buffer is static
	return v;
}

static struct turn_view from_peer(void)
{
	struct turn_view v;

	fixture_from_peer(&f, &ivan.relay, &peer, message, DATA_LEN);
	v = f.burst.view[0];
	v.data = message;
	return v;
}

static struct turn_line *line(void)
{
	return &turn_shard_lines(f.shard)[from_client().slot];
}

static bool sends(const struct turn_line *l, const struct turn_view *v, uint32_t now_tick)
{
	uint32_t len = 0;
	const bool usual =
		turn_line_vouches_peer(l, v, v->leg, now_tick) && turn_line_send(l, v, true, &len);

	assert_true(!usual || len == DATA_LEN);
	return usual;
}

static bool answers(const struct turn_view *v, uint32_t now_tick)
{
	const struct turn_line *l = &turn_shard_lines(f.shard)[v->slot];
	struct stun_usual_front front;

	if (!turn_line_vouches_peer(l, v, v->leg, now_tick) || !turn_line_data_fits(v))
		return false;
	front = turn_line_data(turn_shard_tids(f.shard), l, v, true);
	assert_int_equal(front.data, STUN_DATA_WORD | (uint32_t)__builtin_bswap16(v->len) << 16);
	return true;
}

static int setup(void **state)
{
	const struct turn_config c = fixture_config();
	struct stun_writer w;

	*state = &f;
	fixture_open(&f, &c, 9);
	ivan = fixture_client("198.51.100.7", 5000);
	peer = fixture_endpoint("10.99.0.9", 7000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	stun_begin(&w, message, sizeof(message), STUN_INDICATION, STUN_SEND,
		(const uint8_t *)"transaction!");
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&w, STUN_DATA_ATTR, "twenty-two bytes of it", DATA_LEN);
	message_len = stun_end(&w);
	return 0;
}

static void a_send_of_this_client_on_this_listener(void **state)
{
	const struct turn_view good = from_client();
	const struct turn_line *l = line();

	assert_true(sends(l, &good, tick()));
	for (unsigned int bit = 0; bit < 128; bit++) {
		struct turn_view v = good;

		v.src.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(sends(l, &v, tick()));
	}
	for (unsigned int bit = 0; bit < 32; bit++) { // port, listener, and the live flag
		struct turn_view v = good;

		v.mark ^= UINT32_C(1) << bit;
		assert_false(sends(l, &v, tick()));
	}
}

static void a_datagram_of_this_peer(void **state)
{
	const struct turn_view good = from_peer();

	assert_true(answers(&good, tick()));
	for (unsigned int bit = 0; bit < 128; bit++) {
		struct turn_view v = good;

		v.src.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(answers(&v, tick()));
	}
	for (unsigned int bit = 0; bit < 16; bit++) {
		struct turn_view v = good;

		v.src_port ^= (uint16_t)(1 << bit);
		assert_false(answers(&v, tick()));
	}
}

// Not a millisecond longer than the permission (RFC 8656 9), despite the coarse units of a line.
static void no_longer_than_the_permission(void **state)
{
	const uint64_t end_ms = f.now_ms + 300 * 1000;
	const struct turn_view up = from_client(), down = from_peer();

	assert_true(sends(line(), &up, (uint32_t)((end_ms - 64) / TURN_LINE_MS)));
	assert_true(answers(&down, (uint32_t)((end_ms - 64) / TURN_LINE_MS)));
	assert_false(sends(line(), &up, (uint32_t)(end_ms / TURN_LINE_MS)));
	assert_false(answers(&down, (uint32_t)(end_ms / TURN_LINE_MS)));
}

static void no_longer_than_the_allocation(void **state)
{
	const uint64_t end_ms = f.now_ms + 600 * 1000;
	struct turn_view up, down;

	fixture_advance(&f, 500 * 1000);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	up = from_client();
	down = from_peer();
	assert_true(sends(line(), &up, (uint32_t)((end_ms - 64) / TURN_LINE_MS)));
	assert_false(sends(line(), &up, (uint32_t)(end_ms / TURN_LINE_MS)));
	assert_false(answers(&down, (uint32_t)(end_ms / TURN_LINE_MS)));
}

// A channel for this or another peer occupies the line. Indications are then rejected, and the
// peer's data must have the channel's header.
static void not_with_a_channel(void **state)
{
	const struct turn_view up = from_client(), down = from_peer();

	assert_true(sends(line(), &up, tick()) && answers(&down, tick()));
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_false(sends(line(), &up, tick()));
	assert_false(answers(&down, tick()));
	assert_true(turn_line_vouches(line(), &down, TURN_FROM_PEER, tick()));
	assert_int_equal(fixture_bind(&f, &ivan, 0x4001, "10.99.0.10", 7000), 0);
	assert_false(sends(line(), &up, tick()));
	assert_false(answers(&down, tick()));
}

// Once the channel has expired, the line is free again for its peer or another one.
static void again_when_the_channel_has_gone(void **state)
{
	struct turn_view up, down;

	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	fixture_advance(&f, 599 * 1000);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	fixture_advance(&f, 1000);
	fixture_expire(&f);
	up = from_client();
	down = from_peer();
	assert_true(sends(line(), &up, tick()));
	assert_true(answers(&down, tick()));
}

// A channel that may not be in a line, because its peer is one of our own addresses, leaves the
// line free; but not for a peer that has a channel, because its data must use that channel.
static void not_for_a_peer_with_a_channel(void **state)
{
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.1", 50001), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4001, "10.99.0.9", 7000), 0);
	for (unsigned int i = 0; i < 40; i++) {
		const struct turn_view up = from_client();

		assert_false(sends(line(), &up, tick()));
	}
	fixture_from_peer(&f, &ivan.relay, &peer, "x", 1);
	assert_int_equal(f.burst.plan.verdict, TURN_RELAY);
	assert_int_equal(f.burst.plan.front_len, CHANNEL_HEADER_LEN);
	assert_int_equal(f.burst.plan.channel, 0x4001);
}

static void not_when_it_has_ended(void **state)
{
	const struct turn_view up = from_client(), down = from_peer();
	const struct turn_line *l = line();

	assert_true(sends(l, &up, tick()));
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_false(sends(l, &up, tick()));
	assert_false(answers(&down, tick()));
	// another client, if it may use the slot
	fixture_advance(&f, 1);
	for (unsigned int i = 0; i < 300; i++) {
		struct fixture_client eve = fixture_client("198.51.100.8", (uint16_t)(6000 + i));

		if (fixture_allocate(&f, &eve, 4) != 0)
			break;
		assert_false(sends(l, &up, tick()));
		assert_false(answers(&down, tick()));
	}
}

// A datagram too long for a Data indication: the length field would overflow.
static void not_a_datagram_that_is_too_long(void **state)
{
	struct turn_view v = from_peer();

	v.len = UINT16_MAX - 64;
	assert_true(answers(&v, tick()));
	v.len++;
	assert_false(answers(&v, tick()));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_send_of_this_client_on_this_listener),
		T(a_datagram_of_this_peer),
		T(no_longer_than_the_permission),
		T(no_longer_than_the_allocation),
		T(not_with_a_channel),
		T(again_when_the_channel_has_gone),
		T(not_for_a_peer_with_a_channel),
		T(not_when_it_has_ended),
		T(not_a_datagram_that_is_too_long),
	};

	return cmocka_run_group_tests_name("peer_copy", tests, NULL, NULL);
}
