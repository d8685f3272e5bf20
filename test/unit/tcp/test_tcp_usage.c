// SPDX-License-Identifier: BSD-3-Clause
// Bytes that TCP allocations relay are counted for them, and are limited by limits.rates, whichever
// threads carry the bytes.
#include "turn_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "addr_text.h"
#include "features/rates/accounts.h"
#include "shard.h"
#include "shard_rows.h"
#include "turn_listing.h"
#include "turn_meter.h"
#include "turn_tcp.h"
#include "turn_usage.h"

#define MANY 1000000000u
#define KB 1000u

static struct fixture f;
static struct fixture_client ivan, eve;
static struct turn_accounts *accounts;
static struct turn_policy *fresh;
static void *mem;

static struct turn_config config(const struct turn_rates *rates)
{
	struct turn_config c = fixture_config();

	fixture_add_tcp(&c, 61000, 61099);
	c.limits.rates = *rates;
	return c;
}

static void open_with(const struct turn_rates *rates)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	const struct turn_config c = config(rates);
	size_t size;

	fixture_open(&f, &c, 1);
	size = turn_meters_size(f.shard->nb_slots);
	mem = aligned_alloc(64, (size + 63) / 64 * 64);
	assert_non_null(mem);
	memset(mem, 0, size);
	accounts = turn_accounts_create(f.shard->nb_slots, &key);
	assert_non_null(accounts);
	turn_shard_set_meters(f.shard, turn_meters_create(mem, f.shard->nb_slots, accounts));
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	ivan.listener = eve.listener = 2;
}

static int setup(void **state)
{
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	free(mem);
	turn_accounts_free(accounts);
	turn_policy_free(fresh);
	mem = NULL;
	accounts = NULL;
	fresh = NULL;
	return 0;
}

// Ivan at another port.
static struct fixture_client another(void)
{
	struct fixture_client c = fixture_client("198.51.100.7", 5001);

	c.listener = 2;
	return c;
}

// Allocates. Returns the direction to peers.
static struct turn_tcp_way allocate(struct fixture_client *c)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, UINT32_C(6) << 24);
	fixture_sign(&f, c);
	fixture_send(&f, c);
	assert_true((f.burst.plan.flags & TURN_PLAN_ORDER) != 0);
	return (struct turn_tcp_way){.allocation = f.burst.side.order.allocation,
		.port_index = f.burst.side.order.port_index,
		.leg = TURN_FROM_CLIENT};
}

static bool moved(const struct turn_tcp_way *w, uint32_t taken, uint32_t bytes)
{
	const struct turn_tcp_bytes n = {.taken = taken, .moved = bytes};

	return turn_tcp_moved(f.shard, w, &n, f.now_ms);
}

// Takes and moves the available bytes, up to `want`.
static uint32_t relay(const struct turn_tcp_way *w, uint32_t want)
{
	const uint32_t n = turn_tcp_take(f.shard, w, want, f.now_ms);

	moved(w, n, n);
	return n;
}

// Moves everything that may pass within ms milliseconds.
static uint64_t relay_for(const struct turn_tcp_way *w, unsigned int ms)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < ms; i++) {
		fixture_advance(&f, 1);
		fixture_expire(&f);
		sum += relay(w, 16384);
	}
	return sum;
}

static struct turn_usage usage_of_first(void)
{
	struct turn_info row;

	assert_int_equal(shard_rows(f.shard, &row, 1), 1);
	return row.usage;
}

// --- usage ---------------------------------------------------------------------------------------

static void bytes_are_the_allocations(void **state)
{
	const struct turn_rates none = {0};
	struct turn_tcp_way to_peer, to_client;
	struct turn_usage u;

	open_with(&none);
	to_peer = to_client = allocate(&ivan);
	to_client.leg = TURN_FROM_PEER;
	assert_int_equal(relay(&to_peer, MANY), MANY);
	assert_int_equal(relay(&to_client, 70000), 70000);
	assert_true(moved(&to_peer, 5, 3)); // bytes that were not read are returned
	u = usage_of_first();
	assert_int_equal(u.leg[TURN_FROM_CLIENT].bytes, MANY + 3u);
	assert_int_equal(u.leg[TURN_FROM_PEER].bytes, 70000);
	assert_int_equal(u.leg[TURN_FROM_CLIENT].datagrams, 0);
	for (unsigned int i = 0; i < 5; i++) { // the sums include it soon
		fixture_advance(&f, 100);
		fixture_expire(&f);
	}
	assert_in_range(fixture_stats(&f).sums.bytes[TURN_FROM_CLIENT], MANY - 65535, MANY + 3);
	moved(&to_client, 10, 10);
	u = usage_of_first();
	assert_int_equal(u.leg[TURN_FROM_CLIENT].bytes, MANY + 3u);
	assert_int_equal(u.leg[TURN_FROM_PEER].bytes, 70010);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(fixture_event(&f, 0)->usage.leg[TURN_FROM_CLIENT].bytes, MANY + 3u);
	assert_int_equal(fixture_event(&f, 0)->usage.leg[TURN_FROM_PEER].bytes, 70010);
	assert_int_equal(fixture_stats(&f).sums.bytes[TURN_FROM_CLIENT], MANY + 3u);
	assert_int_equal(fixture_stats(&f).sums.ended_bytes, MANY + 3u + 70010u);
}

static void late_bytes_belong_to_no_allocation(void **state)
{
	const struct turn_rates none = {0};
	struct turn_tcp_way w;

	open_with(&none);
	w = allocate(&ivan);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(relay(&w, 10), 0);
	assert_false(moved(&w, 10, 10)); // and is not relayed
	w.port_index = 1000000;
	assert_int_equal(relay(&w, 10), 0);
	allocate(&eve);
	assert_int_equal(usage_of_first().leg[TURN_FROM_CLIENT].bytes, 0);
}

// A thread that carries bytes of an allocation, and notices its end late.
struct carrier {
	pthread_t id;
	struct turn_tcp_way path;
	uint64_t allowed; // bytes that it was allowed to relay
	uint32_t rounds;
	bool stop;
};

static void *carry(void *arg)
{
	struct carrier *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		c->allowed += moved(&c->path, 3, 3) ? 3 : 0;
		__atomic_fetch_add(&c->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void until_round(const struct carrier *c, uint32_t more)
{
	const uint32_t begun = __atomic_load_n(&c->rounds, __ATOMIC_RELAXED);

	while (__atomic_load_n(&c->rounds, __ATOMIC_RELAXED) - begun < more)
		sched_yield();
}

// An allocation ends while threads carry bytes, and the next one gets its port: each byte that may
// be relayed is in the usage reported at the end, and the next allocation counts none of them.
static void an_end_counts_to_the_byte(void **state)
{
	struct turn_config c = fixture_config();

	fixture_add_tcp(&c, 61000, 61000);
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	ivan.listener = 2;
	for (unsigned int i = 0; i < 100; i++) {
		struct carrier carriers[2] = {{.path = allocate(&ivan)}};
		struct turn_usage u;

		carriers[1].path = carriers[0].path;
		for (unsigned int k = 0; k < 2; k++)
			assert_int_equal(
				pthread_create(&carriers[k].id, NULL, carry, &carriers[k]), 0);
		for (unsigned int k = 0; k < 2; k++)
			until_round(&carriers[k], 10);
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
		u = fixture_event(&f, 0)->usage;
		allocate(&ivan);
		for (unsigned int k = 0; k < 2; k++)
			until_round(&carriers[k], 10);
		for (unsigned int k = 0; k < 2; k++) {
			__atomic_store_n(&carriers[k].stop, true, __ATOMIC_RELAXED);
			pthread_join(carriers[k].id, NULL);
		}
		assert_int_equal(
			u.leg[TURN_FROM_CLIENT].bytes, carriers[0].allowed + carriers[1].allowed);
		assert_int_equal(usage_of_first().leg[TURN_FROM_CLIENT].bytes, 0);
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
		fixture_advance(&f, 1); // relay ports are free again
		fixture_expire(&f);
	}
}

// --- rates ---------------------------------------------------------------------------------------

static void an_allocation_keeps_to_its_rate(void **state)
{
	struct turn_rates r = {.burst_ms = 100};
	struct turn_tcp_way w, second;
	uint64_t n;

	r.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 8000; // 1,000,000 bytes a second
	open_with(&r);
	w = allocate(&ivan);
	n = relay_for(&w, 2000);
	assert_in_range(n, 2000 * KB, 2110 * KB);
	w.leg = TURN_FROM_PEER; // which is not limited
	assert_int_equal(relay_for(&w, 100), 100 * 16384);
	ivan = another();
	second = allocate(&ivan); // nor is another one limited
	n = relay_for(&second, 1000);
	assert_in_range(n, 1000 * KB, 1110 * KB);
}

static void all_allocations_of_a_user_share_a_rate(void **state)
{
	struct turn_rates r = {.burst_ms = 100};
	struct turn_tcp_way w[2], its;
	uint64_t n = 0, of_eve = 0;

	r.flow[TURN_RATE_USER][TURN_FROM_CLIENT].kbits = 8000;
	open_with(&r);
	w[0] = allocate(&ivan);
	ivan = another();
	w[1] = allocate(&ivan);
	its = allocate(&eve);
	for (unsigned int i = 0; i < 1000; i++) {
		fixture_advance(&f, 1);
		n += relay(&w[i % 2], 5000) + relay(&w[1 - i % 2], 5000);
		of_eve += relay(&its, 500);
	}
	assert_in_range(n, 1000 * KB, 1110 * KB);
	assert_int_equal(of_eve, 500 * KB);
}

// An account over its rate by UDP is over it by TCP, too, and the reverse.
static void a_rate_is_one_for_udp_and_tcp(void **state)
{
	struct turn_rates r = {.burst_ms = 100};
	struct fixture_client by_udp = fixture_client("198.51.100.7", 5005);
	struct turn_tcp_way w;
	uint64_t n = 0;
	static const uint8_t data[1000];

	r.flow[TURN_RATE_USER][TURN_FROM_CLIENT].kbits = 8000;
	r.flow[TURN_RATE_REALM][TURN_FROM_CLIENT].kbits = 8000;
	open_with(&r);
	w = allocate(&ivan);
	assert_int_equal(fixture_allocate(&f, &by_udp, 4), 0);
	assert_int_equal(fixture_bind(&f, &by_udp, 0x4000, "10.99.0.9", 7000), 0);
	for (unsigned int i = 0; i < 1000; i++) {
		fixture_advance(&f, 1);
		n += relay(&w, 2000);
		for (unsigned int k = 0; k < 2; k++)
			if (fixture_drop(fixture_channel_data(&f, &by_udp, 0x4000, data, 1000)) ==
				TURN_OK)
				n += 1000;
	}
	assert_in_range(n, 950 * KB, 1150 * KB);
}

static void a_realm_has_one_rate_for_all_users(void **state)
{
	struct turn_rates r = {.burst_ms = 100};
	struct turn_tcp_way w[2];
	uint64_t n = 0;

	r.flow[TURN_RATE_REALM][TURN_FROM_PEER].kbits = 8000;
	open_with(&r);
	w[0] = allocate(&ivan);
	w[1] = allocate(&eve);
	w[0].leg = w[1].leg = TURN_FROM_PEER;
	for (unsigned int i = 0; i < 1000; i++) {
		fixture_advance(&f, 1);
		n += relay(&w[i % 2], 5000);
	}
	assert_in_range(n, 1000 * KB, 1110 * KB);
}

// The user's rate refuses bytes that the allocation's rate has granted. They are not charged to the
// allocation, so it has them left when the user's rate allows them.
static void a_refusal_of_one_rate_is_no_charge_to_another(void **state)
{
	struct turn_rates r = {.burst_ms = 100};
	struct turn_tcp_way w;

	r.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 800; // a burst of 10,000 bytes
	r.flow[TURN_RATE_USER][TURN_FROM_CLIENT].kbits = 8000; // a burst of 100,000 bytes
	open_with(&r);
	for (uint16_t i = 0; i < 12; i++) { // the bursts of 10 allocations are that of the user
		struct fixture_client c = fixture_client("198.51.100.7", (uint16_t)(5100 + i));

		c.listener = 2;
		w = allocate(&c);
		while (relay(&w, 16384) > 0)
			;
	}
	w = allocate(&ivan);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(relay(&w, 16384), 0);
	fixture_advance(&f, 10);
	assert_in_range(relay(&w, 16384), 9 * KB, 11 * KB);
}

// Bytes that were read without being requested are owed; bytes requested in vain are not.
static void accounts_balance(void **state)
{
	struct turn_rates r = {.burst_ms = 100};
	struct turn_tcp_way w;

	r.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 8000;
	r.flow[TURN_RATE_USER][TURN_FROM_CLIENT].kbits = 4000;
	open_with(&r);
	w = allocate(&ivan);
	for (unsigned int i = 0; i < 1000; i++) { // never more than the burst: 50,000 bytes
		const uint32_t n = turn_tcp_take(f.shard, &w, MANY, f.now_ms);

		assert_in_range(n, 49990, 50000);
		moved(&w, n, 0);
	}
	moved(&w, 0, 550000); // of which 50,000 were available
	assert_int_equal(relay_for(&w, 995), 0);
	assert_in_range(relay_for(&w, 1000), 490 * KB, 510 * KB);
}

// A rate so low that no read fits into its burst lets one read pass from time to time.
static void a_low_rate_is_no_standstill(void **state)
{
	struct turn_rates r = {.burst_ms = 10};
	struct turn_tcp_way w;

	r.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 8; // 1,000 bytes a second
	open_with(&r);
	w = allocate(&ivan);
	assert_in_range(relay_for(&w, 20000), 19 * KB, 22 * KB);
}

static void reload(const struct turn_rates *rates)
{
	static const uint8_t boot[32];
	struct stun_crypto *crypto = stun_crypto_create();
	struct turn_config c = config(rates);
	struct turn_policy *before = fresh;

	fresh = turn_policy_create(&c, crypto, boot);
	stun_crypto_free(crypto);
	assert_non_null(fresh);
	turn_shard_set_policy(f.shard, fresh);
	turn_policy_free(before);
	fixture_expire(&f);
}

// Bytes taken while nothing was counted may exceed everything ever taken at the new rate.
static void a_reload_between_taking_and_giving_back(void **state)
{
	struct turn_rates r = {.burst_ms = 100}, none = {0};
	struct turn_tcp_way w;

	open_with(&none);
	w = allocate(&ivan);
	assert_int_equal(turn_tcp_take(f.shard, &w, 16384, f.now_ms), 16384);
	r.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 8000;
	reload(&r);
	moved(&w, 16384, 1);
	assert_in_range(relay_for(&w, 1000), 1000 * KB, 1110 * KB);
}

static void a_reload_changes_live_allocations(void **state)
{
	struct turn_rates r = {.burst_ms = 100}, none = {0};
	struct turn_tcp_way w;

	open_with(&none);
	w = allocate(&ivan);
	assert_int_equal(relay(&w, MANY), MANY);
	r.flow[TURN_RATE_USER][TURN_FROM_CLIENT].kbits = 8000;
	reload(&r);
	assert_in_range(relay_for(&w, 1000), 1000 * KB, 1110 * KB);
	r.flow[TURN_RATE_USER][TURN_FROM_CLIENT].kbits = 16000;
	reload(&r);
	assert_in_range(relay_for(&w, 1000), 1950 * KB, 2210 * KB);
	reload(&none);
	assert_int_equal(relay(&w, MANY), MANY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_are_the_allocations),
		TEST(late_bytes_belong_to_no_allocation),
		TEST(an_end_counts_to_the_byte),
		TEST(an_allocation_keeps_to_its_rate),
		TEST(all_allocations_of_a_user_share_a_rate),
		TEST(a_rate_is_one_for_udp_and_tcp),
		TEST(a_refusal_of_one_rate_is_no_charge_to_another),
		TEST(a_realm_has_one_rate_for_all_users),
		TEST(accounts_balance),
		TEST(a_low_rate_is_no_standstill),
		TEST(a_reload_between_taking_and_giving_back),
		TEST(a_reload_changes_live_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
