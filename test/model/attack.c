// SPDX-License-Identifier: BSD-3-Clause
// An attacker next to the model's clients, on a fake clock. A thousand live allocations and a
// hundred clients that hold a nonce use UDP, TCP, TLS and DTLS, all behind one address. The
// attacker is off the path and spoofs that address over UDP with everything that they can know.
// None of these clients may lose anything. The test prints how many *new* UDP clients still get
// through. The limits are the configuration's defaults. A second test looks at the other side of
// these limits: an office of 5,000 clients comes back at once.
#include <limits.h>

#include "conf.h"
#include "turn_fixture.h"

#define CLIENTS 1000
#define HOLDERS 100
#define STEP_MS 25
#define MINUTE_MS 60000
#define NEWCOMERS 2048 // 40 seconds of ten new clients a second for each transport
#define TRIES 7 // transmissions, RFC 8489 6.2.1: Rc
#define RTO_MS 500
#define IP_UDP 28 // bytes of IPv4 and UDP headers
#define VICTIM "198.51.100.7"

static const uint8_t transports[] = {TURN_OVER_UDP, TURN_OVER_TCP, TURN_OVER_TLS, TURN_OVER_DTLS};
#define TRANSPORTS (sizeof(transports) / sizeof(transports[0]))

static struct turn_config config(void)
{
	static struct turn_listener listeners[TRANSPORTS];
	struct turn_config c = fixture_config();
	char error[CONF_ERROR_LEN];
	struct conf *defaults = conf_load(SOURCE_ROOT "/conf/minimal.yaml", error);

	assert_non_null(defaults);
	c.limits = defaults->turn.limits;
	c.limits.per_user = 0; // all clients are one user here
	c.nonce_lifetime_s = defaults->turn.nonce_lifetime_s;
	conf_free(defaults);
	for (size_t i = 0; i < TRANSPORTS; i++)
		listeners[i] =
			(struct turn_listener){{c.relay[0], (uint16_t)(3478 + i)}, transports[i]};
	c.listeners = listeners;
	c.nb_listeners = TRANSPORTS;
	c.port_lo = 40000;
	c.port_hi = 65535;
	return c;
}

// --- clients -------------------------------------------------------------------------------------

enum want { WANT_ALLOCATION, WANT_TO_KEEP_IT, WANT_NOTHING };

// One client and its current transaction (RFC 8489 6.2.1), repeated until it is answered.
struct client {
	struct fixture_client base;
	enum want want;
	unsigned int tries;
	uint64_t next_ms;
};

// A shard under attack, the clients it already serves, and those that come meanwhile.
struct attack_world {
	struct fixture f;
	struct test_rand rand;
	struct client client[CLIENTS + HOLDERS];
	uint64_t lost; // transactions of these clients that were given up
	struct client newcomer[NEWCOMERS]; // in their first transaction; WANT_NOTHING: unused
	// New clients that came; that were challenged at once; that were challenged at all.
	uint64_t came[TRANSPORTS], at_once[TRANSPORTS], challenged[TRANSPORTS];
	uint64_t spoofed, reflected, reflected_bytes;
	uint16_t port; // of the next new client
};

// Sends one request of a client, by its `want`. Returns the code, or UINT_MAX for no answer.
static unsigned int ask(struct attack_world *w, struct client *c)
{
	struct fixture *f = &w->f;
	unsigned int code;

	fixture_begin(f, STUN_REQUEST, c->want == WANT_ALLOCATION ? STUN_ALLOCATE : STUN_REFRESH);
	if (c->want == WANT_ALLOCATION)
		stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	else
		stun_put_u32(&f->w, STUN_LIFETIME, c->want == WANT_NOTHING ? 0 : 600);
	if (c->base.nonce_len > 0)
		fixture_sign(f, &c->base);
	if (fixture_send(f, &c->base)->verdict != TURN_REPLY)
		return UINT_MAX;
	code = fixture_code(f);
	if (code == 401 || code == 438) {
		c->base.nonce_len = f->answer.alen[STUN_NONCE];
		memcpy(c->base.nonce, f->answer.data + f->answer.off[STUN_NONCE],
			c->base.nonce_len);
	}
	return code;
}

// Makes one attempt. True when the transaction is over. After a challenge the next one begins at
// once.
static bool try(struct attack_world *w, struct client *c)
{
	unsigned int code = ask(w, c);

	if (code == 401 || code == 438) {
		c->tries = 0;
		code = ask(w, c);
	}
	if (code != UINT_MAX) {
		assert_int_equal(code, 0);
		return true;
	}
	c->next_ms = w->f.now_ms + (uint64_t)RTO_MS * (1u << c->tries);
	c->tries++;
	return false;
}

// Ends a transaction and decides what the client does next, and when.
static void go_on(struct attack_world *w, struct client *c, bool holds)
{
	c->tries = 0;
	c->next_ms = w->f.now_ms + 1000 * (60 + test_rand_below(&w->rand, holds ? 840 : 240));
	if (!holds) {
		c->want = WANT_TO_KEEP_IT;
	} else if (c->want == WANT_ALLOCATION) { // releases it, and only keeps a nonce
		c->want = WANT_NOTHING;
		c->next_ms = w->f.now_ms;
	} else {
		c->want = WANT_ALLOCATION;
	}
}

static void clients_step(struct attack_world *w)
{
	for (unsigned int i = 0; i < CLIENTS + HOLDERS; i++) {
		struct client *c = &w->client[i];

		if (c->next_ms > w->f.now_ms)
			continue;
		if (c->tries == TRIES) {
			w->lost++;
			c->tries = 0;
		}
		if (try(w, c))
			go_on(w, c, i >= CLIENTS);
	}
}

static struct client client_new(struct attack_world *w, uint8_t listener)
{
	struct client c = {.base = fixture_client(VICTIM, w->port++), .next_ms = w->f.now_ms};

	c.base.listener = listener;
	return c;
}

// Adds a new client for each transport.
static void newcomers_come(struct attack_world *w)
{
	unsigned int i = 0;

	for (uint8_t t = 0; t < TRANSPORTS; t++) {
		while (w->newcomer[i].want != WANT_NOTHING)
			assert_true(++i < NEWCOMERS);
		w->newcomer[i] = client_new(w, t);
		w->came[t]++;
	}
}

// New clients repeat their first request until they are challenged or give up.
static void newcomers_step(struct attack_world *w)
{
	for (unsigned int i = 0; i < NEWCOMERS; i++) {
		struct client *c = &w->newcomer[i];

		if (c->want == WANT_NOTHING || c->next_ms > w->f.now_ms)
			continue;
		if (c->tries == TRIES) {
			c->want = WANT_NOTHING;
		} else if (ask(w, c) == 401) {
			w->challenged[c->base.listener]++;
			w->at_once[c->base.listener] += c->tries == 0;
			c->want = WANT_NOTHING;
		} else {
			c->next_ms = w->f.now_ms + (uint64_t)RTO_MS * (1u << c->tries++);
		}
	}
}

// --- the attacker --------------------------------------------------------------------------------

// Sends an unsolicited UDP request from an address and a port that the attacker chooses. The
// attacker knows the realm, the users, every port of the clients, and nonces of their own address.
static void spoof(struct attack_world *w, const struct fixture_client *attacker)
{
	static const enum stun_method methods[] = {STUN_ALLOCATE, STUN_ALLOCATE, STUN_REFRESH,
		STUN_CREATE_PERMISSION, STUN_CHANNEL_BIND, STUN_BINDING};
	struct fixture *f = &w->f;
	struct fixture_client c =
		fixture_client(VICTIM, (uint16_t)(1 + test_rand_below(&w->rand, 65535)));
	const uint32_t kind = test_rand_below(&w->rand, 4);

	if (test_rand_below(&w->rand, 2) == 0) // a client's 5-tuple
		c.endpoint.port =
			w->client[test_rand_below(&w->rand, CLIENTS + HOLDERS)].base.endpoint.port;
	fixture_begin(f, STUN_REQUEST, methods[test_rand_below(&w->rand, 6)]);
	if (kind >= 1) {
		c.nonce_len = attacker->nonce_len;
		memcpy(c.nonce, attacker->nonce, attacker->nonce_len);
		c.password = "guess";
		if (kind >= 2) // made up by the attacker: stale, fresh, from the future
			c.nonce[13 + test_rand_below(&w->rand, 19)] =
				(uint8_t)('A' + test_rand_below(&w->rand, 26));
		fixture_sign(f, &c);
	}
	w->spoofed++;
	if (fixture_send(f, &c)->verdict == TURN_REPLY) {
		w->reflected++;
		w->reflected_bytes += f->burst.plan.front_len + IP_UDP;
	}
}

// --- the siege -----------------------------------------------------------------------------------

static void open_world(struct attack_world *w, uint64_t seed)
{
	const struct turn_config c = config();

	*w = (struct attack_world){.rand = {seed}, .port = 1024};
	fixture_open(&w->f, &c, seed);
	// spread over a minute: a thousand clients do not come at once
	for (unsigned int i = 0; i < CLIENTS + HOLDERS; i++) {
		w->client[i] = client_new(w, (uint8_t)(i % TRANSPORTS));
		assert_true(try(w, &w->client[i]));
		go_on(w, &w->client[i], i >= CLIENTS);
		fixture_advance(&w->f, 50);
	}
	for (unsigned int i = 0; i < NEWCOMERS; i++)
		w->newcomer[i].want = WANT_NOTHING;
	w->port = 10000;
}

static double percent(uint64_t part, uint64_t whole)
{
	return 100.0 * (double)part / (double)whole;
}

static void siege(unsigned int rate, uint64_t minutes)
{
	static struct attack_world w;
	struct client attacker;
	const uint64_t steps = minutes * MINUTE_MS / STEP_MS;
	const uint32_t each = rate * STEP_MS / 1000;
	uint32_t before; // spoofed requests of a step that arrive before the clients' requests
	struct turn_stats stats;

	open_world(&w, rate);
	attacker = client_new(&w, 0);
	attacker.base.endpoint.addr = fixture_endpoint("203.0.113.66", 0).addr;
	assert_true(try(&w, &attacker)); // now it has a nonce, and an allocation while it lasts
	for (uint64_t step = 0; step < steps; step++) {
		fixture_advance(&w.f, STEP_MS);
		before = test_rand_below(&w.rand, each + 1);
		for (uint32_t i = 0; i < before; i++)
			spoof(&w, &attacker.base);
		clients_step(&w);
		if (step % (100 / STEP_MS) == 0 && step + 40 * 1000 / STEP_MS < steps)
			newcomers_come(&w);
		newcomers_step(&w);
		for (uint32_t i = before; i < each; i++)
			spoof(&w, &attacker.base);
		if (w.port > 60000)
			w.port = 10000;
		fixture_expire(&w.f);
	}
	turn_shard_stats(w.f.shard, &stats);
	printf("%5u spoofed requests a second for %2llu minutes: %llu transactions lost; "
	       "of new UDP clients %.1f %% challenged at once, %.1f %% within seven tries; "
	       "reflected %.0f bytes a second\n",
		rate, (unsigned long long)minutes, (unsigned long long)w.lost,
		percent(w.at_once[0], w.came[0]), percent(w.challenged[0], w.came[0]),
		(double)w.reflected_bytes / (double)(minutes * 60));
	assert_in_range(stats.allocations, CLIENTS, CLIENTS + HOLDERS + 1);
	assert_int_equal(w.lost, 0);
	for (size_t t = 1; t < TRANSPORTS; t++)
		assert_int_equal(w.at_once[t], w.came[t]);
	fixture_close(&w.f);
}

static void test_slow_siege(void **state)
{
	siege(40, 40);
}

static void test_siege(void **state)
{
	siege(400, 40);
}

static void test_fast_siege(void **state)
{
	siege(40000, 1);
}

// --- an office -----------------------------------------------------------------------------------

#define OFFICE 5000
#define BACK_MS 15000

static struct client office[OFFICE];

// All clients of one address begin within a tenth of a second, as after an outage, and repeat their
// requests by RFC 8489. Returns the milliseconds until the last one has its allocation.
static uint64_t come_back(uint32_t workers)
{
	static struct attack_world w[8];
	struct turn_config c = config();
	const struct hash_key key = {{1, 2, 3, 4}};
	const struct turn_shard_params sizes = {.client_key = &key};
	unsigned int back = 0;
	uint64_t ms = 0;

	c.workers = workers;
	memset(w, 0, sizeof(w));
	fixture_open_sized(&w[0].f, &c, &sizes, 1);
	for (uint32_t i = 1; i < workers; i++)
		fixture_open_worker(&w[i].f, &w[0].f, (uint8_t)i);
	w[0].port = 1024;
	for (unsigned int i = 0; i < OFFICE; i++) {
		office[i] = client_new(&w[0], 0);
		office[i].next_ms += i % 100;
	}
	for (; back < OFFICE && ms <= 60000; ms++) {
		for (unsigned int i = 0; i < OFFICE; i++) {
			struct client *o = &office[i];
			const uint64_t hash = turn_client_hash(
				&key, &o->base.endpoint.addr, o->base.endpoint.port);

			if (o->want != WANT_ALLOCATION || o->next_ms > w[0].f.now_ms)
				continue;
			assert_true(o->tries < TRIES);
			if (try(&w[turn_client_home(hash, workers)], o)) {
				o->want = WANT_TO_KEEP_IT;
				back++;
			}
		}
		for (uint32_t i = 0; i < workers; i++)
			fixture_advance(&w[i].f, 1);
	}
	assert_int_equal(back, OFFICE);
	while (workers-- > 0)
		fixture_close(&w[workers].f);
	return ms;
}

static void test_office_comes_back(void **state)
{
	for (uint32_t workers = 1; workers <= 8; workers *= 2) {
		const uint64_t ms = come_back(workers);

		printf("%u clients of one address are back after %llu ms with %u workers\n", OFFICE,
			(unsigned long long)ms, workers);
		assert_in_range(ms, 1, BACK_MS);
	}
}

// Traffic that an attacker can make the server send to a spoofed address, with a realm as long as
// turn.example: the burst, and a bounded number of bytes in each second after it.
static void test_reflection(void **state)
{
	static struct fixture f;
	struct turn_config c = config();
	struct fixture_client victim = fixture_client(VICTIM, 1);
	uint64_t bytes = 0, seconds = 20;

	c.first.name = (char *)"turn.example";
	fixture_open(&f, &c, 1);
	for (uint64_t ms = 0; ms < (seconds + 1) * 1000; ms++) {
		for (int i = 0; i < 10; i++) {
			fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
			// the first second spends the burst
			if (fixture_send(&f, &victim)->verdict == TURN_REPLY && ms >= 1000)
				bytes += f.burst.plan.front_len + IP_UDP;
		}
		fixture_advance(&f, 1);
	}
	printf("reflected to one address by 10,000 requests a second: %llu bytes a second, after a "
	       "burst of %u datagrams\n",
		(unsigned long long)(bytes / seconds), c.limits.unauthenticated.burst);
	assert_in_range(bytes / seconds, 1, 62000);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_slow_siege),
		cmocka_unit_test(test_siege), cmocka_unit_test(test_fast_siege),
		cmocka_unit_test(test_office_comes_back), cmocka_unit_test(test_reflection)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
