// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams: the amount that passes in a second, the limit that the rest is
// counted for, and that no other user loses anything. The test has its own clock.
#include <stdlib.h>
#include <string.h>

#include "features/rates/accounts.h"
#include "shard.h"
#include "shard_rows.h"
#include "test.h"
#include "turn_fixture.h"
#include "turn_meter.h"
#include "turn_usage.h"

#define WORKERS 3
#define CHANNEL 0x4000
#define PEER "10.99.0.9"
#define PEER_PORT 7000
#define LONG_LEN 1000

// A server with its workers, each with meters.
static struct world {
	struct fixture fixtures[WORKERS];
	struct turn_accounts *accounts;
	void *mem[WORKERS];
	unsigned int workers;
	struct turn_policy *fresh; // policy of the last reload
} world;

static void meters_give(unsigned int worker)
{
	struct fixture *f = &world.fixtures[worker];
	const size_t size = turn_meters_size(f->shard->nb_slots);

	world.mem[worker] = aligned_alloc(64, (size + 63) / 64 * 64);
	assert_non_null(world.mem[worker]);
	memset(world.mem[worker], 0, size);
	turn_shard_set_meters(f->shard,
		turn_meters_create(world.mem[worker], f->shard->nb_slots, world.accounts));
}

static void open_world(unsigned int workers, const struct turn_rates *rates)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	struct turn_config c = fixture_config();
	uint32_t slots = 0;

	c.workers = workers;
	c.limits.rates = *rates;
	world = (struct world){.workers = workers};
	fixture_open(&world.fixtures[0], &c, 1);
	for (unsigned int i = 1; i < workers; i++)
		fixture_open_worker(&world.fixtures[i], &world.fixtures[0], (uint8_t)i);
	for (unsigned int i = 0; i < workers; i++)
		slots += world.fixtures[i].shard->nb_slots;
	world.accounts = turn_accounts_create(slots, &key);
	assert_non_null(world.accounts);
	for (unsigned int i = 0; i < workers; i++)
		meters_give(i);
}

static int close_world(void **state)
{
	(void)state;
	for (unsigned int i = world.workers; i-- > 0;)
		fixture_close(&world.fixtures[i]);
	for (unsigned int i = 0; i < world.workers; i++)
		free(world.mem[i]);
	turn_accounts_free(world.accounts);
	turn_policy_free(world.fresh);
	return 0;
}

// A client with a channel.
static struct fixture_client join(unsigned int worker, bool is_eve, const char *addr)
{
	struct fixture *f = &world.fixtures[worker];
	struct fixture_client c = is_eve ? fixture_eve(addr, 5000) : fixture_client(addr, 5000);

	assert_int_equal(fixture_allocate(f, &c, 4), 0);
	assert_int_equal(fixture_bind(f, &c, CHANNEL, PEER, PEER_PORT), 0);
	return c;
}

static unsigned int to_peer(unsigned int worker, const struct fixture_client *c, size_t len)
{
	static const uint8_t data[2 * LONG_LEN];

	return fixture_drop(fixture_channel_data(&world.fixtures[worker], c, CHANNEL, data, len));
}

static unsigned int from_peer(unsigned int worker, const struct fixture_client *c, size_t len)
{
	const struct endpoint peer = fixture_endpoint(PEER, PEER_PORT);
	static const uint8_t data[2 * LONG_LEN];

	return fixture_drop(
		fixture_from_peer(&world.fixtures[worker], &c->relay, &peer, data, len));
}

static struct turn_info info_of(unsigned int worker, const struct fixture_client *c)
{
	struct turn_info rows[64];
	const unsigned int n = shard_rows(world.fixtures[worker].shard, rows, 64);

	for (unsigned int i = 0; i < n; i++)
		if (addr_eq(&rows[i].client.addr, &c->endpoint.addr))
			return rows[i];
	fail_msg("no such allocation");
	return rows[0];
}

static void pass_ms(uint64_t ms)
{
	for (unsigned int i = 0; i < world.workers; i++)
		fixture_advance(&world.fixtures[i], ms);
}

// --- how much passes -----------------------------------------------------------------------------

// Load on each worker in each millisecond, and the length of its datagrams.
struct load {
	enum turn_rate_of scope;
	struct turn_flow_rate rate;
	unsigned int workers, offered[WORKERS], len;
};

// Offers the load for a second. Returns the traffic that passed.
static void offer(const struct load *l, const uint32_t slot[], uint64_t *bytes, uint64_t *datagrams)
{
	*bytes = *datagrams = 0;
	for (unsigned int ms = 0; ms < 1000; ms++) {
		pass_ms(1);
		for (unsigned int w = 0; w < l->workers; w++) {
			struct turn_shard *s = world.fixtures[w].shard;
			const uint64_t cost = turn_meter_cost(1, l->len);

			for (unsigned int i = 0; i < l->offered[w]; i++) {
				if (!turn_meter_take(s->meters, slot[w], TURN_FROM_PEER, cost) &&
					turn_meter_ask(s, slot[w], TURN_FROM_PEER, cost) != TURN_OK)
					continue;
				*bytes += l->len;
				++*datagrams;
			}
		}
	}
}

static void assert_near(uint64_t got, uint64_t wanted)
{
	if (got * 100 < wanted * 95 || got * 100 > wanted * 105)
		fail_msg("%llu in a second, not %llu", (unsigned long long)got,
			(unsigned long long)wanted);
}

static void run_load(const struct load *l)
{
	static const char *const addr[] = {"198.51.100.7", "198.51.100.8", "198.51.100.9"};
	struct turn_rates rates = {.burst_ms = 100};
	uint32_t slot[WORKERS];
	uint64_t bytes, datagrams;

	rates.flow[l->scope][TURN_FROM_PEER] = l->rate;
	open_world(l->workers, &rates);
	for (unsigned int w = 0; w < l->workers; w++) {
		const struct fixture_client c = join(w, false, addr[w]);

		assert_int_equal(from_peer(w, &c, 1), TURN_OK);
		slot[w] = world.fixtures[w].burst.view[0].slot;
	}
	offer(l, slot, &bytes, &datagrams); // uses the burst up
	for (unsigned int second = 0; second < 5; second++) {
		offer(l, slot, &bytes, &datagrams);
		if (l->rate.kbits != 0)
			assert_near(bytes, l->rate.kbits * UINT64_C(125));
		else
			assert_near(datagrams, l->rate.datagrams);
	}
	close_world(NULL);
}

// However the datagrams of a user or realm are spread over the workers, the configured rate passes.
static void test_second(void **state)
{
	static const struct load loads[] = {
		{TURN_RATE_ALLOCATION, {.kbits = 2000}, 1, {1}, 1200},
		{TURN_RATE_ALLOCATION, {.kbits = 64}, 1, {1}, 160},
		{TURN_RATE_ALLOCATION, {.datagrams = 50}, 1, {3}, 100},
		{TURN_RATE_ALLOCATION, {.kbits = 4000000}, 1, {900}, 1400},
		{TURN_RATE_USER, {.kbits = 8000}, 1, {3}, 1000},
		{TURN_RATE_USER, {.kbits = 8000}, 2, {3, 1}, 1000},
		{TURN_RATE_USER, {.kbits = 8000}, 3, {9, 1, 1}, 1000},
		{TURN_RATE_USER, {.kbits = 8000}, 3, {1, 0, 5}, 1000},
		{TURN_RATE_USER, {.kbits = 1000}, 3, {3, 1, 0}, 200},
		{TURN_RATE_USER, {.datagrams = 5000}, 3, {1, 9, 2}, 1000},
		{TURN_RATE_REALM, {.kbits = 1000000}, 1, {200}, 1000},
		{TURN_RATE_REALM, {.kbits = 1000000}, 2, {120, 60}, 1000},
		{TURN_RATE_REALM, {.kbits = 1000000}, 3, {140, 40, 1}, 1000},
		{TURN_RATE_REALM, {.datagrams = 100000}, 3, {140, 4, 10}, 60},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		run_load(&loads[i]);
	world.workers = 0;
}

// Load below the rate passes completely, on whichever workers it is.
static void test_below(void **state)
{
	static const struct load l = {TURN_RATE_USER, {.kbits = 16800}, 2, {1, 1}, 1000};
	struct turn_rates rates = {.burst_ms = 100};
	uint64_t bytes, datagrams;
	uint32_t slot[WORKERS];

	(void)state;
	rates.flow[TURN_RATE_USER][TURN_FROM_PEER] = l.rate;
	open_world(2, &rates);
	for (unsigned int w = 0; w < 2; w++) {
		const struct fixture_client c =
			join(w, false, w == 0 ? "198.51.100.7" : "198.51.100.8");

		assert_int_equal(from_peer(w, &c, 1), TURN_OK);
		slot[w] = world.fixtures[w].burst.view[0].slot;
	}
	for (unsigned int second = 0; second < 20; second++) {
		offer(&l, slot, &bytes, &datagrams);
		assert_int_equal(datagrams, 2000);
	}
}

// After a pause one burst passes at once, and not much more. A full bucket lets one datagram of any
// length pass.
static void test_burst(void **state)
{
	struct turn_rates rates = {.burst_ms = 200};
	struct fixture_client c;
	unsigned int passed = 0;

	(void)state;
	rates.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 800; // 100 bytes a millisecond
	open_world(1, &rates);
	c = join(0, false, "198.51.100.7");
	pass_ms(10000);
	while (to_peer(0, &c, LONG_LEN) == TURN_OK)
		passed++;
	assert_in_range(passed, 20, 30);
	rates.burst_ms = 10;
}

static void test_longer_than_burst(void **state)
{
	struct turn_rates rates = {.burst_ms = 10};
	struct fixture_client c;

	(void)state;
	rates.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 8; // 10 bytes in a burst
	open_world(1, &rates);
	c = join(0, false, "198.51.100.7");
	assert_int_equal(to_peer(0, &c, LONG_LEN), TURN_OK);
	assert_int_equal(to_peer(0, &c, 1), TURN_DROP_ALLOCATION_RATE);
	pass_ms(980);
	assert_int_equal(to_peer(0, &c, LONG_LEN), TURN_DROP_ALLOCATION_RATE);
	pass_ms(30);
	assert_int_equal(to_peer(0, &c, LONG_LEN), TURN_OK);
}

// --- which limit applies -------------------------------------------------------------------------

// Each direction has its own buckets, and each scope its own drop reason and class.
static void assert_whose(enum turn_rate_of scope, unsigned int drop, enum turn_loss loss)
{
	struct turn_rates rates = {.burst_ms = 100};
	struct fixture_client c;
	struct turn_stats before, after;

	rates.flow[scope][TURN_FROM_CLIENT].datagrams = 10;
	open_world(1, &rates);
	c = join(0, false, "198.51.100.7");
	before = fixture_stats(&world.fixtures[0]);
	while (to_peer(0, &c, 100) == TURN_OK)
		;
	assert_int_equal(to_peer(0, &c, 100), drop);
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(from_peer(0, &c, 100), TURN_OK);
	after = fixture_stats(&world.fixtures[0]);
	for (unsigned int i = 0; i < TURN_LOSS_END; i++) {
		assert_int_equal(info_of(0, &c).usage.lost[i], i == loss ? 2 : 0);
		assert_int_equal(after.sums.lost[i] - before.sums.lost[i], i == loss ? 2 : 0);
	}
	assert_int_equal(info_of(0, &c).usage.leg[TURN_FROM_PEER].datagrams, 1000);
	// the record of its end has them, too
	assert_int_equal(fixture_refresh(&world.fixtures[0], &c, 0), 0);
	assert_int_equal(fixture_event(&world.fixtures[0], 0)->kind, TURN_EVENT_ENDED);
	assert_int_equal(fixture_event(&world.fixtures[0], 0)->usage.lost[loss], 2);
	close_world(NULL);
	world.workers = 0;
}

static void test_whose(void **state)
{
	(void)state;
	assert_whose(TURN_RATE_ALLOCATION, TURN_DROP_ALLOCATION_RATE, TURN_LOSS_ALLOCATION);
	assert_whose(TURN_RATE_USER, TURN_DROP_USER_RATE, TURN_LOSS_USER);
	assert_whose(TURN_RATE_REALM, TURN_DROP_REALM_RATE, TURN_LOSS_REALM);
	assert_string_equal(turn_drop_name(TURN_DROP_ALLOCATION_RATE), "allocation-rate");
	assert_string_equal(turn_loss_name(TURN_LOSS_USER), "user_rate");
}

// A user over the limit takes nothing from another user or from the realm: datagrams that the
// user's own rate drops are not counted for the realm.
static void test_beside(void **state)
{
	struct turn_rates rates = {.burst_ms = 100};
	struct fixture_client ivan, second, eve;
	unsigned int of_ivan = 0;

	(void)state;
	rates.flow[TURN_RATE_USER][TURN_FROM_CLIENT].datagrams = 1000;
	rates.flow[TURN_RATE_REALM][TURN_FROM_CLIENT].datagrams = 2000;
	open_world(1, &rates);
	ivan = join(0, false, "198.51.100.7");
	second = join(0, false, "198.51.100.8");
	eve = join(0, true, "198.51.100.9");
	for (unsigned int ms = 0; ms < 3000; ms++) {
		pass_ms(1);
		for (unsigned int i = 0; i < 10; i++) {
			of_ivan += to_peer(0, &ivan, 200) == TURN_OK;
			of_ivan += to_peer(0, &second, 200) == TURN_OK;
		}
		if (ms % 10 != 0) // 900 a second
			assert_int_equal(to_peer(0, &eve, 200), TURN_OK);
	}
	assert_in_range(of_ivan, 3000, 3000 + 150);
	assert_int_equal(info_of(0, &eve).usage.lost[TURN_LOSS_USER], 0);
	assert_int_equal(info_of(0, &eve).usage.lost[TURN_LOSS_REALM], 0);
	assert_true(info_of(0, &second).usage.lost[TURN_LOSS_USER] > 0);
}

// --- all kinds of datagrams ----------------------------------------------------------------------

// Send and Data indications count like ChannelData, by the length of their data.
static void test_indications(void **state)
{
	struct turn_rates rates = {.burst_ms = 1000};
	struct fixture *f = &world.fixtures[0];
	const struct endpoint peer = fixture_endpoint(PEER, PEER_PORT);
	static const uint8_t data[100];
	struct fixture_client c = fixture_client("198.51.100.7", 5000);
	unsigned int passed = 0;

	(void)state;
	rates.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].kbits = 8; // 1,000 bytes in a burst
	rates.flow[TURN_RATE_ALLOCATION][TURN_FROM_PEER].datagrams = 10;
	open_world(1, &rates);
	assert_int_equal(fixture_allocate(f, &c, 4), 0);
	assert_int_equal(fixture_permit(f, &c, PEER), 0);
	for (unsigned int i = 0; i < 100; i++) {
		fixture_begin(f, STUN_INDICATION, STUN_SEND);
		stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &peer);
		stun_put(&f->w, STUN_DATA_ATTR, data, sizeof(data));
		passed += fixture_drop(fixture_send(f, &c)) == TURN_OK;
	}
	assert_in_range(passed, 10, 15);
	passed = 0;
	for (unsigned int i = 0; i < 100; i++)
		passed += from_peer(0, &c, 100) == TURN_OK;
	assert_in_range(passed, 10, 15);
	assert_int_equal(info_of(0, &c).usage.lost[TURN_LOSS_ALLOCATION] > 170, 1);
}

// Datagrams dropped for another reason cost nothing: a stranger's datagrams use no user's share.
static void test_not_relayed(void **state)
{
	struct turn_rates rates = {.burst_ms = 1000};
	const struct endpoint stranger = fixture_endpoint("10.99.0.200", PEER_PORT);
	static const uint8_t data[100];
	struct fixture_client c;
	unsigned int passed = 0;

	(void)state;
	rates.flow[TURN_RATE_ALLOCATION][TURN_FROM_PEER].datagrams = 10;
	open_world(1, &rates);
	c = join(0, false, "198.51.100.7");
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(fixture_drop(fixture_from_peer(&world.fixtures[0], &c.relay,
					 &stranger, data, sizeof(data))),
			TURN_DROP_PEER_NO_PERMISSION);
	for (unsigned int i = 0; i < 100; i++)
		passed += from_peer(0, &c, 100) == TURN_OK;
	assert_in_range(passed, 10, 15);
}

// --- changes -------------------------------------------------------------------------------------

static void reload(const struct turn_rates *rates)
{
	static const uint8_t boot[32];
	struct stun_crypto *crypto = stun_crypto_create();
	struct turn_config c = world.fixtures[0].config;
	struct turn_policy *before = world.fresh;

	c.limits.rates = *rates;
	world.fresh = turn_policy_create(&c, crypto, boot);
	stun_crypto_free(crypto);
	assert_non_null(world.fresh);
	for (unsigned int i = 0; i < world.workers; i++)
		turn_shard_set_policy(world.fixtures[i].shard, world.fresh);
	turn_policy_free(before);
}

static unsigned int in_a_second(const struct fixture_client *c)
{
	unsigned int passed = 0;

	for (unsigned int ms = 0; ms < 1000; ms++) {
		pass_ms(1);
		for (unsigned int i = 0; i < 20; i++)
			passed += to_peer(0, c, 100) == TURN_OK;
	}
	return passed;
}

// Rates of live allocations change at once, lowered ones too: bytes drawn earlier are not used up.
// Without limits everything passes, and limits can come back.
static void test_reload(void **state)
{
	static const uint32_t datagrams[] = {0, 5000, 100, 10000, 0, 50};
	struct turn_rates rates = {.burst_ms = 100};
	struct fixture_client c;

	(void)state;
	open_world(1, &rates);
	assert_null(turn_shard_meters(world.fixtures[0].shard));
	c = join(0, false, "198.51.100.7");
	for (unsigned int scope = 0; scope < TURN_RATE_OF_END; scope++) {
		for (unsigned int i = 0; i < 6; i++) {
			memset(rates.flow, 0, sizeof(rates.flow));
			rates.flow[scope][TURN_FROM_CLIENT].datagrams = datagrams[i];
			reload(&rates);
			in_a_second(&c); // the rest of earlier credit, and the burst
			if (datagrams[i] == 0)
				assert_int_equal(in_a_second(&c), 20000);
			else
				assert_near(in_a_second(&c), datagrams[i]);
		}
	}
	assert_non_null(turn_shard_meters(world.fixtures[0].shard));
}

// A user who ends an allocation and makes another does not get a new bucket for the user, only one
// for the allocation.
static void test_again(void **state)
{
	struct turn_rates rates = {.burst_ms = 1000};
	struct fixture *f = &world.fixtures[0];
	struct fixture_client c;
	unsigned int passed = 0;

	(void)state;
	rates.flow[TURN_RATE_USER][TURN_FROM_CLIENT].datagrams = 100;
	rates.flow[TURN_RATE_ALLOCATION][TURN_FROM_CLIENT].datagrams = 20;
	open_world(1, &rates);
	for (unsigned int i = 0; i < 50; i++) {
		c = join(0, false, "198.51.100.7");
		for (unsigned int k = 0; k < 100; k++)
			passed += to_peer(0, &c, 100) == TURN_OK;
		assert_int_equal(fixture_refresh(f, &c, 0), 0);
		assert_int_equal(f->shard->meters->head != 0, 1); // the account can be reused
	}
	// 50 times 20 of their own, and 100 of the user, with the credit drawn in advance
	assert_in_range(passed, 100, 150);
}

// More users than accounts: closed accounts are reused, oldest first. Open accounts are kept.
static void test_accounts(void **state)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	struct turn_accounts *a = turn_accounts_create(100, &key);
	const uint64_t mine = UINT64_C(0x1234567890abcdef);
	uint32_t account, second;

	(void)state;
	assert_non_null(a);
	account = accounts_open(a, mine);
	accounts_due(a, account)[0][0] = 77;
	for (uint64_t i = 1; i < 20000; i++) {
		second = accounts_open(a, i * UINT64_C(0x9e3779b97f4a7c15));
		assert_int_not_equal(second, account);
		assert_int_equal(accounts_due(a, second)[0][0], 0);
		accounts_due(a, second)[0][0] = i;
		accounts_close(a, second);
	}
	assert_int_equal(accounts_open(a, mine), account);
	assert_int_equal(accounts_due(a, account)[0][0], 77);
	accounts_close(a, account);
	accounts_close(a, account);
	// closed, but kept: its debt remains
	assert_int_equal(accounts_open(a, mine), account);
	assert_int_equal(accounts_due(a, account)[0][0], 77);
	turn_accounts_free(a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second),
		cmocka_unit_test_teardown(test_below, close_world),
		cmocka_unit_test_teardown(test_burst, close_world),
		cmocka_unit_test_teardown(test_longer_than_burst, close_world),
		cmocka_unit_test(test_whose),
		cmocka_unit_test_teardown(test_beside, close_world),
		cmocka_unit_test_teardown(test_indications, close_world),
		cmocka_unit_test_teardown(test_not_relayed, close_world),
		cmocka_unit_test_teardown(test_reload, close_world),
		cmocka_unit_test_teardown(test_again, close_world),
		cmocka_unit_test(test_accounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
