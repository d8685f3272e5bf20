// SPDX-License-Identifier: BSD-3-Clause
// Permissions, channels and data of a dual allocation (RFC 8656 8.1, 9 to 12): peers of both
// families on one 5-tuple, and which of them end with one half or stay with the other.
#include "dual_world.h"

#include "shard.h"
#include "stun.h"

#define PEER_V4 "10.99.0.9"
#define PEER_V6 "fd99::9"

static struct dual_world w;

static int setup(void **state)
{
	const struct turn_config c = fixture_config();

	*state = &w;
	dual_world_open(&w, &c);
	assert_int_equal(dual_world_allocate(&w), 0);
	return 0;
}

static const struct endpoint *relay_of(int family)
{
	return family == 4 ? &w.v4 : &w.v6;
}

static const char *peer_of(int family)
{
	return family == 4 ? PEER_V4 : PEER_V6;
}

// Sends to a peer by a Send indication, and back: both through the relayed transport address of its
// family.
static void check_relays(int family)
{
	const struct endpoint peer = fixture_endpoint(peer_of(family), 7000);
	struct endpoint e;

	dual_world_send(&w, peer_of(family), 7000);
	e = dual_world_src(&w);
	assert_true(endpoint_eq(&e, relay_of(family)));
	e = dual_world_dst(&w);
	assert_true(endpoint_eq(&e, &peer));
	fixture_from_peer(&w.f, relay_of(family), &peer, "media", 5);
	e = dual_world_dst(&w);
	assert_true(endpoint_eq(&e, &w.ivan.endpoint));
	e = dual_world_src(&w);
	assert_true(endpoint_eq(&e, &w.f.config.listeners[0].endpoint));
}

static void check_channel(uint16_t number, int family)
{
	const struct endpoint peer = fixture_endpoint(peer_of(family), 7000);
	struct endpoint e;

	assert_int_equal(
		fixture_channel_data(&w.f, &w.ivan, number, "media", 5)->verdict, TURN_RELAY);
	e = dual_world_src(&w);
	assert_true(endpoint_eq(&e, relay_of(family)));
	e = dual_world_dst(&w);
	assert_true(endpoint_eq(&e, &peer));
	assert_int_equal(
		fixture_from_peer(&w.f, relay_of(family), &peer, "media", 5)->channel, number);
}

static void one_request_permits_peers_of_both(void **state)
{
	static const char *const both[] = {PEER_V6, PEER_V4, PEER_V6, "fd99::a", NULL};

	assert_int_equal(dual_world_permit(&w, both), 0);
	assert_int_equal(fixture_stats(&w.f).permissions, 3);
	check_relays(4);
	check_relays(6);
}

// A request that is refused for one peer creates no permission, of either family (RFC 8656 10.2).
static void permissions_come_all_or_none(void **state)
{
	static const char *const denied[] = {PEER_V4, PEER_V6, "127.0.0.1", NULL};
	static const char *const denied6[] = {PEER_V4, PEER_V6, "fc00::1", NULL};

	assert_int_equal(dual_world_permit(&w, denied), 403);
	assert_int_equal(dual_world_permit(&w, denied6), 403);
	assert_int_equal(fixture_stats(&w.f).permissions, 0);
	dual_world_refresh(&w, 6, 0);
	assert_int_equal(dual_world_permit(&w, (const char *const[]){PEER_V4, PEER_V6, NULL}), 443);
	assert_int_equal(fixture_stats(&w.f).permissions, 0);
}

// Objects of both halves beyond the guaranteed number count for one user and must fit together.
static void both_halves_share_what_their_user_may_have(void **state)
{
	static const char *const two[] = {"10.99.0.1", "10.99.0.2", "fd99::1", "fd99::2", NULL};
	static const char *const one[] = {"10.99.0.1", "10.99.0.2", "fd99::1", NULL};
	struct turn_config c = fixture_config();

	c.pools = (struct turn_pools){.sure_permissions = 1,
		.sure_channels = 1,
		.permissions = 1,
		.channels = 1,
		.per_user = 100};
	c.hairpin = true;
	fixture_close(&w.f);
	dual_world_open(&w, &c);
	assert_int_equal(dual_world_allocate(&w), 0);
	assert_int_equal(dual_world_permit(&w, two), 508); // there is room for each half alone
	assert_int_equal(fixture_stats(&w.f).permissions, 0);
	assert_int_equal(dual_world_permit(&w, one), 0);
	assert_int_equal(dual_world_permit(&w, two), 508);
	assert_int_equal(fixture_stats(&w.f).permissions, 3);
}

static void each_half_has_the_limit_of_an_allocation(void **state)
{
	struct turn_config c = fixture_config();

	c.limits.permissions = 1;
	fixture_close(&w.f);
	dual_world_open(&w, &c);
	assert_int_equal(dual_world_allocate(&w), 0);
	assert_int_equal(dual_world_permit(&w, (const char *const[]){PEER_V4, PEER_V6, NULL}), 0);
	assert_int_equal(
		dual_world_permit(&w, (const char *const[]){PEER_V4, "fd99::a", NULL}), 508);
	assert_int_equal(dual_world_permit(&w, (const char *const[]){"10.99.0.8", NULL}), 508);
	assert_int_equal(fixture_stats(&w.f).permissions, 2);
}

// RFC 8656 12.2: a number is bound to one peer, whatever its family.
static void channel_numbers_are_the_clients(void **state)
{
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4000, PEER_V4, 7000), 0);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4000, PEER_V6, 7000), 400);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4001, PEER_V6, 7000), 0);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4001, PEER_V4, 7000), 400);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4002, PEER_V6, 7000), 400);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4001, PEER_V6, 7000), 0);
	check_channel(0x4000, 4);
	check_channel(0x4001, 6);
	assert_int_equal(fixture_drop(fixture_channel_data(&w.f, &w.ivan, 0x4003, "x", 1)),
		TURN_DROP_CHANNEL_UNBOUND);
	// an expired one is free, whichever half had it
	fixture_advance(&w.f, 590000);
	assert_int_equal(dual_world_refresh(&w, 0, 3600), 0);
	fixture_advance(&w.f, 20000);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4000, PEER_V6, 7001), 0);
}

// RFC 8656 8.1: "it MUST NOT affect any permissions or channels associated with allocations for the
// other address family".
static void deleting_one_leaves_the_others_peers(void **state)
{
	static const char *const both[] = {PEER_V4, PEER_V6, NULL};

	for (int family = 4; family <= 6; family += 2) {
		const int remaining = 10 - family;
		const struct endpoint gone = fixture_endpoint(peer_of(family), 7000);

		if (family == 6)
			assert_int_equal(dual_world_allocate(&w), 0);
		assert_int_equal(dual_world_permit(&w, both), 0);
		assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4004, PEER_V4, 7000), 0);
		assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4006, PEER_V6, 7000), 0);
		check_channel(0x4004, 4);
		check_channel(0x4006, 6);
		assert_int_equal(dual_world_refresh(&w, family, 0), 0);
		check_channel((uint16_t)(0x4000 + remaining), remaining);
		assert_int_equal(fixture_drop(fixture_channel_data(
					 &w.f, &w.ivan, (uint16_t)(0x4000 + family), "x", 1)),
			TURN_DROP_CHANNEL_UNBOUND);
		assert_int_equal(
			fixture_drop(fixture_from_peer(&w.f, relay_of(family), &gone, "x", 1)),
			TURN_DROP_PEER_NO_ALLOCATION);
		assert_int_equal(fixture_drop(dual_world_send(&w, peer_of(family), 7000)),
			TURN_DROP_PEER_DENIED);
		assert_int_equal(fixture_permit(&w.f, &w.ivan, peer_of(family)), 443);
		assert_int_equal(fixture_stats(&w.f).permissions, 1);
		assert_int_equal(fixture_stats(&w.f).channels, 1);
		assert_int_equal(dual_world_refresh(&w, 0, 0), 0);
		fixture_advance(&w.f, 1);
	}
}

// The first half may have expired without being swept.
static void an_expired_half_is_gone_at_once(void **state)
{
	static const char *const both[] = {PEER_V4, PEER_V6, NULL};

	for (int family = 4; family <= 6; family += 2) {
		if (family == 6)
			assert_int_equal(dual_world_allocate(&w), 0);
		fixture_advance(&w.f, 400000);
		assert_int_equal(dual_world_refresh(&w, family, 600), 0);
		assert_int_equal(dual_world_permit(&w, both), 0);
		assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4004, PEER_V4, 7000), 0);
		assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4006, PEER_V6, 7000), 0);
		fixture_advance(&w.f, 200000);
		check_channel((uint16_t)(0x4000 + family), family);
		assert_int_not_equal(fixture_drop(fixture_channel_data(&w.f, &w.ivan,
					     (uint16_t)(0x4000 + 10 - family), "x", 1)),
			TURN_OK);
		assert_int_equal(fixture_drop(dual_world_send(&w, peer_of(10 - family), 7000)),
			TURN_DROP_PEER_DENIED);
		fixture_expire(&w.f);
		check_channel((uint16_t)(0x4000 + family), family);
		fixture_advance(&w.f, 600000);
		assert_int_equal(fixture_drop(dual_world_send(&w, peer_of(family), 7000)),
			TURN_DROP_NO_ALLOCATION);
		fixture_expire(&w.f);
		assert_int_equal(turn_quota_total(w.f.quota), 0);
	}
}

// --- lines ---------------------------------------------------------------------------------------

// True if ChannelData of a number is relayed without a plan.
static bool vouched(uint16_t number)
{
	struct turn_view *v = &w.f.burst.view[0];

	fixture_channel_data(&w.f, &w.ivan, number, "media", 5);
	turn_route_begin(w.f.shard, &w.f.burst);
	return v->slot != TURN_NONE &&
		turn_line_vouches(&turn_shard_lines(w.f.shard)[v->slot], v, TURN_FROM_CLIENT,
			(uint32_t)(w.f.now_ms / TURN_LINE_MS));
}

// The table has the line of the half that the client uses: its datagrams need no plan.
static void lines_follow_the_clients_datagrams(void **state)
{
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4004, PEER_V4, 7000), 0);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4006, PEER_V6, 7000), 0);
	for (int round = 0; round < 4; round++) {
		const uint16_t number = round % 2 == 0 ? 0x4006 : 0x4004;
		unsigned int tries = 0;

		while (!vouched(number))
			assert_true(++tries < 100);
		assert_true(tries > 0);
		check_channel(0x4004, 4);
		check_channel(0x4006, 6);
		// whichever is first, requests concern both, of one user
		assert_int_equal(dual_world_refresh(&w, 0, 600), 0);
		fixture_resend(&w.f, &w.ivan);
		assert_int_equal(fixture_code(&w.f), 0);
	}
}

// Even after many ignored datagrams, if the client uses only the second half.
static void a_steadily_used_half_becomes_the_first(void **state)
{
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4004, PEER_V4, 7000), 0);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4006, PEER_V6, 7000), 0);
	for (uint32_t before = 0; before < 4; before++) {
		const uint16_t number = before % 2 == 0 ? 0x4006 : 0x4004;

		w.f.shard->passed_over = before / 2;
		for (int i = 0; i < 100; i++)
			fixture_channel_data(&w.f, &w.ivan, number, "media", 5);
		assert_true(vouched(number));
	}
}

static void a_retransmission_is_recognized_after_a_swap(void **state)
{
	static uint8_t message[1500];
	const uint16_t len = w.f.burst.view[0].len;
	struct endpoint v4, v6;

	// the Allocate of set-up
	memcpy(message, w.f.burst.view[0].data, len);
	v4 = w.v4;
	v6 = w.v6;
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4006, PEER_V6, 7000), 0);
	for (int i = 0; i < 40; i++)
		fixture_channel_data(&w.f, &w.ivan, 0x4006, "media", 5);
	fixture_from_client(&w.f, &w.ivan, message, len);
	assert_int_equal(fixture_code(&w.f), 0);
	dual_world_read(&w);
	assert_true(endpoint_eq(&w.v4, &v4) && endpoint_eq(&w.v6, &v6));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, dual_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_request_permits_peers_of_both),
		TEST(permissions_come_all_or_none),
		TEST(both_halves_share_what_their_user_may_have),
		TEST(each_half_has_the_limit_of_an_allocation),
		TEST(channel_numbers_are_the_clients),
		TEST(deleting_one_leaves_the_others_peers),
		TEST(an_expired_half_is_gone_at_once),
		TEST(lines_follow_the_clients_datagrams),
		TEST(a_steadily_used_half_becomes_the_first),
		TEST(a_retransmission_is_recognized_after_a_swap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
