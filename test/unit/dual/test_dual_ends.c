// SPDX-License-Identifier: BSD-3-Clause
// Other events than requests that end both halves of a dual allocation: an operator, a reload, a
// lost connection, shutdown. Their listings and events.
#include "dual_world.h"
#include "alloc.h"
#include "turn_judge.h"
#include "turn_listing.h"

static struct dual_world w;

static int setup(void **state)
{
	struct turn_config c = fixture_config();

	*state = &w;
	dual_world_open(&w, &c);
	return 0;
}

static void many(unsigned int nb)
{
	for (unsigned int i = 0; i < nb; i++) {
		w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
		assert_int_equal(dual_world_allocate(&w), 0);
	}
}

static void a_listing_has_both(void **state)
{
	struct turn_filter all = {0};
	struct turn_info rows[4];
	struct turn_walk walk = {0};
	struct turn_detail detail;

	many(1);
	assert_int_equal(turn_listing_rows(w.f.shard, &all, &walk, rows, 4), 2);
	assert_true(rows[0].id != rows[1].id);
	assert_true(endpoint_eq(&rows[0].relay, &w.v4) && endpoint_eq(&rows[1].relay, &w.v6));
	for (int i = 0; i < 2; i++) {
		assert_true(endpoint_eq(&rows[i].client, &w.ivan.endpoint));
		assert_string_equal(rows[i].user, "ivan");
		assert_true(rows[i].sibling == rows[1 - i].id);
		assert_true(turn_listing_show(w.f.shard, rows[i].id, 0, &detail));
		assert_true(detail.info.sibling == rows[1 - i].id);
	}
	assert_int_equal(dual_world_refresh(&w, 4, 0), 0);
	walk = (struct turn_walk){0};
	assert_int_equal(turn_listing_rows(w.f.shard, &all, &walk, rows, 4), 1);
	assert_true(rows[0].sibling == 0);
}

static void a_kill_ends_both(void **state)
{
	for (int which = 0; which < 2; which++) {
		struct turn_filter by_id = {.wants = TURN_FILTER_ID}, all = {0};
		struct turn_info rows[4];
		struct turn_walk walk = {0}, kill = {0};

		many(1);
		assert_int_equal(turn_listing_rows(w.f.shard, &all, &walk, rows, 4), 2);
		by_id.id = rows[which].id;
		assert_int_equal(turn_listing_kill(w.f.shard, &by_id, &kill, 1), 0); // no room
		assert_false(kill.end);
		assert_int_equal(turn_listing_kill(w.f.shard, &by_id, &kill, 2), 2);
		assert_int_equal(fixture_stats(&w.f).allocations, 0);
		assert_int_equal(dual_world_refresh(&w, 0, 600), 437);
		assert_int_equal(turn_quota_total(w.f.quota), 0);
		fixture_advance(&w.f, 1);
	}
	assert_int_equal(w.f.told.ended[TURN_END_KILLED], 4);
}

static void a_kill_of_many_is_bounded(void **state)
{
	struct turn_filter all = {0};
	struct turn_walk walk = {0};
	unsigned int ended = 0, calls = 0;

	many(50);
	for (; !walk.end; calls++) {
		const unsigned int n = turn_listing_kill(w.f.shard, &all, &walk, 5);

		assert_true(n <= 5 && calls < 100);
		ended += n;
	}
	assert_int_equal(ended, 100);
	assert_int_equal(turn_quota_total(w.f.quota), 0);
}

static unsigned int reload(const struct turn_config *c, bool lower)
{
	static const uint8_t key[32];
	struct turn_policy *fresh = turn_policy_create(c, w.f.crypto, key);
	struct turn_judge *j = turn_judge_create(w.f.policy, fresh, w.f.quota, lower);
	struct turn_walk walk = {0};
	unsigned int ended = 0, calls = 0;

	assert_true(fresh != NULL && j != NULL);
	turn_shard_set_policy(w.f.shard, fresh);
	turn_policy_free(w.f.policy);
	w.f.policy = fresh;
	for (; !walk.end; calls++) {
		const unsigned int max = 1 + calls % 3;
		const unsigned int n = turn_judge_walk(w.f.shard, j, &walk, max);

		assert_true(n <= max && calls < 1000);
		ended += n;
	}
	turn_judge_free(j);
	return ended;
}

static void a_denied_peer_of_one_ends_both(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		const char *peer = family == 4 ? "10.98.0.7" : "fd99::7";
		struct turn_config c = w.f.config;
		struct prefix deny;

		many(3);
		assert_int_equal(fixture_permit(&w.f, &w.ivan, peer), 0); // of the last peer
		assert_int_equal(addr_prefix_parse(peer, &deny), 0);
		c.deny = &deny;
		c.nb_deny = 1;
		assert_int_equal(reload(&c, false), 2);
		assert_int_equal(dual_world_refresh(&w, 0, 600), 437);
		assert_int_equal(fixture_stats(&w.f).allocations, 4);
		assert_int_equal(reload(&w.f.config, false), 0);
		for (uint16_t i = 0; i < 2; i++) {
			w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
			assert_int_equal(dual_world_refresh(&w, 0, 0), 0);
		}
		fixture_advance(&w.f, 1);
	}
}

static void a_lower_limit_ends_whole_ones(void **state)
{
	struct turn_config c = w.f.config;

	many(4); // 8
	c.limits.per_user = 5;
	assert_int_equal(reload(&c, true), 4);
	assert_int_equal(turn_quota_total(w.f.quota), 4);
	assert_int_equal(w.f.told.ended[TURN_END_QUOTA], 4);
}

// The end of a connection, as lib/dp reports it.
static void a_client_that_is_gone_ends_both(void **state)
{
	for (int family = 4; family <= 6; family += 2) {
		struct turn_view v;
		uint32_t left_ms, slot;

		many(1);
		fixture_advance(&w.f, 100000);
		assert_int_equal(dual_world_refresh(&w, family, 700), 0);
		v = (struct turn_view){
			.src = w.ivan.endpoint.addr, .src_port = w.ivan.endpoint.port};
		slot = turn_shard_client(w.f.shard, &v, &left_ms);
		assert_int_not_equal(slot, TURN_NONE);
		assert_int_equal(left_ms, 700000); // a lease lasts as long as the longer half
		fixture_advance(&w.f, 600000); // the other half has expired
		slot = turn_shard_client(w.f.shard, &v, &left_ms);
		assert_int_not_equal(slot, TURN_NONE);
		assert_int_equal(left_ms, 100000);
		alloc_end_client(w.f.shard, slot, TURN_END_CONNECTION);
		assert_int_equal(fixture_stats(&w.f).allocations, 0);
		assert_int_equal(turn_shard_client(w.f.shard, &v, &left_ms), TURN_NONE);
		fixture_advance(&w.f, 1);
	}
}

// A redirect leads to the client while one of the two lives.
static void redirects_last_as_long_as_the_longer_one(void **state)
{
	struct turn_redirect_note note[8];
	unsigned int n;

	w.f.via = 3;
	many(1);
	turn_redirect_notes(w.f.shard, note, 8);
	assert_int_equal(dual_world_refresh(&w, 6, 900), 0);
	n = turn_redirect_notes(w.f.shard, note, 8);
	assert_true(n > 0);
	assert_int_equal(note[n - 1].until_ms, w.f.now_ms + 900000);
	assert_int_equal(dual_world_refresh(&w, 4, 0), 0);
	n = turn_redirect_notes(w.f.shard, note, 8);
	assert_true(n > 0);
	assert_int_equal(note[n - 1].until_ms, w.f.now_ms + 900000);
	assert_int_equal(dual_world_refresh(&w, 6, 0), 0);
	n = turn_redirect_notes(w.f.shard, note, 8);
	assert_true(n > 0);
	assert_int_equal(note[n - 1].until_ms, 0);
}

// Ends allocations by the policy or by an operator, in pieces like a worker. Returns the number
// ended in one piece.
static unsigned int piece(const struct turn_judge *j, struct turn_walk *walk)
{
	const struct turn_filter all = {0};

	return j != NULL ? turn_judge_walk(w.f.shard, j, walk, 1000)
			 : turn_listing_kill(w.f.shard, &all, walk, 1000);
}

// The holder of a redirect is notified of every end, however many there are at once and whatever
// notes were waiting.
static void no_report_of_an_end_is_lost(void **state)
{
	static const uint8_t key[32];
	struct turn_config c = w.f.config;
	struct turn_redirect_note note[256];

	c.first.nb_users = 0; // without ivan
	for (unsigned int killed = 0; killed < 2; killed++) {
		struct turn_policy *fresh = turn_policy_create(&c, w.f.crypto, key);
		struct turn_judge *j = turn_judge_create(w.f.policy, fresh, w.f.quota, false);
		struct turn_walk walk = {0};
		unsigned int ended = 0, told = 0;

		w.f.via = 3;
		for (uint16_t i = 0; i < 100; i++) {
			w.ivan = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
			assert_int_equal(dual_world_allocate(&w), 0);
			if (i < 60)
				turn_redirect_notes(w.f.shard, note, 256);
		}
		for (unsigned int calls = 0; !walk.end; calls++) {
			unsigned int n;

			assert_true(calls < 100);
			ended += piece(killed == 0 ? j : NULL, &walk);
			n = turn_redirect_notes(w.f.shard, note, 256);
			for (unsigned int i = 0; i < n; i++)
				told += note[i].until_ms == 0;
		}
		assert_int_equal(ended, 200);
		assert_int_equal(told, 100);
		turn_judge_free(j);
		turn_policy_free(fresh);
		fixture_advance(&w.f, 1);
	}
}

#ifdef FEATURE_SHARED
// Shared relay ports have both families, too.
static void shared_ports(void **state)
{
	struct turn_config c = fixture_config();
	const struct endpoint peer = fixture_endpoint("fd99::9", 7000);

	c.shared.enabled = true;
	c.limits.allocations = 100;
	c.shared.peers = 8;
	c.shared.peer_share = 100;
	c.port_lo = 3480;
	c.port_hi = 3483;
	fixture_close(&w.f);
	dual_world_open(&w, &c);
	many(2);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4000, "10.99.0.9", 7000), 0);
	assert_int_equal(fixture_bind(&w.f, &w.ivan, 0x4001, "fd99::9", 7000), 0);
	assert_int_equal(
		fixture_channel_data(&w.f, &w.ivan, 0x4001, "media", 5)->verdict, TURN_RELAY);
	assert_int_equal(fixture_from_peer(&w.f, &w.v6, &peer, "media", 5)->channel, 0x4001);
	assert_int_equal(fixture_stats(&w.f).endpoints, 2);
	assert_int_equal(dual_world_refresh(&w, 6, 0), 0);
	assert_int_equal(fixture_stats(&w.f).endpoints, 1);
	assert_int_equal(dual_world_refresh(&w, 0, 0), 0);
	assert_int_equal(fixture_stats(&w.f).endpoints, 0);
	assert_int_equal(fixture_stats(&w.f).allocations, 2);
}
#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, dual_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_listing_has_both),
		TEST(a_kill_ends_both),
		TEST(a_kill_of_many_is_bounded),
		TEST(a_denied_peer_of_one_ends_both),
		TEST(a_lower_limit_ends_whole_ones),
		TEST(a_client_that_is_gone_ends_both),
		TEST(redirects_last_as_long_as_the_longer_one),
		TEST(no_report_of_an_end_is_lost),
#ifdef FEATURE_SHARED
		TEST(shared_ports),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
