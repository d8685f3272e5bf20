// SPDX-License-Identifier: BSD-3-Clause
// The allocation that an ICMP error belongs to, and the indication to its client (RFC 8656 sections
// 11.5 and 18.13).
#include "bytes.h"
#include "stun.h"
#include "turn_fixture.h"
#include "turn_icmp.h"

#define PEER "10.99.0.9"

static struct fixture f;
static struct fixture_client ivan, eve;

// An error about a datagram from a relayed transport address to a peer.
static struct turn_icmp error(const struct endpoint *relay, const char *peer, uint16_t port)
{
	struct turn_icmp e = {
		.relay = *relay, .peer = fixture_endpoint(peer, port), .type = 3, .code = 3};
	const int index = turn_relay_map_find(f.map, &relay->addr);
	unsigned int worker;

	assert_true(index >= 0);
	assert_true(turn_relay_map_home(f.map, (unsigned int)index, relay->port, &worker, &e.slot));
	return e;
}

static enum turn_drop judge(const struct endpoint *relay, const char *peer, uint16_t port)
{
	struct turn_icmp e = error(relay, peer, port);
	const enum turn_drop reason = turn_icmp_judge(f.shard, &e);

	return reason == TURN_OK && !turn_icmp_allows(f.shard, e.slot) ? TURN_DROP_ICMP_RATE
								       : reason;
}

static int setup(void **state)
{
	ivan = fixture_open_ivan(&f);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

// Byte by byte, by figure 11 of section 18.13 and RFC 8489 sections 5 and 14.
static void the_indication_has_both_attributes(void **state)
{
	static const uint8_t start[8] = {0x00, 0x17, 0, 24, 0x21, 0x12, 0xa4, 0x42};
	// 7000 ^ 0x2112, 10.99.0.9 ^ 0x2112a442
	static const uint8_t rest[24] = {0x00, 0x12, 0, 8, 0, 1, 0x3a, 0x4a, 0x2b, 0x71, 0xa4, 0x4b,
		0x80, 0x04, 0, 8, 0, 0, 3, 4, 0, 0, 0x05, 0x14};
	struct turn_icmp e = error(&ivan.relay, PEER, 7000);
	uint8_t out[TURN_ICMP_LEN_MAX], again[TURN_ICMP_LEN_MAX];

	e.code = 4;
	e.data = 1300;
	assert_int_equal(turn_icmp_judge(f.shard, &e), TURN_OK);
	assert_int_equal(turn_icmp_indication(f.shard, &e, out), 44);
	assert_memory_equal(out, start, sizeof(start));
	assert_memory_equal(out + 20, rest, sizeof(rest));
	assert_int_equal(turn_icmp_indication(f.shard, &e, again), 44);
	assert_memory_not_equal(out + 8, again + 8, 12); // another transaction
}

static void over_ipv6_the_peer_takes_twelve_bytes_more(void **state)
{
	struct fixture_client six = fixture_client("2001:db8::7", 5000);
	uint8_t out[TURN_ICMP_LEN_MAX];
	struct turn_icmp e;
	struct endpoint peer;
	struct stun_msg m;
	int family;

	assert_int_equal(fixture_allocate(&f, &six, 6), 0);
	assert_int_equal(fixture_permit(&f, &six, "fd99::9"), 0);
	e = error(&six.relay, "fd99::9", 7000);
	e.type = 2;
	e.code = 0;
	e.data = 0x01020304;
	assert_int_equal(turn_icmp_judge(f.shard, &e), TURN_OK);
	assert_int_equal(turn_icmp_indication(f.shard, &e, out), TURN_ICMP_LEN_MAX);
	assert_int_equal(stun_parse(out, TURN_ICMP_LEN_MAX, &m), 0);
	assert_int_equal(m.method, STUN_DATA);
	assert_int_equal(m.cls, STUN_INDICATION);
	assert_false(stun_has(&m, STUN_DATA_ATTR));
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &peer, &family));
	assert_int_equal(family, 6);
	assert_true(endpoint_eq(&peer, &e.peer));
	assert_int_equal(m.alen[STUN_ICMP], 8);
	assert_memory_equal(out + m.off[STUN_ICMP], "\0\0\2\0\1\2\3\4", 8);
}

// "Only addresses are compared and port numbers are not considered"; a channel changes nothing.
static void any_port_of_a_permitted_address_will_do(void **state)
{
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PEER, 7000), 0);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_OK);
	assert_int_equal(judge(&ivan.relay, PEER, 9), TURN_OK);
	assert_int_equal(judge(&ivan.relay, "10.99.0.10", 7000), TURN_DROP_ICMP_NO_PERMISSION);
}

static void it_takes_a_live_permission(void **state)
{
	fixture_advance(&f, 299999);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_OK);
	fixture_advance(&f, 1);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_DROP_ICMP_NO_PERMISSION);
}

static void it_takes_a_live_allocation(void **state)
{
	struct endpoint missing = ivan.relay;

	missing.port = (uint16_t)(missing.port ^ 2);
	assert_int_equal(judge(&missing, PEER, 7000), TURN_DROP_ICMP_NO_ALLOCATION);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_OK);
	fixture_advance(&f, 600000); // not swept yet
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_DROP_ICMP_NO_ALLOCATION);
	fixture_expire(&f);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_DROP_ICMP_NO_ALLOCATION);
}

// A peer of a pool sees another address of the server: errors quote that address.
static void a_peer_of_a_pool_has_seen_the_pools_address(void **state)
{
	struct turn_config c = fixture_config();
	struct addr stand_in = fixture_endpoint("10.97.0.1", 0).addr;
	struct prefix net;
	struct turn_relay_pool pool = {.name = "dc",
		.addresses = &stand_in,
		.nb_addresses = 1,
		.peers = &net,
		.nb_peers = 1};
	struct turn_icmp e;

	fixture_close(&f);
	assert_int_equal(addr_prefix_parse("10.99.0.0/28", &net), 0);
	c.relay_pools = &pool;
	c.nb_relay_pools = 1;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.99"), 0);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_DROP_ICMP_NO_ALLOCATION);
	assert_int_equal(judge(&ivan.relay, "10.99.0.99", 7000), TURN_OK);
	e = error(&ivan.relay, PEER, 7000);
	e.relay.addr = stand_in;
	assert_int_equal(turn_icmp_judge(f.shard, &e), TURN_OK);
	e = error(&ivan.relay, "10.99.0.99", 7000);
	e.relay.addr = stand_in;
	assert_int_equal(turn_icmp_judge(f.shard, &e), TURN_DROP_ICMP_NO_ALLOCATION);
}

#ifdef FEATURE_SHARED
// Several allocations share one address: the peer's address and port tell which of them the error
// belongs to.
static void on_a_shared_address_the_peer_tells(void **state)
{
	struct turn_config c = fixture_config();
	struct turn_icmp e;

	fixture_close(&f);
	c.shared.enabled = true;
	c.port_lo = c.port_hi = 3480;
	c.limits.allocations = 16;
	c.shared.peers = 4;
	c.shared.peer_share = 100;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_true(endpoint_eq(&ivan.relay, &eve.relay));
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, PEER, 7000), 0);
	assert_int_equal(fixture_bind(&f, &eve, 0x4000, PEER, 7001), 0);
	for (unsigned int i = 0; i < 2; i++) {
		const struct endpoint *client = i == 0 ? &ivan.endpoint : &eve.endpoint;

		e = error(&ivan.relay, PEER, (uint16_t)(7000 + i));
		assert_int_equal(turn_icmp_judge(f.shard, &e), TURN_OK);
		assert_true(addr_eq(
			&turn_shard_lines(f.shard)[e.slot].end[TURN_FROM_CLIENT], &client->addr));
	}
	assert_int_equal(judge(&ivan.relay, PEER, 7002), TURN_DROP_ICMP_NO_ALLOCATION);
}
#endif

static void each_allocation_has_its_own_budget(void **state)
{
	struct turn_config c = fixture_config();

	fixture_close(&f);
	c.limits.icmp = (struct limit){2, 3};
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_client("198.51.100.8", 6000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	assert_int_equal(fixture_permit(&f, &eve, PEER), 0);
	// errors refused for another reason do not count
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(
			judge(&ivan.relay, "10.99.0.10", 7000), TURN_DROP_ICMP_NO_PERMISSION);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(
			judge(&ivan.relay, PEER, 7000), i < 3 ? TURN_OK : TURN_DROP_ICMP_RATE);
	assert_int_equal(judge(&eve.relay, PEER, 7000), TURN_OK);
	fixture_advance(&f, 500);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_OK);
	assert_int_equal(judge(&ivan.relay, PEER, 7000), TURN_DROP_ICMP_RATE);
}

static bool tells(const struct fixture_client *c)
{
	struct turn_icmp e = error(&c->relay, PEER, 7000);

	assert_int_equal(turn_icmp_judge(f.shard, &e), TURN_OK);
	return turn_icmp_tells(f.shard, e.slot);
}

// RFC 8489 9.2.5: a client that knows it returns the PASSWORD-ALGORITHMS of the challenge.
static void the_told_client_is_chosen(void **state)
{
	static const struct {
		uint8_t tell; // enum turn_icmp_tell
		bool old, new;
	} t[] = {{TURN_ICMP_TELL_RFC8489, false, true}, {TURN_ICMP_TELL_ALL, true, true},
		{TURN_ICMP_TELL_NONE, false, false}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct turn_config c = fixture_config();

		fixture_close(&f);
		c.icmp_tell = t[i].tell;
		fixture_open(&f, &c, 1);
		ivan = fixture_client("198.51.100.7", 5000);
		eve = fixture_eve("198.51.100.8", 6000);
		eve.alg = STUN_ALG_SHA256;
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
		assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
		assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
		assert_int_equal(fixture_permit(&f, &eve, PEER), 0);
		assert_int_equal(tells(&ivan), t[i].old);
		assert_int_equal(tells(&eve), t[i].new);
	}
}

// The next user of a slot is another client: nothing is left of the knowledge about the last one.
static void the_next_client_of_a_slot_inherits_no_knowledge(void **state)
{
	struct turn_config c = fixture_config();
	struct fixture_client after;

	fixture_close(&f);
	c.port_lo = c.port_hi = 50000;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	ivan.alg = STUN_ALG_SHA256;
	after = fixture_eve("198.51.100.8", 6000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	assert_true(tells(&ivan));
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	fixture_advance(&f, 1);
	assert_int_equal(fixture_allocate(&f, &after, 4), 0);
	assert_true(endpoint_eq(&ivan.relay, &after.relay));
	assert_int_equal(fixture_permit(&f, &after, PEER), 0);
	assert_false(tells(&after));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_indication_has_both_attributes),
		TEST(over_ipv6_the_peer_takes_twelve_bytes_more),
		TEST(any_port_of_a_permitted_address_will_do),
		TEST(it_takes_a_live_permission),
		TEST(it_takes_a_live_allocation),
		TEST(a_peer_of_a_pool_has_seen_the_pools_address),
#ifdef FEATURE_SHARED
		TEST(on_a_shared_address_the_peer_tells),
#endif
		TEST(each_allocation_has_its_own_budget),
		TEST(the_told_client_is_chosen),
		TEST(the_next_client_of_a_slot_inherits_no_knowledge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
