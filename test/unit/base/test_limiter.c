// SPDX-License-Identifier: BSD-3-Clause
// Rates of a source: exact over any period, changed by a reload, and independent of other sources.
#include <stdlib.h>
#include <string.h>

#include "addr_text.h"
#include "rates/limiter.h"
#include "test.h"
#include "test_rand.h"

#define BUCKETS 4096
#define PLACES 1024
#define BEGIN 1000000 // ms
#define DAY_MS (24ull * 3600 * 1000)

static struct limiter *make(uint64_t seed, uint32_t buckets)
{
	struct limiter *l = calloc(1, sizeof(*l) + limiter_size(buckets, 0));

	assert_non_null(l);
	l->key = (struct hash_key){{seed, 2, 3, 4}};
	limiter_init(l, l + 1, buckets, 0);
	l->times = 100;
	return l;
}

static bool take(struct limiter *l, const struct limit *each, uint32_t parts, const struct addr *a,
	uint64_t now_ms)
{
	l->parts = parts;
	return limiter_take(l, each, a, now_ms);
}

static struct addr source(uint32_t i)
{
	struct addr a;

	addr_parse("192.0.2.0", &a);
	memcpy(&a.b[12], &i, 4);
	return a;
}

// Tokens available, as an exact fraction over 1000; refilled at every request.
struct model {
	unsigned __int128 milli;
	uint64_t last_ms;
};

static bool model_allow(struct model *m, uint64_t rate, uint64_t burst, uint64_t now_ms)
{
	m->milli += (unsigned __int128)(now_ms - m->last_ms) * rate;
	if (m->milli > (unsigned __int128)burst * 1000)
		m->milli = (unsigned __int128)burst * 1000;
	m->last_ms = now_ms;
	if (m->milli < 1000)
		return false;
	m->milli -= 1000;
	return true;
}

static void test_model(void **state)
{
	struct test_rand r = test_rand_start("limiter");

	for (int round = 0; round < 100; round++) {
		const uint32_t share = 1 + test_rand_below(&r, 4);
		const struct limit rate = {1 + test_rand_below(&r, round < 50 ? 40 : 100000),
			test_rand_below(&r, 200)};
		const uint32_t part = rate.rate / share > 0 ? rate.rate / share : 1;
		const uint32_t burst = rate.burst / share > 0 ? rate.burst / share : 1;
		struct limiter *l = make(test_rand(&r), BUCKETS);
		const struct addr a = source(test_rand_below(&r, 1000000));
		uint64_t now_ms = test_rand_below(&r, 1000000);
		struct model m = {(unsigned __int128)burst * 1000, now_ms};

		for (int i = 0; i < 3000; i++) {
			const uint32_t kind = test_rand_below(&r, 100);

			if (kind == 0)
				now_ms += test_rand_below(&r, 200 * DAY_MS / 1000) * 1000ull;
			else if (kind < 40)
				now_ms += test_rand_below(&r, 200);
			assert_int_equal(take(l, &rate, share, &a, now_ms),
				model_allow(&m, part, burst, now_ms));
		}
		free(l);
	}
}

// Under constant requests, a source gets the burst and then the rate, exact to the token, over any
// period.
static void test_rate(void **state)
{
	const struct limit rate = {7, 50};
	struct limiter *l = make(1, BUCKETS);
	const struct addr a = source(1);
	uint64_t got = 0;

	for (uint64_t ms = 0; ms <= 1000000; ms++) {
		while (take(l, &rate, 1, &a, ms))
			got++;
		assert_int_equal(got, 50 + ms * 7 / 1000);
	}
	// days without requests fill it to the burst and no further
	for (uint64_t days = 1; days < 1000; days *= 10) {
		for (got = 0; take(l, &rate, 1, &a, 1000000 + days * days * DAY_MS);)
			got++;
		assert_int_equal(got, 50);
	}
	free(l);
}

static void test_extremes(void **state)
{
	const struct limit off = {0, 0}, most = {UINT32_MAX, UINT32_MAX}, least = {1, 0};
	const struct limit fast = {1u << 31, 1};
	struct limiter *l = make(1, 1);
	const struct addr a = source(1);

	for (int i = 0; i < 1000; i++)
		assert_true(take(l, &off, 3, &a, 0));
	// a share of less than one token counts as one
	assert_true(take(l, &least, 64, &a, 0));
	assert_false(take(l, &least, 64, &a, 999));
	assert_true(take(l, &least, 64, &a, 1000));
	// a step back in time gives nothing
	assert_false(take(l, &least, 64, &a, 0));
	assert_false(take(l, &least, 64, &a, 1999));
	assert_true(take(l, &most, 1, &a, 2000));
	assert_true(take(l, &most, 1, &a, UINT64_MAX / BUCKET_MS - 1));
	free(l);
	// 2^33 ms at 2^31 a second is 2^64 thousandths
	l = make(1, 1);
	assert_true(take(l, &fast, 1, &a, 1));
	assert_false(take(l, &fast, 1, &a, 1));
	assert_true(take(l, &fast, 1, &a, 1 + (1ull << 33)));
	free(l);
}

// A reload that lowers or raises a limit applies to a source's present debt.
static void test_reload(void **state)
{
	const struct limit low = {1, 10}, high = {1, 100};
	struct limiter *l = make(1, BUCKETS);
	const struct addr a = source(1);
	int got;

	for (got = 0; take(l, &high, 1, &a, 0);)
		got++;
	assert_int_equal(got, 100);
	assert_false(take(l, &low, 1, &a, 90000));
	assert_true(take(l, &low, 1, &a, 91000));
	for (got = 0; take(l, &high, 1, &a, 91000);)
		got++;
	assert_int_equal(got, 90);
	free(l);
}

// A source with endless requests takes nothing from others, except from those in its bucket.
static void test_no_starvation(void **state)
{
	const struct limit rate = {20, 100};
	struct test_rand r = test_rand_start("starvation");
	struct limiter *l = make(test_rand(&r), BUCKETS);
	const struct addr flood = source(0);
	unsigned int denied = 0;

	for (uint64_t ms = 0; ms < 1000; ms++) {
		for (int i = 0; i < 50; i++)
			take(l, &rate, 1, &flood, ms);
	}
	for (uint32_t i = 1; i <= 1000; i++) {
		const struct addr a = source(i);

		denied += !take(l, &rate, 1, &a, 1000);
	}
	// 1000 / 4096 sources are expected in its bucket; 8 or more with probability 10^-10
	assert_in_range(denied, 0, 7);
	free(l);
}

// Sources spread over all buckets, differently with another key, so an attacker cannot choose a
// victim.
static void test_keyed(void **state)
{
	const struct limit rate = {1, 1};
	struct test_rand r = test_rand_start("keyed");
	unsigned int both = 0, first = 0;
	struct limiter *l[2] = {make(test_rand(&r), BUCKETS), make(test_rand(&r), BUCKETS)};

	for (uint32_t i = 0; i < BUCKETS; i++) {
		const struct addr a = source(i);
		const bool new0 = take(l[0], &rate, 1, &a, 0);
		const bool new1 = take(l[1], &rate, 1, &a, 0);

		first += new0;
		both += new0 && new1;
	}
	// n balls in n bins fill 1 - 1/e of them; two keys agree as independent draws would
	assert_in_range(first, BUCKETS * 60 / 100, BUCKETS * 66 / 100);
	assert_in_range(both, BUCKETS * 38 / 100, BUCKETS * 52 / 100);
	free(l[0]);
	free(l[1]);
}

// --- sources and networks ------------------------------------------------------------------------

struct sources {
	struct limiter l;
	struct limit each;
};

static struct bucket mem[PLACES];

static struct sources sources(uint64_t seed, uint32_t rate, uint32_t burst)
{
	struct sources r = {.l.key = {{seed, 2, 3, 4}}, .each = {rate, burst}};

	memset(mem, 0, sizeof(mem));
	limiter_init(&r.l, mem, PLACES, 0);
	r.l.times = 100;
	return r;
}

// Makes each_ms tries a millisecond for ms milliseconds. Returns how many succeed.
static unsigned int tries(struct sources *r, const struct addr *source, uint64_t now_ms,
	unsigned int ms, unsigned int each_ms)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ms * each_ms; i++)
		n += limiter_take(&r->l, &r->each, source, now_ms + i / each_ms);
	return n;
}

// 10,000 a second for 15 seconds: the source gets the burst and the rate; others are not affected.
static void test_storm(void **state)
{
	const struct addr a = addr_text("192.0.2.1"), b = addr_text("192.0.2.2");
	struct sources r = sources(1, 200, 2000);
	unsigned int n = 0;

	for (unsigned int s = 0; s < 15; s++) {
		n += tries(&r, &a, BEGIN + s * 1000, 1000, 10);
		assert_in_range(n, 2000 + 200 * (s + 1) - 1, 2000 + 200 * (s + 1));
	}
	assert_int_equal(tries(&r, &b, BEGIN + 15000, 1, 3000), 2000);
	// after a pause a source has the whole burst again, and no more
	assert_int_equal(tries(&r, &a, BEGIN + 3600 * 1000, 1, 3000), 2000);
}

static void test_source_of_64(void **state)
{
	const struct addr p = addr_text("2001:db8::1"), q = addr_text("2001:db8::ffff:0:0:1");
	const struct addr neighbour = addr_text("2001:db8:0:1::1");
	struct sources r = sources(1, 1, 3);

	assert_int_equal(tries(&r, &p, BEGIN, 1, 2), 2);
	assert_int_equal(tries(&r, &q, BEGIN, 1, 2), 1); // in that /64
	assert_int_equal(tries(&r, &neighbour, BEGIN, 1, 5), 3);
}

// A /48 has 65,536 /64: it gets a hundred times the limit of one, and the places of a hundred.
static void test_network(void **state)
{
	const struct addr neighbour = addr_text("2001:db8:2::1"), v4 = addr_text("192.0.2.1");
	struct addr a = addr_text("2001:db8:1::1");
	struct sources r = sources(1, 10, 10);
	unsigned int n = 0, again = 0;

	for (unsigned int i = 0; i < 2 * 65536; i++) {
		a.b[6] = (uint8_t)(i >> 8);
		a.b[7] = (uint8_t)i;
		*(i < 65536 ? &n : &again) += tries(&r, &a, BEGIN + (i < 65536 ? 0 : 100), 1, 5);
	}
	assert_int_equal(n, 1000);
	assert_int_equal(again, 100); // a tenth of a second for a hundred
	assert_int_equal(tries(&r, &neighbour, BEGIN + 100, 1, 20), 10);
	assert_int_equal(tries(&r, &v4, BEGIN + 100, 1, 20), 10);
}

static void test_edges(void **state)
{
	const struct addr a = addr_text("192.0.2.1");
	struct sources r = sources(1, 0, 1);

	assert_int_equal(tries(&r, &a, BEGIN, 1, 50000), 50000); // no limit
	r = sources(1, 1, 1);
	assert_int_equal(tries(&r, &a, 0, 5000, 10), 5); // at time 0
	r = sources(1, 1000000, 1000000);
	assert_int_equal(tries(&r, &a, BEGIN, 1, 1100000), 1000000);
	r = sources(1, UINT32_MAX, UINT32_MAX); // faster than the counter's resolution
	assert_int_equal(tries(&r, &a, BEGIN, 1, 50000), 50000);
	r = sources(1, 1, UINT32_MAX);
	assert_int_equal(tries(&r, &a, UINT32_MAX, 1, 50000), 50000);
	// threads with different clocks
	r = sources(1, 1000, 1);
	assert_true(limiter_take(&r.l, &r.each, &a, BEGIN + 5));
	assert_false(limiter_take(&r.l, &r.each, &a, BEGIN));
	assert_true(limiter_take(&r.l, &r.each, &a, BEGIN + 6));
}

// Never more than the burst and the rate, at any pace, and never less than a source is due.
static void test_random(void **state)
{
	const struct addr a = addr_text("192.0.2.1");
	struct test_rand rnd = test_rand_start("rates");

	for (unsigned int round = 0; round < 200; round++) {
		const uint32_t rate = 1 + test_rand_below(&rnd, 5000);
		const uint32_t burst = 1 + test_rand_below(&rnd, 5000);
		struct sources r = sources(round, rate, burst);
		uint64_t ms = BEGIN, n = 0, asked = 0;

		for (unsigned int i = 0; i < 2000; i++) {
			const unsigned int k = test_rand_below(&rnd, 20);

			for (unsigned int j = 0; j < k; j++, asked++) {
				const bool yes = limiter_take(&r.l, &r.each, &a, ms);

				n += yes;
				assert_true(
					n * 1000 <= burst * UINT64_C(1000) + (ms - BEGIN) * rate);
				assert_true(yes || n >= burst);
			}
			ms += test_rand_below(&rnd, 30);
		}
		assert_true(n <= asked);
	}
}

static void test_prefixes(void **state)
{
	static const char *const same[] = {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"};
	static const char *const differ[] = {"2001:db8:0:1::1", "192.0.2.1", "192.0.2.2"};
	const struct limit rate = {1, 1};
	struct limiter *l = make(5, 1u << 16);
	struct addr a;

	addr_parse(same[0], &a);
	assert_true(take(l, &rate, 1, &a, 0));
	addr_parse(same[1], &a);
	assert_false(take(l, &rate, 1, &a, 0));
	for (int i = 0; i < 3; i++) {
		addr_parse(differ[i], &a);
		assert_true(take(l, &rate, 1, &a, 0));
	}
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_no_starvation),
		cmocka_unit_test(test_keyed),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_source_of_64),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
