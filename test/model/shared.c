// SPDX-License-Identifier: BSD-3-Clause
// A million allocations on eight shared ports, made by whole requests, each with a channel to its
// own peer. Every peer reaches its client. Ending some of them costs only the time for their
// records. Prints memory and time. Not a test with that many: it takes half a minute.
// SHARED_ALLOCATIONS=n sets the number; with some thousands it is a test.
#include <stdio.h>
#include <stdlib.h>

#include "turn_fixture.h"
#include "shard.h"

#define ALLOCATIONS 1000000
#define ENDS 1000 // allocations whose release is timed, once among few others and once among all

static struct fixture f;

static struct fixture_client client_nth(unsigned int i)
{
	const uint8_t ip[4] = {20, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
	struct fixture_client c = fixture_client("20.0.0.0", (uint16_t)(1024 + i % 60000));

	c.endpoint.addr = addr_from_v4(ip);
	return c;
}

// The peer of client i. Every eighth client has the same peer, one for each shared port.
static struct endpoint peer_nth(unsigned int i, uint32_t ports)
{
	const unsigned int n = i / ports;

	return (struct endpoint){
		addr_from_v4((const uint8_t[4]){10, 98, (uint8_t)(n >> 8), (uint8_t)n}),
		(uint16_t)(1024 + (n >> 16))};
}

static void make(unsigned int i, uint32_t ports, struct endpoint *relay)
{
	struct fixture_client c = client_nth(i);
	const struct endpoint peer = peer_nth(i, ports);
	char text[ADDR_TEXT_LEN];

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(fixture_bind(&f, &c, CHANNEL_MIN,
				 addr_format(&peer.addr, text, sizeof(text)), peer.port),
		0);
	*relay = c.relay;
}

static void check(unsigned int i, uint32_t ports, const struct endpoint *relay)
{
	const struct fixture_client c = client_nth(i);
	const struct endpoint peer = peer_nth(i, ports);
	const struct turn_plan *plan = fixture_from_peer(&f, relay, &peer, "x", 1);
	struct turn_path path;

	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	assert_true(endpoint_eq(&path.dst, &c.endpoint));
}

// Ends the allocations [first, first + ENDS). Returns the seconds it took.
static double end(unsigned int first)
{
	uint32_t slots[ENDS];
	double start;

	for (unsigned int i = 0; i < ENDS; i++) {
		const struct fixture_client c = client_nth(first + i);
		struct turn_view v = {.src = c.endpoint.addr,
			.src_port = c.endpoint.port,
			.listener = c.listener,
			.hash = shard_client_hash(
				f.shard, &c.endpoint.addr, c.endpoint.port, c.listener)};

		slots[i] = alloc_lookup(f.shard, &v);
		assert_int_not_equal(slots[i], TURN_NONE);
	}
	start = fixture_seconds();
	for (unsigned int i = 0; i < ENDS; i++)
		alloc_end(f.shard, slots[i], TURN_END_KILLED);
	return fixture_seconds() - start;
}

static void test_many(void **state)
{
	const char *env = getenv("SHARED_ALLOCATIONS");
	const unsigned int n = env != NULL ? (unsigned int)strtoul(env, NULL, 0) : ALLOCATIONS;
	struct endpoint *relay = calloc(n, sizeof(*relay));
	struct turn_config c = fixture_config();
	struct turn_stats stats;
	double start, few = 0;
	uint32_t ports;

	assert_non_null(relay);
	assert_in_range(n, 3 * ENDS, ALLOCATIONS);
	c.shared.enabled = true;
	c.port_lo = 3480;
	c.port_hi = 3487;
	c.nonce_lifetime_s = 86400;
	c.limits.allocations = n;
	c.shared.peers = 256;
	c.shared.peer_share = 100;
	c.pools.per_user = 100;
	ports = c.port_hi - c.port_lo + 1u;
	fixture_open(&f, &c, 1);
	printf("memory: %.1f bytes an allocation with one channel\n",
		(double)turn_shard_size(&f.params) / n);
	start = fixture_seconds();
	for (unsigned int i = 0; i < n; i++) {
		if (i == 2 * ENDS) {
			few = end(0);
			fixture_advance(&f, 1);
			for (unsigned int k = 0; k < ENDS; k++)
				make(k, ports, &relay[k]);
		}
		make(i, ports, &relay[i]);
	}
	printf("made: %u in %.1f s\n", n, fixture_seconds() - start);
	turn_shard_stats(f.shard, &stats);
	assert_int_equal(stats.allocations, n);
	assert_int_equal(stats.endpoints, n);
	start = fixture_seconds();
	for (unsigned int i = 0; i < n; i++)
		check(i, ports, &relay[i]);
	printf("found: %.0f ns each\n", (fixture_seconds() - start) / n * 1e9);
	printf("ended: %.0f ns each with %u in all, %.0f ns with %u\n", few / ENDS * 1e9, 2 * ENDS,
		end(n - ENDS) / ENDS * 1e9, n);
	turn_shard_stats(f.shard, &stats);
	assert_int_equal(stats.endpoints, n - ENDS);
	for (unsigned int i = 0; i < n - ENDS; i += 97)
		check(i, ports, &relay[i]);
	fixture_close(&f);
	free(relay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
