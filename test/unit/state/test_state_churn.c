// SPDX-License-Identifier: BSD-3-Clause
// Clients arrive, bind channels, refresh and leave at random, while the server is restarted
// repeatedly with other numbers of workers. Each client's state is compared with a list of its
// grants, and redirects are compared with the allocations that live away from home. TEST_SEED=n
// repeats a run.
#include "restart_world.h"

#include <stdio.h>

#define CLIENTS 60
#define STEPS 30000
#define LIFETIME_S 600
#define PERMISSION_MS 300000 // RFC 8656 9
#define CHANNEL_MS 600000 // RFC 8656 12, and the permission that a ChannelBind makes
#define CHANNEL 0x4001
#define SWEEP_MS 16 // greatest delay of a sweep: a tick of the timers

// Objects granted to a client; times are of CLOCK_BOOTTIME.
struct granted {
	uint64_t expires_ms, permission_ms, channel_ms;
	struct endpoint relay;
};

static struct restart r;
static struct turn_config config;
static struct test_rand rnd;
static struct fixture_client client[CLIENTS];
static struct granted granted[CLIENTS];
static uint64_t restarts, taken_up, relayed, most_redirects;

static uint32_t below(uint32_t bound)
{
	return test_rand_below(&rnd, bound);
}

static struct fixture *find_fixture(unsigned int i)
{
	return restart_at(&r, &client[i]);
}

static bool lives(unsigned int i)
{
	return r.boot_ms < granted[i].expires_ms;
}

static void allocate(unsigned int i)
{
	const bool has = lives(i);

	assert_int_equal(fixture_allocate(find_fixture(i), &client[i], 4), has ? 437 : 0);
	if (!has)
		granted[i] = (struct granted){
			.expires_ms = r.boot_ms + LIFETIME_S * 1000, .relay = client[i].relay};
}

static void refresh(unsigned int i)
{
	const uint32_t lifetime_s = below(3) ? LIFETIME_S : 0;

	assert_int_equal(
		fixture_refresh(find_fixture(i), &client[i], lifetime_s), lives(i) ? 0 : 437);
	if (lives(i))
		granted[i].expires_ms = lifetime_s > 0 ? r.boot_ms + LIFETIME_S * 1000 : 0;
}

// Ends the client's allocation and asks for another one at once: both requests are on their way to
// the old worker before the client's home hears of either.
static void allocate_anew(unsigned int i)
{
	struct fixture *f = find_fixture(i);

	assert_int_equal(fixture_refresh(f, &client[i], 0), lives(i) ? 0 : 437);
	assert_int_equal(fixture_allocate(f, &client[i], 4), 0);
	granted[i] = (struct granted){
		.expires_ms = r.boot_ms + LIFETIME_S * 1000, .relay = client[i].relay};
}

static void bind(unsigned int i)
{
	assert_int_equal(fixture_bind(find_fixture(i), &client[i], CHANNEL, "10.98.0.1", 7000),
		lives(i) ? 0 : 437);
	granted[i].permission_ms = granted[i].channel_ms = r.boot_ms + CHANNEL_MS;
}

static void permit(unsigned int i)
{
	assert_int_equal(
		fixture_permit(find_fixture(i), &client[i], "10.98.0.1"), lives(i) ? 0 : 437);
	if (granted[i].permission_ms < r.boot_ms + PERMISSION_MS)
		granted[i].permission_ms = r.boot_ms + PERMISSION_MS;
}

// A datagram in each direction, which must pass while permission and channel last, and no longer.
static void relay(unsigned int i)
{
	const struct endpoint peer = fixture_endpoint("10.98.0.1", 7000);
	const struct granted *g = &granted[i];
	const bool permitted = lives(i) && r.boot_ms < g->permission_ms;
	const bool bound = lives(i) && r.boot_ms < g->channel_ms;
	const struct turn_plan *plan =
		fixture_channel_data(find_fixture(i), &client[i], CHANNEL, "hello", 5);

	assert_int_equal(plan->verdict == TURN_RELAY, bound);
	if (!lives(i))
		return;
	assert_ptr_equal(find_fixture(i), restart_owner(&r, &g->relay));
	plan = fixture_from_peer(find_fixture(i), &g->relay, &peer, "hello", 5);
	assert_int_equal(plan->verdict == TURN_RELAY, permitted);
	assert_int_equal(plan->verdict == TURN_RELAY && plan->channel == CHANNEL, bound);
	relayed += permitted;
}

static void sweep(uint32_t ms)
{
	restart_advance(&r, ms);
	for (unsigned int w = 0; w < r.nb; w++)
		while (turn_shard_expire(r.worker[w].shard))
			restart_notes(&r);
	restart_notes(&r);
}

static void restart(void)
{
	config.workers = 1 + below(RESTART_WORKERS);
	restart_again(&r, &config, below(4) ? below(3000) : below(200000));
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		assert_true(i == TURN_STATE_LOST_EXPIRED || r.adopted.lost[i] == 0);
	restarts++;
	taken_up += r.adopted.allocations;
}

// True if some allocation has ended so recently that it may not have been swept.
static bool is_just_over(void)
{
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (!lives(i) && r.boot_ms < granted[i].expires_ms + SWEEP_MS)
			return true;
	return false;
}

// Each allocation that lives away from its client's home has a redirect there; there are no other
// redirects.
static void judge(void)
{
	uint64_t allocations = 0, redirects = 0, live = 0, away = 0;

	while (is_just_over())
		sweep(SWEEP_MS);
	for (unsigned int w = 0; w < r.nb; w++) {
		const struct turn_stats s = fixture_stats(&r.worker[w]);

		allocations += s.allocations;
		redirects += s.redirects;
	}
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const uint64_t hash = turn_client_hash(&r.keys.clients, &client[i].endpoint.addr,
			client[i].endpoint.port | (uint32_t)client[i].listener << 16);

		live += lives(i);
		away += lives(i) &&
			&r.worker[turn_client_home(hash, r.nb)] !=
				restart_owner(&r, &granted[i].relay);
	}
	assert_int_equal(allocations, live);
	assert_int_equal(redirects, away);
	assert_int_equal(turn_quota_total(r.worker[0].quota), live);
	most_redirects = redirects > most_redirects ? redirects : most_redirects;
}

static void step(void)
{
	static void (*const does[])(unsigned int) = {
		allocate, allocate, refresh, allocate_anew, bind, permit, relay, relay, relay};
	const unsigned int i = below(CLIENTS);

	does[below(sizeof(does) / sizeof(does[0]))](i);
	restart_notes(&r);
	restart_advance(&r, below(10) ? below(500) : below(20000));
	sweep(SWEEP_MS);
	if (below(200) == 0) {
		restart();
		sweep(SWEEP_MS);
	}
	if (below(100) == 0)
		judge();
}

static void test_churn(void **state)
{
	rnd = test_rand_start("state churn");
	config = fixture_config();
	config.nonce_lifetime_s = 86400 * 30;
	config.limits.lifetime_max_s = LIFETIME_S;
	restart_open(&r, &config, test_rand(&rnd));
	for (unsigned int i = 0; i < CLIENTS; i++)
		client[i] = fixture_client("198.51.100.1", (uint16_t)(5000 + i));
	for (unsigned int i = 0; i < STEPS; i++)
		step();
	printf("%llu restarts, %llu allocations taken up, %llu datagrams relayed, at most %llu "
	       "redirects\n",
		(unsigned long long)restarts, (unsigned long long)taken_up,
		(unsigned long long)relayed, (unsigned long long)most_redirects);
	assert_true(taken_up > restarts && relayed > STEPS / 20 && most_redirects > 5);
	restart_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_churn)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
