// SPDX-License-Identifier: BSD-3-Clause
// The quota of allocations in total, per user and per source: against a model, and from many
// threads at once.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "test.h"
#include "test_rand.h"
#include "limits/quota.h"

static const struct hash_key key = {{1, 2, 3, 4}};

struct party {
	uint8_t ident[TURN_IDENT_LEN];
	struct addr source;
};

static struct party make_party(uint32_t user, uint32_t source)
{
	struct party w = {.ident = {0}};

	memcpy(w.ident, &user, sizeof(user));
	addr_parse("192.0.2.0", &w.source);
	memcpy(&w.source.b[12], &source, sizeof(source));
	return w;
}

// A user whose client has the address 2001:db8:NETWORK:SUBNET::1.
static struct party make_party_v6(uint32_t user, uint32_t network, uint32_t subnet)
{
	struct party w = make_party(user, 0);

	addr_parse("2001:db8::1", &w.source);
	w.source.b[4] = (uint8_t)(network >> 8);
	w.source.b[5] = (uint8_t)network;
	w.source.b[6] = (uint8_t)(subnet >> 8);
	w.source.b[7] = (uint8_t)subnet;
	return w;
}

static enum turn_refusal why_not(struct turn_quota *q, const struct turn_limits *l,
	const struct party *w, struct quota_ref *ref)
{
	return quota_take(q, l, w->ident, &w->source, ref);
}

static bool take(struct turn_quota *q, const struct turn_limits *l, const struct party *w,
	struct quota_ref *ref)
{
	return why_not(q, l, w, ref) == TURN_GRANTED;
}

static void test_limits(void **state)
{
	static const struct turn_limits cases[] = {
		{.per_user = 3}, {.per_source = 3}, {.allocations = 3}};
	static const enum turn_refusal which[] = {
		TURN_REFUSED_QUOTA_USER, TURN_REFUSED_QUOTA_SOURCE, TURN_REFUSED_QUOTA_TOTAL};
	struct turn_quota *q = turn_quota_create(100, &key);
	struct quota_ref ref[5];

	for (int c = 0; c < 3; c++) {
		for (uint32_t i = 0; i < 5; i++) {
			// the other two of the three all differ
			const struct party w = make_party(c == 0 ? 1 : i, c == 1 ? 1 : i);

			assert_int_equal(why_not(q, &cases[c], &w, &ref[i]), i == 3 ? which[c] : 0);
			assert_int_equal(turn_quota_total(q), i < 3 ? i + 1 : 3);
			if (i == 3)
				quota_give(q, &ref[1]);
		}
		quota_give(q, &ref[0]);
		quota_give(q, &ref[2]);
		quota_give(q, &ref[4]);
		assert_int_equal(turn_quota_total(q), 0);
	}
	turn_quota_free(q);
	turn_quota_free(NULL);
}

// A refusal by one limit leaves no trace in the counts of the others.
static void test_refusal_counts_nothing(void **state)
{
	const struct turn_limits user = {.per_user = 1, .per_source = 2};
	const struct turn_limits total = {.allocations = 1, .per_user = 1, .per_source = 1};
	struct turn_quota *q = turn_quota_create(100, &key);
	const struct party a1 = make_party(1, 1), a2 = make_party(1, 2), b1 = make_party(2, 1),
			   c1 = make_party(3, 1);
	const struct party d4 = make_party(4, 4);
	struct quota_ref ref[3];

	assert_true(take(q, &user, &a1, &ref[0]));
	for (int i = 0; i < 10; i++)
		assert_false(take(q, &user, &a2, &ref[1])); // user's limit: source 2 is not charged
	assert_true(take(q, &user, &b1, &ref[1]));
	for (int i = 0; i < 10; i++)
		assert_false(take(q, &user, &c1, &ref[2])); // source's limit: user 3 is not charged
	quota_give(q, &ref[1]);
	assert_true(take(q, &user, &c1, &ref[1]));
	quota_give(q, &ref[1]);
	for (int i = 0; i < 10; i++)
		assert_false(take(q, &total, &d4, &ref[1])); // total limit: neither is charged
	quota_give(q, &ref[0]);
	assert_true(take(q, &total, &d4, &ref[0]));
	quota_give(q, &ref[0]);
	assert_int_equal(turn_quota_total(q), 0);
	turn_quota_free(q);
}

// Allocations are counted without limits, too, so that a limit set by a reload is exact.
static void test_reload(void **state)
{
	const struct turn_limits none = {0}, two = {.per_user = 2};
	struct turn_quota *q = turn_quota_create(100, &key);
	const struct party w = make_party(1, 1);
	struct quota_ref ref[4];

	for (int i = 0; i < 3; i++)
		assert_true(take(q, &none, &w, &ref[i]));
	assert_false(take(q, &two, &w, &ref[3]));
	quota_give(q, &ref[0]);
	assert_false(take(q, &two, &w, &ref[3]));
	quota_give(q, &ref[1]);
	assert_true(take(q, &two, &w, &ref[3]));
	turn_quota_free(q);
}

static void test_ipv6_source(void **state)
{
	const struct turn_limits l = {.per_source = 1};
	struct turn_quota *q = turn_quota_create(100, &key);
	struct party w = make_party(1, 1);
	struct quota_ref ref;

	addr_parse("2001:db8::1", &w.source);
	assert_true(take(q, &l, &w, &ref));
	addr_parse("2001:db8:0:0:ffff::2", &w.source);
	assert_false(take(q, &l, &w, &ref));
	addr_parse("2001:db8:0:1::1", &w.source);
	assert_true(take(q, &l, &w, &ref));
	turn_quota_free(q);
}

// A /48, with whatever /64 and users, has eight times the limit of a source.
static void test_ipv6_network(void **state)
{
	const struct turn_limits l = {.per_source = 2}, user = {.per_user = 1};
	struct turn_quota *q = turn_quota_create(100, &key);
	struct quota_ref ref[16], spare;
	struct party w;

	for (uint32_t i = 0; i < 16; i++) {
		w = make_party_v6(i, 0, i % 12 * 0x1111);
		assert_int_equal(why_not(q, &l, &w, &ref[i]), TURN_GRANTED);
	}
	w = make_party_v6(100, 0, 0xffff);
	for (int i = 0; i < 10; i++)
		assert_int_equal(why_not(q, &l, &w, &spare), TURN_REFUSED_QUOTA_SOURCE);
	assert_int_equal(turn_quota_total(q), 16);
	w = make_party_v6(100, 1, 0xffff); // another /48; the user was not charged
	assert_int_equal(why_not(q, &user, &w, &spare), TURN_GRANTED);
	quota_give(q, &spare);
	w = make_party_v6(100, 1, 0xffff);
	assert_int_equal(why_not(q, &l, &w, &spare), TURN_GRANTED);
	quota_give(q, &spare);
	quota_give(q, &ref[3]);
	w = make_party_v6(100, 0, 0xffff);
	assert_int_equal(why_not(q, &l, &w, &ref[3]), TURN_GRANTED);
	w = make_party_v6(101, 0, 0xfffe);
	assert_int_equal(why_not(q, &l, &w, &spare), TURN_REFUSED_QUOTA_SOURCE);
	for (uint32_t i = 0; i < 16; i++)
		quota_give(q, &ref[i]);
	for (uint32_t i = 0; i < 16; i++) // refused attempts leave no trace
		assert_true(take(q, &l, &w, &spare) == (i < 2));
	turn_quota_free(q);
}

// IPv4 addresses share nothing, although all look like one IPv6 network.
static void test_ipv4_network(void **state)
{
	const struct turn_limits l = {.per_source = 1};
	struct turn_quota *q = turn_quota_create(100, &key);
	struct quota_ref ref;

	for (uint32_t i = 0; i < 50; i++) {
		const struct party w = make_party(i, i << 24);

		assert_int_equal(why_not(q, &l, &w, &ref), TURN_GRANTED);
	}
	turn_quota_free(q);
}

// A lower limit finds those above it, and a table of the next process has equal counts.
static void test_ipv6_network_over(void **state)
{
	const struct turn_limits none = {0}, one = {.per_source = 1};
	struct turn_quota *q = turn_quota_create(100, &key), *next;
	struct quota_ref ref[10];

	for (uint32_t i = 0; i < 10; i++) {
		const struct party w = make_party_v6(i, i / 9, i);

		assert_true(take(q, &none, &w, &ref[i]));
	}
	assert_int_equal(quota_over(q, &one, &ref[0]), TURN_REFUSED_QUOTA_SOURCE);
	assert_int_equal(quota_over(q, &one, &ref[9]), TURN_GRANTED);
	assert_int_equal(quota_over(q, &none, &ref[0]), TURN_GRANTED);
	quota_give(q, &ref[8]);
	assert_int_equal(quota_over(q, &one, &ref[0]), TURN_GRANTED);
	next = turn_quota_create(100, &key);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(quota_take_ref(next, &one, &ref[i]),
			i == 8 ? TURN_REFUSED_QUOTA_SOURCE : TURN_GRANTED);
	turn_quota_free(next);
	turn_quota_free(q);
}

// The table holds `capacity` allocations with all users and sources different, and refuses when its
// memory is full. IPv6 networks, which are different as well, take no room from them.
static void capacity(bool is_v6)
{
	static const uint32_t sizes[] = {0, 1, 2, 159, 160, 255, 256, 5000, 100000};
	const struct turn_limits none = {0};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct turn_quota *q = turn_quota_create(sizes[s], &key);
		const uint32_t most = sizes[s] * 4 + 5000;
		struct quota_ref *ref = calloc(most, sizeof(*ref));
		uint32_t n = 0;

		for (uint32_t i = 0; i < most; i++) {
			const struct party w =
				is_v6 ? make_party_v6(i, i, i >> 16) : make_party(i, i);
			const bool ok = take(q, &none, &w, &ref[n]);

			assert_true(ok || i >= sizes[s]);
			n += ok;
		}
		assert_in_range(n, sizes[s], most - 1);
		assert_int_equal(turn_quota_total(q), n);
		while (n > 0)
			quota_give(q, &ref[--n]);
		assert_int_equal(turn_quota_total(q), 0);
		// nothing remains
		for (uint32_t i = 0; i < sizes[s]; i++) {
			const uint32_t k = i + 7777777;
			const struct party w =
				is_v6 ? make_party_v6(k, k, k >> 16) : make_party(k, k);

			assert_true(take(q, &none, &w, &ref[0]));
		}
		free(ref);
		turn_quota_free(q);
	}
}

static void test_capacity(void **state)
{
	capacity(false);
	capacity(true);
}

#define NB_WHO 300
#define NB_HELD 2000

// Every fourth source is a /64, all of one /48.
static bool is_v6(uint32_t source)
{
	return source % 4 == 3;
}

// Compared with plain counters, in a table small enough for entries to be displaced and moved back.
static void test_model(void **state)
{
	struct test_rand r = test_rand_start("quota");
	const struct turn_limits l = {
		.allocations = NB_HELD - 50, .per_user = 20, .per_source = 15};
	struct turn_quota *q = turn_quota_create(200, &key);
	uint32_t users[NB_WHO] = {0}, sources[NB_WHO] = {0}, network = 0, n = 0;
	uint32_t full = 0; // refusals by the network's limit
	struct {
		struct quota_ref ref;
		uint32_t user, source;
	} held[NB_HELD];

	for (int i = 0; i < 400000; i++) {
		const bool grow = test_rand_below(&r, 100) < (i / 20000 % 2 == 0 ? 70u : 30u);

		if (grow && n < NB_HELD) {
			const uint32_t u = test_rand_below(&r, NB_WHO);
			const uint32_t s = test_rand_below(&r, test_rand_below(&r, 100) + 1);
			const struct party w = is_v6(s) ? make_party_v6(u, 0, s) : make_party(u, s);
			const bool expected = users[u] < l.per_user && sources[s] < l.per_source &&
				n < l.allocations && (!is_v6(s) || network < 8 * l.per_source);

			assert_int_equal(take(q, &l, &w, &held[n].ref), expected);
			if (!expected)
				continue;
			held[n].user = u;
			held[n].source = s;
			users[u]++;
			sources[s]++;
			network += is_v6(s);
			full += network == 8 * l.per_source;
			n++;
		} else if (n > 0) {
			const uint32_t k = test_rand_below(&r, n);

			quota_give(q, &held[k].ref);
			users[held[k].user]--;
			sources[held[k].source]--;
			network -= is_v6(held[k].source);
			held[k] = held[--n];
		}
		assert_int_equal(turn_quota_total(q), n);
	}
	assert_true(full > 0);
	turn_quota_free(q);
}

// --- threads ------------------------------------------------------------------------------------

#define NB_THREADS 4
#define NB_USERS 8
#define NB_SOURCES 6
#define NB_SUBNETS 24
#define HELD_EACH 200

static const struct turn_limits tight = {.allocations = 60, .per_user = 10, .per_source = 13};
// two networks: the limits of their sources add up to more than the network's
static const struct turn_limits tight_v6 = {.allocations = 60, .per_user = 10, .per_source = 1};

// Lower bounds of the counts, kept by the threads around the calls: raised after a take has
// succeeded and lowered before a give, so that they never exceed the quota's counts.
static struct {
	struct turn_quota *q;
	bool is_v6;
	_Atomic uint32_t total, user[NB_USERS], source[NB_SUBNETS], network[2];
	_Atomic uint32_t excess, refused;
	uint64_t seed;
	int rounds;
	pthread_barrier_t start; // without concurrency the threads test nothing
} shared;

struct held {
	struct quota_ref ref;
	uint32_t user, source;
};

static void up(_Atomic uint32_t *n, uint32_t limit)
{
	if (atomic_fetch_add(n, 1) >= limit)
		atomic_fetch_add(&shared.excess, 1);
}

static void give(const struct held *h)
{
	atomic_fetch_sub(&shared.total, 1);
	atomic_fetch_sub(&shared.user[h->user], 1);
	atomic_fetch_sub(&shared.source[h->source], 1);
	atomic_fetch_sub(&shared.network[h->source % 2], 1);
	quota_give(shared.q, &h->ref);
}

static void *worker(void *arg)
{
	struct test_rand r = {shared.seed + (uintptr_t)arg * 1000003};
	const struct turn_limits *l = shared.is_v6 ? &tight_v6 : &tight;
	struct held held[HELD_EACH];
	uint32_t n = 0;

	pthread_barrier_wait(&shared.start);
	for (int i = 0; i < shared.rounds; i++) {
		if (n < HELD_EACH && test_rand_below(&r, 100) < 55) {
			struct held *h = &held[n];
			struct party w;

			h->user = test_rand_below(&r, NB_USERS);
			h->source = test_rand_below(&r, shared.is_v6 ? NB_SUBNETS : NB_SOURCES);
			w = shared.is_v6 ? make_party_v6(h->user, h->source % 2, h->source)
					 : make_party(h->user, h->source);
			if (!take(shared.q, l, &w, &h->ref)) {
				atomic_fetch_add(&shared.refused, 1);
				continue;
			}
			up(&shared.user[h->user], l->per_user);
			up(&shared.source[h->source], l->per_source);
			up(&shared.network[h->source % 2], shared.is_v6 ? 8 * l->per_source : 1000);
			up(&shared.total, l->allocations);
			n++;
		} else if (n > 0) {
			const uint32_t k = test_rand_below(&r, n);

			give(&held[k]);
			held[k] = held[--n];
		}
	}
	while (n > 0)
		give(&held[--n]);
	return NULL;
}

static void run(void *(*fn)(void *))
{
	pthread_t threads[NB_THREADS];

	pthread_barrier_init(&shared.start, NULL, NB_THREADS);
	for (uintptr_t t = 0; t < NB_THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, fn, (void *)t), 0);
	for (int t = 0; t < NB_THREADS; t++)
		pthread_join(threads[t], NULL);
	pthread_barrier_destroy(&shared.start);
}

static void threads(bool is_v6)
{
	struct quota_ref ref, refs[16];
	uint32_t n = 0;

	memset(&shared, 0, sizeof(shared));
	shared.is_v6 = is_v6;
	shared.seed = test_rand_start("quota threads").s;
	shared.rounds = 200000;
	shared.q = turn_quota_create(500, &key);
	run(worker);
	assert_int_equal(shared.excess, 0);
	assert_true(shared.refused > 0);
	assert_int_equal(turn_quota_total(shared.q), 0);
	// every count is 0 again: the full limits are available
	for (uint32_t i = 0; is_v6 && i < 16; i++) {
		const struct party w = make_party_v6(i, i / 8, i);

		assert_true(take(shared.q, &tight_v6, &w, &refs[i]));
	}
	for (uint32_t i = 0; is_v6 && i < 16; i++)
		quota_give(shared.q, &refs[i]);
	for (uint32_t u = 0; u < NB_USERS; u++) {
		const struct turn_limits l = {.per_user = tight.per_user};
		const struct party w =
			is_v6 ? make_party_v6(u, u % 2, u) : make_party(u, u % NB_SOURCES);
		uint32_t got = 0;

		while (take(shared.q, &l, &w, &ref))
			got++;
		assert_int_equal(got, tight.per_user);
		n += got;
	}
	assert_int_equal(turn_quota_total(shared.q), n);
	turn_quota_free(shared.q);
}

static void test_threads(void **state)
{
	threads(false);
	threads(true);
}

// All threads compete for one limit at once: exactly that number gets through, for each limit.
#define RACE_EACH 20000
#define RACE_LIMIT 50000

static struct turn_limits race_limits;

static void *racer(void *arg)
{
	const uint32_t t = (uint32_t)(uintptr_t)arg;
	struct quota_ref ref;

	pthread_barrier_wait(&shared.start);
	for (uint32_t i = 0; i < RACE_EACH; i++) {
		const uint32_t unique = t * RACE_EACH + i;
		const uint32_t user = race_limits.per_user != 0 ? 1 : unique;
		const struct party w = shared.is_v6
			? make_party_v6(user, 0, unique)
			: make_party(user, race_limits.per_source != 0 ? 1 : unique);

		if (take(shared.q, &race_limits, &w, &ref))
			atomic_fetch_add(&shared.total, 1);
	}
	return NULL;
}

static void test_race(void **state)
{
	static const struct turn_limits cases[] = {{.per_user = RACE_LIMIT},
		{.per_source = RACE_LIMIT}, {.allocations = RACE_LIMIT},
		{.per_source = RACE_LIMIT / 8}};

	for (int i = 0; i < 8; i++) {
		memset(&shared, 0, sizeof(shared));
		race_limits = cases[i % 4];
		shared.is_v6 = i % 4 == 3; // the limit of a network
		shared.q = turn_quota_create(NB_THREADS * RACE_EACH, &key);
		run(racer);
		assert_int_equal(shared.total, RACE_LIMIT);
		assert_int_equal(turn_quota_total(shared.q), RACE_LIMIT);
		turn_quota_free(shared.q);
	}
}

// Thread 0 takes and gives where there is always room for one more. The others are constantly
// refused, for their user and in total by turns: that must never make the room seem taken.
static void *come_and_go(void *arg)
{
	static const struct turn_limits room = {.allocations = 2, .per_user = 1, .per_source = 2};
	static const struct turn_limits none[] = {{.per_user = 1}, {.allocations = 1}};
	const bool lucky = (uintptr_t)arg == 0;
	const struct party w[] = {make_party(1, 1), make_party(3, 3)}, me = make_party(2, 1);
	struct quota_ref ref;

	pthread_barrier_wait(&shared.start);
	for (int i = 0; i < shared.rounds; i++) {
		if (!lucky) {
			shared.excess += take(shared.q, &none[i % 2], &w[i % 2], &ref);
			continue;
		}
		if (take(shared.q, &room, &me, &ref))
			quota_give(shared.q, &ref);
		else
			shared.refused++;
	}
	return NULL;
}

static void test_no_false_refusal(void **state)
{
	const struct turn_limits none = {0};
	const struct party w = make_party(1, 1);
	struct quota_ref ref;

	memset(&shared, 0, sizeof(shared));
	shared.rounds = 200000;
	shared.q = turn_quota_create(100000, &key); // room for users under different locks
	assert_true(take(shared.q, &none, &w, &ref)); // one allocation is held throughout
	run(come_and_go);
	assert_int_equal(shared.refused, 0);
	assert_int_equal(shared.excess, 0);
	turn_quota_free(shared.q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_refusal_counts_nothing),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_ipv6_source),
		cmocka_unit_test(test_ipv6_network),
		cmocka_unit_test(test_ipv6_network_over),
		cmocka_unit_test(test_ipv4_network),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_race),
		cmocka_unit_test(test_no_false_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
