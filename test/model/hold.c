// SPDX-License-Identifier: BSD-3-Clause
// A hundred thousand allocations on one shard, each with a permission and a channel, every tenth
// with two, all refreshed over 20 minutes of the shard's clock. No allocation may end early, and
// all must end when they expire. Prints the memory of an allocation and the requests per second
// (for information; the client's half is in it). HOLD_ALLOCATIONS=n sets the number.
#include "turn_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define ALLOCATIONS 100000
#define PORTS 50000 // ports of each relay address
#define BYTES_MAX 400 // most memory of the shard for an allocation
#define ROUND_MS 250000 // between refreshes: before the 300 s of a permission are over
#define ROUNDS 4 // with the 250 s to make them, more than 20 minutes
#define NONCE_LEN 32

struct held {
	uint8_t nonce[NONCE_LEN];
	struct endpoint relay;
};

struct hold {
	struct fixture f;
	struct held *held;
	unsigned int n;
	uint64_t requests;
};

static unsigned int channels_of(unsigned int i)
{
	return i % 10 == 0 ? 2 : 1;
}

static struct fixture_client client_of(const struct hold *h, unsigned int i)
{
	const uint8_t ip[4] = {20, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
	struct fixture_client c = fixture_client("20.0.0.0", (uint16_t)(1024 + i % 60000));

	c.endpoint.addr = addr_from_v4(ip);
	c.relay = h->held[i].relay;
	if (h->held[i].nonce[0] != 0) {
		memcpy(c.nonce, h->held[i].nonce, NONCE_LEN);
		c.nonce_len = NONCE_LEN;
	}
	return c;
}

static struct endpoint peer_of(unsigned int i, unsigned int channel)
{
	const uint8_t ip[4] = {10, 98, (uint8_t)(i >> 8), (uint8_t)i};

	return (struct endpoint){addr_from_v4(ip), (uint16_t)(2000 + (i >> 16) + 1000 * channel)};
}

// ChannelBind also installs and refreshes the permission (RFC 8656 12).
static void bind_all(struct hold *h, unsigned int i, struct fixture_client *c)
{
	for (unsigned int k = 0; k < channels_of(i); k++) {
		const struct endpoint peer = peer_of(i, k);

		fixture_begin(&h->f, STUN_REQUEST, STUN_CHANNEL_BIND);
		stun_put_u32(&h->f.w, STUN_CHANNEL_NUMBER, (CHANNEL_MIN + k) << 16);
		stun_put_xor_addr(&h->f.w, STUN_XOR_PEER_ADDRESS, &peer);
		assert_int_equal(fixture_ask(&h->f, c), 0);
		h->requests++;
	}
}

static void make(struct hold *h, unsigned int i)
{
	struct fixture_client c = client_of(h, i);

	assert_int_equal(fixture_allocate(&h->f, &c, 4), 0);
	assert_int_equal(c.nonce_len, NONCE_LEN);
	assert_int_equal(c.lifetime_s, 600);
	memcpy(h->held[i].nonce, c.nonce, NONCE_LEN);
	h->held[i].relay = c.relay;
	h->requests += 2; // the first request was for the nonce
	bind_all(h, i, &c);
}

static void refresh(struct hold *h, unsigned int i)
{
	struct fixture_client c = client_of(h, i);

	assert_int_equal(fixture_refresh(&h->f, &c, 600), 0);
	h->requests++;
	bind_all(h, i, &c);
}

static void relay(struct hold *h, unsigned int i)
{
	const struct fixture_client c = client_of(h, i);

	for (unsigned int k = 0; k < channels_of(i); k++) {
		const struct endpoint peer = peer_of(i, k);
		const struct turn_plan *p;
		struct turn_path path;

		p = fixture_channel_data(&h->f, &c, (uint16_t)(CHANNEL_MIN + k), "media", 5);
		assert_int_equal(p->verdict, TURN_RELAY);
		turn_route_path(h->f.shard, p->flow, &path);
		assert_true(endpoint_eq(&path.src, &c.relay));
		assert_true(endpoint_eq(&path.dst, &peer));
		p = fixture_from_peer(&h->f, &c.relay, &peer, "media", 5);
		assert_int_equal(p->verdict, TURN_RELAY);
		assert_int_equal(p->channel, CHANNEL_MIN + k);
		turn_route_path(h->f.shard, p->flow, &path);
		assert_true(endpoint_eq(&path.dst, &c.endpoint));
	}
}

// Calls action for each allocation in turn, evenly over span_ms, and sweeps as a worker would.
static void for_all(
	struct hold *h, void (*action)(struct hold *h, unsigned int i), uint64_t span_ms)
{
	const uint64_t start = h->f.now_ms;

	for (unsigned int i = 0; i < h->n; i++) {
		const uint64_t due = start + span_ms * (i + 1) / h->n;

		if (due > h->f.now_ms)
			fixture_advance(&h->f, due - h->f.now_ms);
		turn_shard_expire(h->f.shard);
		action(h, i);
	}
}

static void check_held(const struct hold *h)
{
	struct turn_stats stats;
	uint64_t channels = 0;

	for (unsigned int i = 0; i < h->n; i++)
		channels += channels_of(i);
	turn_shard_stats(h->f.shard, &stats);
	assert_int_equal(stats.allocations, h->n);
	assert_int_equal(stats.channels, channels);
	assert_int_equal(stats.permissions, h->n); // both channels lead to the same address
	assert_int_equal(turn_quota_total(h->f.quota), h->n);
}

static void timed(struct hold *h, const char *name, void (*action)(struct hold *h, unsigned int i),
	uint64_t span_ms)
{
	const double start = fixture_seconds();
	double took;

	h->requests = 0;
	for_all(h, action, span_ms);
	took = fixture_seconds() - start;
	printf("%s: %.0f allocations/s, %.0f requests/s\n", name, h->n / took, h->requests / took);
}

static void print_memory(const struct hold *h)
{
	const double shard = (double)turn_shard_size(&h->f.params) / h->n;

	printf("memory: %.1f bytes an allocation\n", shard);
	// With fewer allocations, memory that does not grow with their number would weigh too much.
	if (h->n >= ALLOCATIONS)
		assert_true(shard <= BYTES_MAX);
}

static void open(struct hold *h)
{
	static struct addr relays[2];
	struct turn_config c = fixture_config();
	const char *env = getenv("HOLD_ALLOCATIONS");

	h->n = env != NULL ? (unsigned int)strtoul(env, NULL, 0) : ALLOCATIONS;
	assert_in_range(h->n, 1, 2 * PORTS);
	relays[0] = fixture_endpoint("10.99.0.1", 0).addr;
	relays[1] = fixture_endpoint("10.99.0.2", 0).addr;
	c.relay = relays;
	c.port_lo = 10000;
	c.port_hi = 10000 + PORTS - 1;
	c.nonce_lifetime_s = 3600;
	fixture_open(&h->f, &c, 1);
	assert_true(turn_relay_map_slots(h->f.map, 0) >= 2 * PORTS);
	h->held = calloc(h->n, sizeof(*h->held));
	assert_non_null(h->held);
}

static void test_hold(void **state)
{
	static struct hold h;
	struct turn_stats stats;

	open(&h);
	print_memory(&h);
	timed(&h, "made", make, ROUND_MS);
	check_held(&h);
	for (int i = 0; i < ROUNDS; i++) {
		timed(&h, "refreshed", refresh, ROUND_MS);
		check_held(&h);
	}
	// The oldest refresh is 250 s old: nothing has ended, and all media passes.
	fixture_expire(&h.f);
	check_held(&h);
	for_all(&h, relay, 40000);
	check_held(&h);
	fixture_advance(&h.f, 600000 + 16);
	fixture_expire(&h.f);
	turn_shard_stats(h.f.shard, &stats);
	assert_int_equal(stats.allocations, 0);
	assert_int_equal(stats.permissions, 0);
	assert_int_equal(stats.channels, 0);
	assert_int_equal(turn_quota_total(h.f.quota), 0);
	fixture_close(&h.f);
	free(h.held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_hold)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
