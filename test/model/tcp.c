// SPDX-License-Identifier: BSD-3-Clause
// Random operations of RFC 6062 on one shard, as far as the shard decides: Allocate for TCP and
// UDP, Connect, ConnectionBind, peers that connect, bytes relayed by threads, time. A naive list of
// each client's state judges every answer and every order. TEST_SEED=n repeats a run, TEST_OPS=n
// sets its length.
#include <stdio.h>
#include <stdlib.h>

#include "feature_names.h"
#include "addr_text.h"
#include "shard_rows.h"
#include "turn_fixture.h"
#include "turn_listing.h"
#include "turn_tcp.h"
#include "turn_usage.h"

#define OPS 120000
#define CLIENTS 12
#define PORT_LO 61000
#define PORTS 6
#define PER_USER 5
#define PERMISSION_MS 300000
#define SWEEP_MS 16 // maximum by which sweeping lags behind
#define IDS 4096 // CONNECTION-IDs that are remembered
#define WANT UINT32_MAX // ask() has got an order

enum kind { NOTHING, UDP, TCP };

// The server's view of a peer; local: an address of the server itself.
static const struct peer {
	const char *ip;
	uint16_t port;
	bool denied, v6, local;
} peers[] = {
	{"10.99.0.9", 80, false, false, false},
	{"10.98.0.3", 443, false, false, false},
	{"fd99::9", 80, false, true, false},
	{"192.0.2.1", 80, true, false, false},
	{"127.0.0.1", 8080, true, false, false},
	{"10.99.0.9", 0, true, false, false},
	{"10.99.0.1", PORT_LO + 3, false, false, true},
	{"10.99.0.1", PORT_LO + PORTS, true, false, true},
	{"10.99.0.1", 3478, true, false, true},
};
#define PEERS (sizeof(peers) / sizeof(peers[0]))

static struct client {
	struct fixture_client c;
	bool eve, by_tcp;
	enum kind has;
	uint64_t expires_ms;
	struct turn_order listen; // of its TCP allocation
	uint64_t until_ms[PEERS]; // of permissions, by address
	uint64_t moved[2];
	uint32_t connections;
} client[CLIENTS];

static struct fixture f;
static struct test_rand rand_of;
static uint32_t ids[IDS];
static uint64_t done[16], ops, ended;
static uint8_t ident[2][TURN_ORDER_IDENT_LEN]; // of ivan and eve
static struct turn_order gone; // the last allocation that has ended

static bool one_in(uint32_t n)
{
	return test_rand_below(&rand_of, n) == 0;
}

static const struct turn_order *order(void)
{
	return &f.burst.side.order;
}

// --- the naive side ------------------------------------------------------------------------------

static bool live(const struct client *c)
{
	return c->has != NOTHING && f.now_ms < c->expires_ms;
}

static unsigned int count(
	bool (*matches)(const struct client *, const struct client *), const struct client *subject)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CLIENTS; i++)
		n += live(&client[i]) && matches(&client[i], subject);
	return n;
}

static bool same_user(const struct client *a, const struct client *b)
{
	return a->eve == b->eve;
}

static bool is_tcp(const struct client *a, const struct client *b)
{
	(void)b;
	return a->has == TCP;
}

static void end(struct client *c)
{
	if (c->has == TCP)
		gone = c->listen;
	c->has = NOTHING;
	memset(c->until_ms, 0, sizeof(c->until_ms));
	memset(c->moved, 0, sizeof(c->moved));
	c->connections = 0;
	ended++;
}

// Continues until it is certain which allocations exist.
static void sweep(void)
{
	bool unsure = true;

	while (unsure) {
		unsure = false;
		fixture_expire(&f);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			if (client[i].has == NOTHING || live(&client[i]))
				continue;
			if (f.now_ms >= client[i].expires_ms + SWEEP_MS)
				end(&client[i]);
			else
				unsure = true;
		}
		if (unsure)
			fixture_advance(&f, SWEEP_MS);
	}
}

// --- asking --------------------------------------------------------------------------------------

static unsigned int ask(struct client *c)
{
	fixture_sign(&f, &c->c);
	fixture_send(&f, &c->c);
	if ((f.burst.plan.flags & TURN_PLAN_ORDER) != 0)
		return WANT;
	return fixture_code(&f);
}

static void expect(const char *label, unsigned int got, unsigned int wanted)
{
	if (got != wanted)
		fail_msg("%s at operation %llu: %u, not %u", label, (unsigned long long)ops, got,
			wanted);
}

static void assert_order(const struct client *c, enum turn_order_kind kind)
{
	assert_int_equal(order()->kind, kind);
	assert_int_equal(order()->listener, c->c.listener);
	assert_memory_equal(order()->ident, ident[c->eve], sizeof(order()->ident));
}

static void put_peer(const struct peer *p)
{
	const struct endpoint e = fixture_endpoint(p->ip, p->port);

	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &e);
}

// --- operations ----------------------------------------------------------------------------------

static void allocate_tcp(struct client *c)
{
	static const enum stun_attr of_udp[] = {
		STUN_DONT_FRAGMENT,
		STUN_EVEN_PORT,
#ifdef FEATURE_RESERVATIONS
		STUN_RESERVATION_TOKEN,
#endif
	};
	static const uint16_t len[] = {0, 1, 8};
	const bool bad = one_in(6), sctp = one_in(12);
	const unsigned int which = test_rand_below(&rand_of, sizeof(of_udp) / sizeof(of_udp[0]));
	unsigned int wanted = WANT;

	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (sctp ? 132u : 6u) << 24);
	if (bad)
		stun_put(&f.w, of_udp[which], "\0\0\0\0\0\0\0\0", len[which]);
	if (live(c))
		wanted = 437;
	else if (sctp)
		wanted = 442;
	else if (!c->by_tcp || bad)
		wanted = 400;
	else if (count(same_user, c) == PER_USER)
		wanted = 486;
	else if (count(is_tcp, c) == PORTS)
		wanted = 508;
	expect("Allocate for TCP", ask(c), wanted);
	if (wanted != WANT)
		return;
	assert_order(c, TURN_ORDER_LISTEN);
	assert_in_range(order()->endpoint.port, PORT_LO, PORT_LO + PORTS - 1);
	assert_int_equal(order()->port_index, order()->endpoint.port - PORT_LO);
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_true(
			client[i].has != TCP || client[i].listen.port_index != order()->port_index);
	c->has = TCP;
	c->listen = *order();
	c->expires_ms = f.now_ms + 600000;
}

static void allocate_udp(struct client *c)
{
	const unsigned int wanted = live(c) ? 437 : count(same_user, c) == PER_USER ? 486 : 0;

	expect("Allocate", fixture_allocate(&f, &c->c, 4), wanted);
	if (wanted != 0)
		return;
	c->has = UDP;
	c->expires_ms = f.now_ms + 600000;
}

static void refresh(struct client *c)
{
	const uint32_t lifetime_s = one_in(3) ? 0 : 600 + test_rand_below(&rand_of, 600);

	expect("Refresh", fixture_refresh(&f, &c->c, lifetime_s), live(c) ? 0 : 437);
	if (!live(c))
		return;
	c->expires_ms = f.now_ms + lifetime_s * UINT64_C(1000);
	if (lifetime_s == 0)
		end(c);
}

// Permissions cover addresses with all their ports.
static void permit(struct client *c)
{
	const unsigned int i = test_rand_below(&rand_of, 4);
	const struct peer *p = &peers[i];
	const unsigned int wanted = !live(c) ? 437 : p->v6 ? 443 : p->denied ? 403 : 0;

	expect("CreatePermission", fixture_permit(&f, &c->c, p->ip), wanted);
	if (wanted == 0)
		c->until_ms[i] = f.now_ms + PERMISSION_MS;
}

static void assert_new(uint32_t id)
{
	assert_int_not_equal(id, 0);
	for (unsigned int i = 0; i < IDS; i++)
		assert_int_not_equal(ids[i], id);
	ids[done[2] % IDS] = id;
}

static void connect_to(struct client *c)
{
	const struct peer *p = &peers[test_rand_below(&rand_of, PEERS)];
	const struct endpoint e = fixture_endpoint(p->ip, p->port);
	const bool whole = !one_in(8);
	unsigned int wanted = WANT;

	fixture_begin(&f, STUN_REQUEST, STUN_CONNECT);
	if (whole)
		put_peer(p);
	if (!live(c))
		wanted = 437;
	else if (c->has == UDP)
		wanted = 403;
	else if (!whole)
		wanted = 400;
	else if (p->v6)
		wanted = 443;
	else if (p->denied)
		wanted = 403;
	expect("Connect", ask(c), wanted);
	if (wanted != WANT)
		return;
	assert_order(c, TURN_ORDER_CONNECT);
	assert_true(order()->allocation == c->listen.allocation);
	assert_int_equal(order()->port_index, c->listen.port_index);
	assert_true(endpoint_eq(&order()->endpoint, &e));
	assert_int_equal(order()->peer_index, p->local ? p->port - (uint32_t)PORT_LO : UINT32_MAX);
	assert_new(order()->id);
}

static void bind_id(struct client *c)
{
	const bool whole = !one_in(8);
	const uint32_t id = (uint32_t)test_rand(&rand_of);
	const unsigned int wanted = !c->by_tcp || !whole ? 400 : live(c) ? 403 : WANT;

	fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
	if (whole)
		stun_put_u32(&f.w, STUN_CONNECTION_ID, id);
	expect("ConnectionBind", ask(c), wanted);
	if (wanted != WANT)
		return;
	assert_order(c, TURN_ORDER_BIND);
	assert_int_equal(order()->id, id);
	assert_true(order()->allocation == 0);
}

static void attempt(struct client *c)
{
	const unsigned int i = test_rand_below(&rand_of, 4);
	const struct endpoint peer = fixture_endpoint(peers[i].ip, 40000);
	const bool late = c->has != TCP || one_in(6);
	const struct turn_order *o = late ? &gone : &c->listen;
	const bool allowed = !late && f.now_ms < c->until_ms[i];

	turn_tcp_attempt(f.shard, o->port_index, o->allocation, &peer, &f.burst.side);
	assert_int_equal(order()->kind, TURN_ORDER_ADMIT);
	if ((order()->id != 0) != allowed)
		fail_msg("a peer is %s at operation %llu", allowed ? "refused" : "let in",
			(unsigned long long)ops);
	if (allowed)
		assert_new(order()->id);
}

static void relay(struct client *c)
{
	const unsigned int leg = test_rand_below(&rand_of, 2);
	const uint32_t n = 1 + test_rand_below(&rand_of, 200000);
	const struct turn_order *o = c->has == TCP ? &c->listen : &gone;
	const struct turn_tcp_way w = {o->allocation, o->port_index, (uint8_t)leg};
	const struct turn_tcp_bytes bytes = {n, test_rand_below(&rand_of, n + 1)};

	assert_int_equal(turn_tcp_take(f.shard, &w, n, f.now_ms), c->has == TCP ? n : 0);
	turn_tcp_moved(f.shard, &w, &bytes, f.now_ms);
	turn_tcp_table_counted(f.shard, o->port_index, o->allocation, n);
	if (c->has != TCP)
		return;
	c->moved[leg] += bytes.moved;
	c->connections = n;
}

static void unopened(struct client *c)
{
	const struct turn_order *o = c->has == TCP && one_in(20) ? &c->listen : &gone;

	turn_tcp_ended(f.shard, o->port_index, o->allocation);
	if (o == &c->listen)
		end(c);
}

static void time_passes(void)
{
	fixture_advance(&f,
		one_in(8) ? test_rand_below(&rand_of, 300000) : test_rand_below(&rand_of, 2000));
	sweep();
	for (unsigned int i = 0; i < CLIENTS; i++)
		client[i].c.nonce_len = 0; // its time may be over
}

// --- the whole test ------------------------------------------------------------------------------

static void check_row(const struct client *c, const struct turn_info *row)
{
	assert_int_equal(row->is_tcp, c->has == TCP);
	assert_int_equal(row->expires_s, (c->expires_ms - f.now_ms + 999) / 1000);
	if (c->has != TCP)
		return;
	assert_int_equal(row->connections, c->connections);
	assert_true(endpoint_eq(&row->relay, &c->listen.endpoint));
	for (unsigned int leg = 0; leg < 2; leg++) {
		assert_true(row->usage.leg[leg].bytes == c->moved[leg]);
		assert_int_equal(row->usage.leg[leg].datagrams, 0);
	}
}

static void check_listing(void)
{
	struct turn_info row[CLIENTS];
	const unsigned int n = shard_rows(f.shard, row, CLIENTS);
	unsigned int lives = 0;

	for (unsigned int i = 0; i < CLIENTS; i++) {
		const struct client *c = &client[i];
		bool found = false;

		lives += live(c);
		assert_int_equal(c->has == TCP,
			c->listen.allocation != 0 &&
				turn_tcp_table_lives(
					f.shard, c->listen.port_index, c->listen.allocation));
		for (unsigned int k = 0; k < n; k++) {
			if (!endpoint_eq(&row[k].client, &c->c.endpoint))
				continue;
			check_row(c, &row[k]);
			found = true;
		}
		assert_int_equal(found, live(c));
	}
	assert_int_equal(n, lives);
}

static void step(void)
{
	static void (*const all[])(struct client *) = {allocate_tcp, allocate_udp, connect_to,
		bind_id, refresh, permit, attempt, relay, unopened};
	static const uint32_t weight[] = {5, 1, 6, 4, 2, 6, 6, 6, 1};
	struct client *c = &client[test_rand_below(&rand_of, CLIENTS)];
	uint32_t dice = test_rand_below(&rand_of, 37);
	unsigned int i = 0;

	while (dice >= weight[i])
		dice -= weight[i++];
	all[i](c);
	done[i]++;
	if (one_in(4))
		time_passes();
	if (ops % 16 == 0)
		check_listing();
	ops++;
}

static void open_world(void)
{
	struct turn_config c = fixture_config();

	c.limits.per_user = PER_USER;
	c.pools.per_user = 100;
	fixture_add_tcp(&c, PORT_LO, PORT_LO + PORTS - 1);
	fixture_open(&f, &c, test_rand(&rand_of));
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const char *ip = "198.51.100.7";

		client[i] = (struct client){.eve = i % 2 != 0, .by_tcp = i % 6 != 0};
		client[i].c = client[i].eve ? fixture_eve(ip, (uint16_t)(5000 + i))
					    : fixture_client(ip, (uint16_t)(5000 + i));
		client[i].c.listener = client[i].by_tcp ? 2 : 0;
	}
	for (unsigned int i = 0; i < 2; i++) { // a client has any name, but always one
		struct client *c2 = &client[2 + i];

		fixture_begin(&f, STUN_REQUEST, STUN_CONNECTION_BIND);
		stun_put_u32(&f.w, STUN_CONNECTION_ID, 1);
		assert_int_equal(ask(c2), WANT);
		memcpy(ident[i], order()->ident, sizeof(ident[i]));
	}
	assert_memory_not_equal(ident[0], ident[1], sizeof(ident[0]));
}

static void test_tcp_model(void **state)
{
	const char *env = getenv("TEST_OPS");
	const uint64_t nb = env != NULL ? strtoull(env, NULL, 0) : OPS;

	(void)state;
	rand_of = test_rand_start("model_tcp");
	open_world();
	while (ops < nb)
		step();
	printf("%llu operations, %llu ends\n", (unsigned long long)ops, (unsigned long long)ended);
	if (nb >= OPS)
		assert_true(ended > nb / 100);
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (live(&client[i]))
			assert_int_equal(fixture_refresh(&f, &client[i].c, 0), 0);
	fixture_close(&f); // finds leftovers in the quota
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_tcp_model)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
