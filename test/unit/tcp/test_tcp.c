// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations against RFC 6062: checks of requests, and their orders. Nothing of a TCP
// allocation is ever usable over UDP.
#include "feature_names.h"
#include "turn_fixture.h"

#include <limits.h>
#include <stdio.h>

#include "addr_text.h"
#include "shard_rows.h"
#include "turn_listing.h"
#include "turn_tcp.h"

static struct fixture f;
static struct fixture_client ivan, eve;

// The usual configuration, with a TCP listener, which the clients of this test use.
static struct turn_config config(void)
{
	struct turn_config c = fixture_config();

	fixture_add_tcp(&c, 61000, 61003);
	c.pools.per_user = 100; // one user has all of them
	return c;
}

static int setup(void **state)
{
	const struct turn_config c = config();

	*state = &f;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	ivan.listener = eve.listener = 2;
	return 0;
}

// --- answers -------------------------------------------------------------------------------------

static const struct turn_order *order(void)
{
	return &f.burst.side.order;
}

// Parses an answer for the order that the last request got. It must be signed and answer that
// request. Returns its code.
static unsigned int outcome(const struct fixture_client *c, enum turn_answer which)
{
	const uint8_t *answer = f.burst.side.front;
	const uint8_t *value;
	unsigned int total = 0;

	assert_int_equal(f.burst.plan.verdict, TURN_REPLY);
	assert_true((f.burst.plan.flags & TURN_PLAN_ORDER) != 0);
	for (unsigned int i = 0; i < TURN_ANSWER_END; i++) {
		answer += i < which ? order()->len[i] : 0;
		total += order()->len[i];
	}
	assert_int_equal(total, f.burst.plan.front_len);
	assert_int_equal(stun_parse(answer, order()->len[which], &f.answer), 0);
	assert_memory_equal(stun_tid(&f.answer), f.datagram + 8, STUN_TID_LEN);
	assert_true(fixture_signed(&f, c));
	if (f.answer.cls == STUN_SUCCESS)
		return 0;
	value = f.answer.data + f.answer.off[STUN_ERROR_CODE];
	return value[2] * 100u + value[3];
}

// Signs and sends the request. Returns the code of the answer, or UINT_MAX if it got an order.
static unsigned int ask(struct fixture_client *c)
{
	fixture_sign(&f, c);
	fixture_send(&f, c);
	return (f.burst.plan.flags & TURN_PLAN_ORDER) != 0 ? UINT_MAX : fixture_code(&f);
}

static void begin_allocate(void)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, UINT32_C(6) << 24);
}

// Allocates; peers would connect to c->relay.
static void allocate(struct fixture_client *c)
{
	begin_allocate();
	assert_int_equal(ask(c), UINT_MAX);
	assert_int_equal(outcome(c, TURN_ANSWER_DONE), 0);
	c->relay = fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS);
}

static unsigned int connect_to(struct fixture_client *c, const char *peer, uint16_t port)
{
	const struct endpoint e = fixture_endpoint(peer, port);

	fixture_begin(&f, STUN_REQUEST, STUN_CONNECT);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &e);
	return ask(c);
}

static unsigned int bind_id(struct fixture_client *c, uint32_t id)
{
	fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
	stun_put_u32(&f.w, STUN_CONNECTION_ID, id);
	return ask(c);
}

// --- Allocate (5.1) ------------------------------------------------------------------------------

static void allocate_orders_a_port_to_listen(void **state)
{
	const struct turn_order *o = order();
	uint32_t lifetime;

	allocate(&ivan);
	assert_true(addr_eq(&ivan.relay.addr, &f.config.relay[0]));
	assert_in_range(ivan.relay.port, 61000, 61003);
	assert_true(stun_get_u32(&f.answer, STUN_LIFETIME, &lifetime));
	assert_int_equal(lifetime, 600);
	assert_int_equal(o->kind, TURN_ORDER_LISTEN);
	assert_true(endpoint_eq(&o->endpoint, &ivan.relay));
	assert_int_equal(o->port_index, ivan.relay.port - 61000);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_NO_PORT), 508);
	assert_true(turn_tcp_table_lives(f.shard, o->port_index, o->allocation));
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(f.told.made, 1);
	assert_true(endpoint_eq(&fixture_event(&f, 0)->relay, &ivan.relay));
	assert_int_equal(f.lines_made, 0); // the data path has no line for it
}

static void allocate_for_another_protocol_is_refused(void **state)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, UINT32_C(132) << 24);
	assert_int_equal(ask(&ivan), 442);
}

static void allocate_over_udp_is_refused(void **state)
{
	ivan.listener = 0;
	begin_allocate();
	assert_int_equal(ask(&ivan), 400);
	assert_int_equal(f.told.refused[TURN_REFUSED_TCP_CLIENT], 1);
}

static void allocate_with_attributes_for_udp_is_refused(void **state)
{
	begin_allocate();
	stun_put(&f.w, STUN_DONT_FRAGMENT, "", 0);
	assert_int_equal(ask(&ivan), 400);
	begin_allocate();
	stun_put(&f.w, STUN_EVEN_PORT, "", 1);
	assert_int_equal(ask(&ivan), 400);
#ifdef FEATURE_RESERVATIONS
	begin_allocate();
	stun_put(&f.w, STUN_RESERVATION_TOKEN, "12345678", 8);
	assert_int_equal(ask(&ivan), 400);
#endif
	assert_int_equal(fixture_stats(&f).allocations, 0);
}

static void every_allocation_has_a_port_of_its_own(void **state)
{
	struct fixture_client c[5];
	uint16_t first = 0;

	for (unsigned int i = 0; i < 4; i++) {
		c[i] = fixture_client("198.51.100.9", (uint16_t)(7000 + i));
		c[i].listener = 2;
		allocate(&c[i]);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(c[i].relay.port, c[k].relay.port);
	}
	c[4] = fixture_client("198.51.100.9", 7004);
	c[4].listener = 2;
	begin_allocate();
	assert_int_equal(ask(&c[4]), 508);
	first = c[0].relay.port;
	assert_int_equal(fixture_refresh(&f, &c[0], 0), 0);
	allocate(&c[4]);
	assert_int_equal(c[4].relay.port, first);
}

static void a_retransmission_gets_the_address_again(void **state)
{
	struct endpoint relay;

	allocate(&ivan);
	fixture_resend(&f, &ivan);
	assert_int_equal(fixture_code(&f), 0);
	relay = fixture_answer_addr(&f, STUN_XOR_RELAYED_ADDRESS);
	assert_true(endpoint_eq(&relay, &ivan.relay));
	begin_allocate();
	assert_int_equal(ask(&ivan), 437);
}

static void it_counts_in_quotas(void **state)
{
	struct turn_config c = config();
	struct fixture_client second = fixture_client("198.51.100.9", 7000);

	fixture_close(&f);
	c.limits.per_user = 1;
	fixture_open(&f, &c, 1);
	second.listener = 2;
	allocate(&ivan);
	begin_allocate();
	assert_int_equal(ask(&second), 486);
	assert_int_equal(fixture_allocate(&f, &second, 4), 486); // a UDP allocation
}

static void without_the_key_allocate_is_refused(void **state)
{
	struct turn_config c = config();

	fixture_close(&f);
	c.tcp.enabled = false;
	fixture_open(&f, &c, 1);
	begin_allocate();
	assert_int_equal(ask(&ivan), 442);
	fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
	stun_put_u32(&f.w, STUN_CONNECTION_ID, 1);
	fixture_sign(&f, &ivan);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_METHOD);
}

// --- separation from UDP -------------------------------------------------------------------------

static void no_datagram_is_relayed(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);
	struct endpoint relay;

	allocate(&ivan);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(fixture_bind(&f, &ivan, 0x4000, "10.99.0.9", 7000), 403);
	assert_int_equal(fixture_drop(fixture_channel_data(&f, &ivan, 0x4000, "x", 1)),
		TURN_DROP_NO_ALLOCATION);
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&f.w, STUN_DATA_ATTR, "x", 1);
	assert_int_equal(fixture_drop(fixture_send(&f, &ivan)), TURN_DROP_NO_ALLOCATION);
	// nor is a peer's datagram relayed, to whatever port of the address
	relay.addr = ivan.relay.addr;
	for (uint32_t port = f.config.port_lo; port <= f.config.port_hi; port++) {
		relay.port = (uint16_t)port;
		assert_int_equal(fixture_drop(fixture_from_peer(&f, &relay, &peer, "x", 1)),
			TURN_DROP_PEER_NO_ALLOCATION);
	}
}

static void time_passes(void **state)
{
	struct turn_order was;
	struct turn_info row;

	allocate(&ivan);
	was = *order();
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	fixture_advance(&f, 400000);
	fixture_expire(&f); // expiry of the permission
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	fixture_advance(&f, 400000);
	fixture_expire(&f);
	turn_tcp_table_counted(f.shard, was.port_index, was.allocation, 3);
	assert_int_equal(shard_rows(f.shard, &row, 1), 1);
	assert_true(row.is_tcp);
	assert_int_equal(row.connections, 3);
	assert_true(endpoint_eq(&row.relay, &ivan.relay));
	assert_true(turn_tcp_table_lives(f.shard, was.port_index, was.allocation));
	fixture_advance(&f, 200001);
	fixture_expire(&f);
	assert_false(turn_tcp_table_lives(f.shard, was.port_index, was.allocation));
	assert_int_equal(fixture_stats(&f).allocations, 0);
	turn_tcp_table_counted(
		f.shard, was.port_index, was.allocation, 3); // too late, and harmless
}

static void a_port_that_was_not_opened_ends_it(void **state)
{
	allocate(&ivan);
	turn_tcp_ended(f.shard, order()->port_index, order()->allocation + 1); // of another
	assert_int_equal(fixture_stats(&f).allocations, 1);
	turn_tcp_ended(f.shard, order()->port_index, order()->allocation);
	assert_int_equal(fixture_stats(&f).allocations, 0);
	assert_int_equal(f.told.ended[TURN_END_PORT], 1);
}

// --- Connect (5.2) -------------------------------------------------------------------------------

static void connect_orders_a_connection(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 80);
	uint32_t id, next;
	uint64_t allocation;

	allocate(&ivan);
	allocation = order()->allocation;
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 80), UINT_MAX);
	assert_int_equal(order()->kind, TURN_ORDER_CONNECT);
	assert_true(order()->allocation == allocation);
	assert_true(endpoint_eq(&order()->endpoint, &peer));
	assert_int_equal(outcome(&ivan, TURN_ANSWER_DONE), 0);
	assert_true(stun_get_u32(&f.answer, STUN_CONNECTION_ID, &id));
	assert_int_equal(id, order()->id);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_EXISTS), 446);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_FAILED), 447);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_QUOTA), 486);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_DENIED), 403);
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 81), UINT_MAX);
	next = order()->id;
	assert_int_not_equal(next, id);
	assert_int_not_equal(next, id + 1);
}

// A Connect needs no permission, so it is told itself, with its port.
static void connect_tells_its_peer(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 80);
	struct turn_config c = config();

	c.tells_peers = true;
	fixture_close(&f);
	fixture_open(&f, &c, 1);
	allocate(&ivan);
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 0), 403);
	assert_int_equal(f.told.peers, 0);
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 80), UINT_MAX);
	assert_int_equal(f.told.peers, 1);
	assert_int_equal(fixture_event(&f, 0)->kind, TURN_EVENT_PEER);
	assert_true(endpoint_eq(&fixture_event(&f, 0)->peer, &peer));
}

static void connect_is_refused(void **state)
{
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 80), 437);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	assert_int_equal(connect_to(&eve, "10.99.0.9", 80), 403); // a UDP allocation
	allocate(&ivan);
	fixture_begin(&f, STUN_REQUEST, STUN_CONNECT);
	assert_int_equal(ask(&ivan), 400);
	assert_int_equal(connect_to(&ivan, "fd99::9", 80), 443);
	assert_int_equal(connect_to(&ivan, "192.0.2.1", 80), 403); // not allowed
	assert_int_equal(connect_to(&ivan, "127.0.0.1", 80), 403);
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 0), 403);
	assert_int_equal(connect_to(&ivan, "10.99.0.1", 80), 403); // an address of this server
	assert_int_equal(f.told.refused[TURN_REFUSED_TCP_OWN], 1);
	// a relayed transport address is a peer like others, even if it is unused
	assert_int_equal(connect_to(&ivan, "10.99.0.1", 61003), UINT_MAX);
	assert_int_equal(order()->peer_index, 3);
	assert_int_equal(connect_to(&ivan, "10.99.0.1", 61004), 403);
	assert_int_equal(connect_to(&ivan, "10.99.0.9", 61003), UINT_MAX);
	assert_int_equal(order()->peer_index, TURN_NONE);
}

// Other hosts that share an external address of the server (peers.allow names it) are peers over
// TCP, too, at ports that are neither TCP listeners nor TCP relay ports. UDP ports belong to those
// hosts.
static void connect_to_others_at_an_external_address(void **state)
{
	const struct endpoint peer = fixture_endpoint("203.0.113.1", 50001);
	struct turn_local local = {
		.addr = addr_text("10.99.0.1"), .external = addr_text("203.0.113.1")};
	struct prefix allow = addr_text_prefix("203.0.113.1/32");
	struct turn_config c = config();

	fixture_close(&f);
	local.subnet = (struct prefix){.addr = local.addr, .len = 128};
	c.local = &local;
	c.nb_local = 1;
	for (int named = 0; named < 2; named++) {
		c.allow = &allow;
		c.nb_allow = (uint32_t)named;
		fixture_open(&f, &c, 1);
		ivan = fixture_client("198.51.100.7", 5000);
		ivan.listener = 2;
		allocate(&ivan);
		assert_int_equal(turn_tcp_may_be_peer(f.policy, 0, &peer), named);
		assert_int_equal(connect_to(&ivan, "203.0.113.1", 50001), named ? UINT_MAX : 403);
		if (named) {
			assert_int_equal(order()->peer_index, TURN_NONE);
			assert_true(endpoint_eq(&order()->endpoint, &peer));
		}
		assert_int_equal(connect_to(&ivan, "203.0.113.1", 0), 403);
		assert_int_equal(connect_to(&ivan, "203.0.113.1", 3478), 403);
		assert_int_equal(connect_to(&ivan, "203.0.113.1", 61003), UINT_MAX);
		assert_int_equal(order()->peer_index, 3);
		if (named == 0)
			fixture_close(&f);
	}
}

// Threads check a connection's peer by the same rules, with or without a permission.
static void rules_hold_for_connections(void **state)
{
	static const struct {
		const char *peer;
		uint16_t port;
		bool allowed;
	} t[] = {
		{"10.99.0.9", 80, true}, {"fd99::9", 80, true},
		{"192.0.2.1", 80, false}, // not allowed
		{"127.0.0.1", 80, false}, {"10.99.0.9", 0, false},
		{"10.99.0.1", 61003, true}, // a relayed transport address
	};
	struct turn_config c = f.config;

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct endpoint e = fixture_endpoint(t[i].peer, t[i].port);

		assert_int_equal(turn_tcp_may_be_peer(f.policy, 0, &e), t[i].allowed);
	}
	c.hairpin = false;
	for (unsigned int i = 0; i < 2; i++) {
		static const uint8_t key[32];
		struct turn_policy *fresh = turn_policy_create(&c, f.crypto, key);
		const struct endpoint e =
			fixture_endpoint(i == 0 ? "10.99.0.9" : "10.99.0.1", 61003);

		assert_int_equal(turn_tcp_may_be_peer(fresh, 0, &e), i == 0);
		turn_policy_free(fresh);
	}
}

// No two connections have one number.
static void numbers_are_not_given_twice(void **state)
{
	static uint8_t seen[1 << 13];
	unsigned int twice = 0;

	allocate(&ivan);
	memset(seen, 0, sizeof(seen));
	for (unsigned int i = 0; i < 512; i++) {
		uint32_t bit;

		assert_int_equal(connect_to(&ivan, "10.99.0.9", 80), UINT_MAX);
		assert_int_not_equal(order()->id, 0);
		bit = order()->id >> 6 & 0xffff;
		twice += seen[bit >> 3] >> (bit & 7) & 1;
		seen[bit >> 3] |= (uint8_t)(1 << (bit & 7));
	}
	assert_in_range(twice, 0, 20); // for 16 numbers of 26 bits; about 2 are expected
}

// --- ConnectionBind (5.4) ------------------------------------------------------------------------

static void connection_bind_says_who_asks(void **state)
{
	struct turn_order of_ivan;

	assert_int_equal(bind_id(&ivan, 77), UINT_MAX);
	of_ivan = *order();
	assert_int_equal(of_ivan.kind, TURN_ORDER_BIND);
	assert_int_equal(of_ivan.id, 77);
	assert_int_equal(of_ivan.listener, 2);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_DONE), 0);
	assert_int_equal(outcome(&ivan, TURN_ANSWER_UNKNOWN), 400);
	assert_int_equal(bind_id(&eve, 77), UINT_MAX);
	assert_memory_not_equal(of_ivan.ident, order()->ident, sizeof(of_ivan.ident));
	assert_int_equal(fixture_stats(&f).allocations, 0); // and creates nothing here
}

// pion's client signs it with the nonce of its control connection, without a request for its own.
static void connection_bind_takes_the_nonce_of_the_control_connection(void **state)
{
	struct fixture_client data = fixture_client("198.51.100.7", 5001);

	allocate(&ivan);
	data.listener = 2;
	data.nonce_len = ivan.nonce_len;
	memcpy(data.nonce, ivan.nonce, ivan.nonce_len);
	assert_int_equal(bind_id(&data, 77), UINT_MAX);
	assert_int_equal(connect_to(&data, "10.99.0.9", 80), 438); // only that request
	begin_allocate();
	assert_int_equal(ask(&data), 438);
	data.endpoint.addr = eve.endpoint.addr;
	assert_int_equal(bind_id(&data, 77), 438); // only from that address
}

// After a 300, Chromium goes to another server of the fleet with the nonce of the first.
static void allocate_in_a_fleet_takes_the_nonce_of_another_port(void **state)
{
	struct turn_config c = config();
	struct fixture_client moved = fixture_client("198.51.100.7", 5001);

	fixture_close(&f);
	c.nonce_secret = (char *)"of the fleet";
	fixture_open(&f, &c, 1);
	allocate(&ivan);
	moved.listener = 2;
	moved.nonce_len = ivan.nonce_len;
	memcpy(moved.nonce, ivan.nonce, ivan.nonce_len);
	begin_allocate();
	assert_int_equal(ask(&moved), UINT_MAX);
	assert_int_equal(connect_to(&moved, "10.99.0.9", 80), 438); // only that request
	moved.endpoint.addr = eve.endpoint.addr;
	begin_allocate();
	assert_int_equal(ask(&moved), 438); // only from that address
}

// A call whose REST name has expired still opens data connections.
static void an_expired_name_binds(void **state)
{
	struct fixture_client ann = ivan, data = ivan;
	char name[40], password[STUN_REST_PASSWORD_SIZE];

	snprintf(name, sizeof(name), "%u:ann", FIXTURE_WALL_S + 300);
	assert_true(stun_rest_password(f.crypto, "s3cret", name, strlen(name), password));
	ann.user = data.user = name;
	ann.password = data.password = password;
	data.endpoint.port++;
	allocate(&ann);
	fixture_advance(&f, 302 * 1000);
	ann.nonce_len = 0;
	assert_int_equal(connect_to(&ann, "10.99.0.9", 80), UINT_MAX);
	assert_int_equal(bind_id(&data, 77), UINT_MAX);
	begin_allocate();
	assert_int_equal(ask(&data), 401);
}

static void connection_bind_is_refused(void **state)
{
	fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
	assert_int_equal(ask(&ivan), 400);
	fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
	stun_put(&f.w, STUN_CONNECTION_ID, "12", 2);
	assert_int_equal(ask(&ivan), 400);
	allocate(&ivan);
	assert_int_equal(bind_id(&ivan, 77), 403); // a control connection
	ivan = fixture_client("198.51.100.9", 5001);
	assert_int_equal(bind_id(&ivan, 77), 400); // over UDP
	ivan.password = "guess";
	ivan.listener = 2;
	ivan.nonce_len = 0;
	assert_int_equal(bind_id(&ivan, 77), 401);
}

// --- ConnectionAttempt (5.3) ---------------------------------------------------------------------

static void a_peer_needs_a_permission(void **state)
{
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 80);
	static struct turn_side side;
	struct turn_order was;
	struct endpoint told;
	struct stun_msg m;
	uint32_t id;
	int family;

	allocate(&ivan);
	was = *order();
	turn_tcp_attempt(f.shard, was.port_index, was.allocation, &peer, &side);
	assert_int_equal(side.order.kind, TURN_ORDER_ADMIT);
	assert_int_equal(side.order.id, 0);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	turn_tcp_attempt(f.shard, was.port_index, was.allocation + 1, &peer, &side); // of another
	assert_int_equal(side.order.id, 0);
	turn_tcp_attempt(f.shard, was.port_index, was.allocation, &peer, &side);
	assert_int_not_equal(side.order.id, 0);
	assert_int_equal(stun_parse(side.front, side.order.len[TURN_ANSWER_DONE], &m), 0);
	assert_int_equal(m.cls, STUN_INDICATION);
	assert_int_equal(m.method, STUN_CONNECTION_ATTEMPT);
	assert_true(stun_get_u32(&m, STUN_CONNECTION_ID, &id));
	assert_int_equal(id, side.order.id);
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &told, &family));
	assert_true(endpoint_eq(&told, &peer));
	fixture_advance(&f, 300001); // the permission has expired
	turn_tcp_attempt(f.shard, was.port_index, was.allocation, &peer, &side);
	assert_int_equal(side.order.id, 0);
	turn_tcp_attempt(f.shard, 1000000, was.allocation, &peer, &side);
	assert_int_equal(side.order.id, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(allocate_orders_a_port_to_listen),
		TEST(allocate_for_another_protocol_is_refused),
		TEST(allocate_over_udp_is_refused),
		TEST(allocate_with_attributes_for_udp_is_refused),
		TEST(every_allocation_has_a_port_of_its_own),
		TEST(a_retransmission_gets_the_address_again),
		TEST(it_counts_in_quotas),
		TEST(without_the_key_allocate_is_refused),
		TEST(no_datagram_is_relayed),
		TEST(time_passes),
		TEST(a_port_that_was_not_opened_ends_it),
		TEST(connect_orders_a_connection),
		TEST(connect_tells_its_peer),
		TEST(connect_is_refused),
		TEST(connect_to_others_at_an_external_address),
		TEST(rules_hold_for_connections),
		TEST(numbers_are_not_given_twice),
		TEST(connection_bind_says_who_asks),
		TEST(connection_bind_takes_the_nonce_of_the_control_connection),
		TEST(allocate_in_a_fleet_takes_the_nonce_of_another_port),
		TEST(an_expired_name_binds),
		TEST(connection_bind_is_refused),
		TEST(a_peer_needs_a_permission),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
