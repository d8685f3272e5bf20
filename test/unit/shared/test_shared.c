// SPDX-License-Identifier: BSD-3-Clause
// Relay ports that allocations share: the owner of a peer, collisions, the placement of new
// allocations, and that no object outlives its parent.
#include <errno.h>
#include <netinet/in.h>

#include "feature_names.h"
#include "turn_fixture.h"

#define PORT_LO 3480
#define PORTS 8
#define ENDPOINTS 4 // endpoints of an allocation

static struct fixture f;
static struct fixture_client ivan, olga;
static struct endpoint peer;

static struct turn_config config(uint32_t nb_ports)
{
	struct turn_config c = fixture_config();

	c.shared.enabled = true;
	c.port_lo = PORT_LO;
	c.port_hi = (uint16_t)(PORT_LO + nb_ports - 1);
	c.limits.allocations = 1000;
	c.shared.peers = ENDPOINTS;
	c.shared.peer_share = 100;
	return c;
}

static void open_with(uint32_t nb_ports)
{
	const struct turn_config c = config(nb_ports);

	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	olga = fixture_client("198.51.100.8", 5000);
	peer = fixture_endpoint("10.99.0.9", 7000);
}

// Ivan and Olga on one relayed transport address.
static int setup(void **state)
{
	*state = &f;
	open_with(1);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &olga, 4), 0);
	assert_true(endpoint_eq(&ivan.relay, &olga.relay));
	assert_int_equal(ivan.relay.port, PORT_LO);
	return 0;
}

static unsigned int send_as(const struct fixture_client *c, const struct endpoint *target)
{
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, target);
	stun_put(&f.w, STUN_DATA_ATTR, "x", 1);
	return fixture_drop(fixture_send(&f, c));
}

// Verdict for a datagram of a peer to the shared address.
static unsigned int send_peer_data(const struct endpoint *p)
{
	return fixture_drop(fixture_from_peer(&f, &ivan.relay, p, "hello", 5));
}

// The client that receives a datagram of the peer. Asserts that there is one.
static struct endpoint client_of(const struct endpoint *relay, const struct endpoint *p)
{
	const struct turn_plan *plan = fixture_from_peer(&f, relay, p, "hello", 5);
	struct turn_path path;

	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	return path.dst;
}

static void assert_reaches(const struct fixture_client *c, const struct endpoint *p)
{
	const struct endpoint client = client_of(&c->relay, p);

	assert_true(endpoint_eq(&client, &c->endpoint));
}

static unsigned int bind_as(
	struct fixture_client *c, uint16_t channel, const struct endpoint *target)
{
	char text[ADDR_TEXT_LEN];

	return fixture_bind(
		&f, c, channel, addr_format(&target->addr, text, sizeof(text)), target->port);
}

// Renews the nonces in tests that last longer than they do.
static void fresh(void)
{
	ivan.nonce_len = olga.nonce_len = 0;
}

// --- the owner of a peer -------------------------------------------------------------------------

static void only_registered_peers_get_in(void **state)
{
	struct endpoint second = peer;

	second.port++;
	assert_int_equal(send_peer_data(&peer), TURN_DROP_SHARED_UNKNOWN_PEER);
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(
		send_peer_data(&peer), TURN_DROP_SHARED_UNKNOWN_PEER); // a permission has no port
	assert_int_equal(send_as(&ivan, &peer), TURN_OK);
	assert_reaches(&ivan, &peer);
	assert_int_equal(send_peer_data(&second), TURN_DROP_SHARED_UNKNOWN_PEER); // the exact port
	assert_int_equal(bind_as(&olga, 0x4000, &second), 0);
	assert_reaches(&olga, &second);
	assert_reaches(&ivan, &peer);
	assert_int_equal(fixture_stats(&f).endpoints, 2);
}

static void channels_and_indications(void **state)
{
	const struct turn_plan *plan;

	assert_int_equal(bind_as(&ivan, 0x4001, &peer), 0);
	plan = fixture_from_peer(&f, &ivan.relay, &peer, "hello", 5);
	assert_int_equal(plan->front_len, CHANNEL_HEADER_LEN);
	assert_int_equal(plan->channel, 0x4001);
	assert_int_equal(fixture_drop(fixture_channel_data(&f, &ivan, 0x4001, "x", 1)), TURN_OK);
	peer.port = 9;
	assert_int_equal(send_as(&ivan, &peer), TURN_OK);
	assert_int_equal(f.burst.plan.verdict, TURN_SEND);
	assert_true(endpoint_eq(&f.burst.side.src, &ivan.relay));
	assert_true(endpoint_eq(&f.burst.side.dst, &peer));
	plan = fixture_from_peer(&f, &ivan.relay, &peer, "hello", 5);
	assert_true(plan->front_len > CHANNEL_HEADER_LEN); // a Data indication
}

// Families have addresses of their own.
static void both_families(void **state)
{
	struct fixture_client six = fixture_client("2001:db8::7", 5000);
	struct endpoint peer6 = fixture_endpoint("fd99::9", 7000);

	assert_int_equal(fixture_allocate(&f, &six, 6), 0);
	assert_false(addr_is_v4(&six.relay.addr));
	assert_int_equal(six.relay.port, PORT_LO);
	assert_int_equal(bind_as(&six, 0x4000, &peer6), 0);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	assert_reaches(&six, &peer6);
	assert_reaches(&ivan, &peer);
}

// An expired permission blocks the peer although a channel registers it.
static void permissions_still_count(void **state)
{
	assert_int_equal(fixture_refresh(&f, &ivan, 3600), 0);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	fixture_advance(&f, 600000);
	assert_int_equal(send_peer_data(&peer), TURN_DROP_PEER_NO_PERMISSION);
	fixture_expire(&f);
	fresh();
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	assert_reaches(&ivan, &peer);
}

// --- collisions ----------------------------------------------------------------------------------

static void channel_bind_collides(void **state)
{
	struct endpoint second = peer;

	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	// 400 would tell the client that its known binding is wrong, and to start over (RFC 8656
	// 12.3)
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 508);
	assert_true(f.answer.alen[STUN_ERROR_CODE] > 4 + 10); // has a reason phrase
	assert_memory_equal(f.answer.data + f.answer.off[STUN_ERROR_CODE] + 4, "Peer In Use", 11);
	assert_int_equal(fixture_stats(&f).permissions, 1); // nothing is half done
	assert_int_equal(fixture_stats(&f).channels, 1);
	assert_int_equal(fixture_stats(&f).endpoints, 1);
	assert_int_equal(fixture_drop(fixture_channel_data(&f, &olga, 0x4000, "x", 1)),
		TURN_DROP_CHANNEL_UNBOUND);
	assert_reaches(&ivan, &peer);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0); // its own registration is no collision
	second.port++;
	assert_int_equal(bind_as(&olga, 0x4000, &second), 0);
	// the client's own mistake: the peer has another number
	assert_int_equal(bind_as(&olga, 0x4001, &second), 400);
	assert_memory_equal(f.answer.data + f.answer.off[STUN_ERROR_CODE] + 4, "Bad Request", 11);
}

static void send_collides(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(fixture_permit(&f, &olga, "10.99.0.9"), 0); // never collides
	assert_int_equal(send_as(&ivan, &peer), TURN_OK);
	assert_int_equal(send_as(&olga, &peer), TURN_DROP_SHARED_COLLISION);
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 508);
	assert_int_equal(fixture_permit(&f, &olga, "10.99.0.9"), 0); // still true
	assert_int_equal(send_as(&olga, &peer), TURN_DROP_SHARED_COLLISION);
	assert_int_equal(send_as(&ivan, &peer), TURN_OK);
	assert_reaches(&ivan, &peer);
	assert_int_equal(fixture_stats(&f).endpoints, 1);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0); // a Send has registered it
	assert_int_equal(fixture_stats(&f).endpoints, 1);
}

static void limit_of_endpoints(void **state)
{
	struct endpoint p = peer;

	for (int i = 0; i < ENDPOINTS; i++, p.port++)
		assert_int_equal(bind_as(&ivan, (uint16_t)(0x4000 + i), &p), 0);
	assert_int_equal(bind_as(&ivan, 0x4100, &p), 508);
	assert_int_equal(send_as(&ivan, &p), TURN_DROP_SHARED_FULL);
	assert_int_equal(fixture_stats(&f).channels, ENDPOINTS);
	assert_int_equal(fixture_stats(&f).endpoints, ENDPOINTS);
	p.port--;
	assert_int_equal(bind_as(&ivan, 0x4000 + ENDPOINTS - 1, &p), 0); // those it already has
	assert_int_equal(send_as(&ivan, &p), TURN_OK);
	p.port++;
	assert_int_equal(bind_as(&olga, 0x4000, &p), 0); // endpoints of one allocation
	// expired ones do not count
	fixture_advance(&f, 599000);
	fresh();
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	fixture_advance(&f, 1000);
	fixture_expire(&f);
	fresh();
	for (int i = 0; i < ENDPOINTS; i++, p.port++)
		assert_int_equal(bind_as(&ivan, (uint16_t)(0x4000 + i), &p), 0);
	assert_int_equal(bind_as(&ivan, 0x4100, &p), 508);
}

// A ChannelBind that fails for another reason registers nothing.
static void failed_bind_leaves_nothing(void **state)
{
	f.config.limits.channels = 1;
	turn_policy_free(f.policy);
	f.policy = turn_policy_create(&f.config, f.crypto, (const uint8_t[32]){1});
	turn_shard_set_policy(f.shard, f.policy);
	fresh();
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	peer.port++;
	assert_int_equal(bind_as(&ivan, 0x4001, &peer), 508);
	assert_int_equal(fixture_stats(&f).endpoints, 1);
	assert_int_equal(send_peer_data(&peer), TURN_DROP_SHARED_UNKNOWN_PEER);
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 0);
}

// --- Allocate ------------------------------------------------------------------------------------

static unsigned int allocate_with(
	struct fixture_client *c, enum stun_attr a, const void *value, uint16_t len)
{
	fixture_begin(&f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f.w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	stun_put(&f.w, a, value, len);
	return fixture_ask(&f, c);
}

static void no_port_of_ones_own(void **state)
{
	struct fixture_client anna = fixture_client("198.51.100.9", 5000);

	assert_int_equal(allocate_with(&anna, STUN_EVEN_PORT, "\x00", 1), 508);
	assert_int_equal(allocate_with(&anna, STUN_EVEN_PORT, "\x80", 1), 508);
	assert_int_equal(allocate_with(&anna, STUN_EVEN_PORT, "\x80\x00", 2), 400);
#ifdef FEATURE_RESERVATIONS
	assert_int_equal(allocate_with(&anna, STUN_RESERVATION_TOKEN, "12345678", 8), 508);
	assert_int_equal(
		allocate_with(&anna, STUN_RESERVATION_TOKEN, "\x00\x00\x00\x00\x00\x00\x00\x00", 8),
		508);
	assert_int_equal(allocate_with(&anna, STUN_RESERVATION_TOKEN, "1234567", 7), 400);
#endif
	assert_int_equal(fixture_stats(&f).allocations, 2);
	assert_int_equal(turn_quota_total(f.quota), 2);
	assert_int_equal(fixture_allocate(&f, &anna, 4), 0);
}

static void retransmitted_allocate(void **state)
{
	struct fixture_client anna = fixture_client("198.51.100.9", 5000);

	assert_int_equal(fixture_allocate(&f, &anna, 4), 0);
	fixture_resend(&f, &anna);
	assert_int_equal(fixture_code(&f), 0);
	assert_int_equal(fixture_stats(&f).allocations, 3);
}

static void clients_nth(struct fixture_client *c, unsigned int i)
{
	*c = fixture_client("198.51.100.20", (uint16_t)(5000 + i));
}

// N shared addresses carry N clients of one conference server, whichever order they come in.
static void as_many_clients_of_one_peer(void **state)
{
	struct fixture_client c[PORTS + 1];

	for (int together = 0; together < 2; together++) {
		open_with(PORTS);
		for (unsigned int i = 0; i <= PORTS; i++)
			clients_nth(&c[i], i);
		for (unsigned int i = 0; i < PORTS && together; i++)
			assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
		for (unsigned int i = 0; i < PORTS; i++) {
			if (!together)
				assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
			assert_int_equal(bind_as(&c[i], 0x4000, &peer), 0);
		}
		assert_int_equal(fixture_allocate(&f, &c[PORTS], 4), 0);
		assert_int_equal(bind_as(&c[PORTS], 0x4000, &peer), 508);
		for (unsigned int i = 0; i < PORTS; i++)
			assert_reaches(&c[i], &peer);
		// one ends, and there is room for a new one
		assert_int_equal(fixture_refresh(&f, &c[3], 0), 0);
		fixture_advance(&f, 1);
		assert_int_equal(fixture_refresh(&f, &c[PORTS], 0), 0);
		assert_int_equal(fixture_allocate(&f, &c[PORTS], 4), 0);
		assert_int_equal(c[PORTS].relay.port, c[3].relay.port);
		assert_int_equal(bind_as(&c[PORTS], 0x4000, &peer), 0);
		assert_reaches(&c[PORTS], &peer);
		fixture_close(&f);
	}
}

// The number of endpoints decides before the number of allocations.
static void where_fewest_endpoints_are(void **state)
{
	struct fixture_client c[9];

	open_with(2);
	for (unsigned int i = 0; i < 9; i++)
		clients_nth(&c[i], i);
	assert_int_equal(fixture_allocate(&f, &c[0], 4), 0);
	assert_int_equal(bind_as(&c[0], 0x4000, &peer), 0);
	for (unsigned int i = 1; i < 8; i++) {
		assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
		assert_int_not_equal(c[i].relay.port, c[0].relay.port);
	}
	assert_int_equal(fixture_refresh(&f, &c[0], 0), 0);
	assert_int_equal(fixture_allocate(&f, &c[8], 4), 0);
	assert_int_equal(c[8].relay.port, c[0].relay.port);
	fixture_close(&f);
}

// Before there are endpoints, a new client goes where allocations have ended.
static void where_fewest_allocations_are(void **state)
{
	struct fixture_client c[9];
	uint16_t port;

	open_with(2);
	for (unsigned int i = 0; i < 9; i++)
		clients_nth(&c[i], i);
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
	port = c[0].relay.port;
	for (unsigned int i = 0; i < 6; i++)
		if (c[i].relay.port == port)
			assert_int_equal(fixture_refresh(&f, &c[i], 0), 0);
	assert_int_equal(fixture_stats(&f).allocations, 3);
	for (unsigned int i = 6; i < 9; i++) {
		assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
		assert_int_equal(c[i].relay.port, port);
	}
	fixture_close(&f);
}

// Ties are broken at random: each of 8 about 100 times in 800; chi-square of 7 degrees, one in
// 10^6.
static void ties_are_drawn(void **state)
{
	unsigned int n[PORTS] = {0};
	double chi2 = 0;

	open_with(PORTS);
	for (unsigned int i = 0; i < 800; i++) {
		assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
		n[ivan.relay.port - PORT_LO]++;
		assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
		fixture_advance(&f, 1);
	}
	for (unsigned int i = 0; i < PORTS; i++)
		chi2 += (n[i] - 100.0) * (n[i] - 100.0) / 100.0;
	assert_true(chi2 < 40.5);
	fixture_close(&f);
}

// --- ending --------------------------------------------------------------------------------------

static void refresh_to_zero_frees(void **state)
{
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	peer.port++;
	assert_int_equal(send_as(&ivan, &peer), TURN_OK);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(fixture_stats(&f).endpoints, 0);
	assert_int_equal(send_peer_data(&peer), TURN_DROP_SHARED_UNKNOWN_PEER);
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 0);
	assert_reaches(&olga, &peer);
}

// An expired registration blocks no client, swept or not.
static void expired_is_free(void **state)
{
	assert_int_equal(fixture_permit(&f, &ivan, "10.99.0.9"), 0);
	assert_int_equal(send_as(&ivan, &peer), TURN_OK);
	fixture_advance(&f, 300000 - 1);
	fresh();
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 508);
	fixture_advance(&f, 1);
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 0);
	fixture_expire(&f);
	assert_reaches(&olga, &peer);
	// a channel keeps it for 600 seconds, the allocation at most for its own lifetime
	fixture_advance(&f, 299999);
	fresh();
	assert_int_equal(fixture_refresh(&f, &olga, 900), 0);
	fixture_expire(&f);
	ivan = fixture_client("198.51.100.9", 5001);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 508);
	fixture_advance(&f, 300000);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).endpoints, 1);
	fixture_advance(&f, 1);
	fixture_expire(&f);
	fresh();
	assert_int_equal(fixture_stats(&f).endpoints, 0);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	assert_reaches(&ivan, &peer);
}

static void expired_allocation_is_free(void **state)
{
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	fixture_advance(&f, 300000);
	fresh();
	assert_int_equal(fixture_refresh(&f, &olga, 3600), 0);
	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0); // until 900 s
	fixture_advance(&f, 299999);
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 508);
	fixture_advance(&f, 1);
	fresh();
	assert_int_equal(bind_as(&olga, 0x4000, &peer), 0);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	fixture_expire(&f);
	assert_reaches(&olga, &peer);
}

// The peer's owner changes within a burst: each datagram goes to the owner of its turn.
static void owner_changes_within_a_burst(void **state)
{
	struct turn_burst *b = &f.burst;
	struct turn_view hello, refresh, bind;
	uint8_t kept[2][512];
	struct turn_path path;
	uint32_t channel = 0x4000u << 16;

	assert_int_equal(bind_as(&ivan, 0x4000, &peer), 0);
	assert_int_equal(bind_as(&olga, 0x4001, &(struct endpoint){peer.addr, 1}), 0);
	fixture_from_peer(&f, &ivan.relay, &peer, "hello", 5);
	hello = b->view[0];
	hello.slot = hello.shared; // its state before the look-up
	hello.data = (const uint8_t *)"hello";
	fixture_begin(&f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f.w, STUN_LIFETIME, 0);
	fixture_sign(&f, &ivan);
	refresh = (struct turn_view){.src = ivan.endpoint.addr,
		.src_port = ivan.endpoint.port,
		.via = TURN_NO_WORKER,
		.data = kept[0],
		.len = stun_end(&f.w)};
	memcpy(kept[0], f.message, refresh.len);
	fixture_begin(&f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f.w, STUN_CHANNEL_NUMBER, channel);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	fixture_sign(&f, &olga);
	bind = (struct turn_view){.src = olga.endpoint.addr,
		.src_port = olga.endpoint.port,
		.via = TURN_NO_WORKER,
		.data = kept[1],
		.len = stun_end(&f.w)};
	memcpy(kept[1], f.message, bind.len);

	b->n = 5;
	b->view[0] = b->view[2] = b->view[4] = hello;
	b->view[1] = refresh;
	b->view[3] = bind;
	turn_route_begin(f.shard, b);
	turn_route_finish(f.shard, b, 0);
	assert_int_equal(b->plan.verdict, TURN_RELAY);
	turn_route_path(f.shard, b->plan.flow, &path);
	assert_true(endpoint_eq(&path.dst, &ivan.endpoint));
	turn_route_finish(f.shard, b, 1);
	assert_int_equal(b->plan.verdict, TURN_REPLY);
	turn_route_finish(f.shard, b, 2);
	assert_int_equal(fixture_drop(&b->plan), TURN_DROP_SHARED_UNKNOWN_PEER);
	turn_route_finish(f.shard, b, 3);
	assert_int_equal(b->plan.verdict, TURN_REPLY);
	turn_route_finish(f.shard, b, 4);
	assert_int_equal(b->plan.verdict, TURN_RELAY);
	turn_route_path(f.shard, b->plan.flow, &path);
	assert_true(endpoint_eq(&path.dst, &olga.endpoint));
}

// Allocations and endpoints that are created and freed leave all memory as it was.
static void nothing_is_lost(void **state)
{
	for (unsigned int i = 0; i < 3000; i++) { // more than slots, or endpoints, there are
		struct fixture_client c;

		clients_nth(&c, i % 100);
		assert_int_equal(fixture_allocate(&f, &c, 4), 0);
		peer.port = 1;
		assert_int_equal(bind_as(&c, 0x4000, &peer), 0);
		peer.port = 2;
		assert_int_equal(send_as(&c, &peer), TURN_OK);
		assert_int_equal(fixture_stats(&f).endpoints, 2);
		assert_int_equal(fixture_refresh(&f, &c, 0), 0);
		fixture_advance(&f, 1);
	}
	assert_int_equal(fixture_stats(&f).endpoints, 0);
	assert_int_equal(fixture_stats(&f).permissions, 0);
}

static void memory_is_bounded(void **state)
{
	struct turn_config c = config(1);
	struct fixture_client anna = fixture_client("198.51.100.9", 5000);

	c.limits.allocations = 2;
	c.pools.endpoints = 1; // and each allocation has two
	c.pools.channels = 8;
	c.pools.per_user = 100;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	olga = fixture_client("198.51.100.8", 5000);
	peer = fixture_endpoint("10.99.0.9", 7000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &olga, 0), 0);
	assert_int_equal(fixture_allocate(&f, &anna, 4), 486); // the limit, then the slots
	for (unsigned int i = 0; i < 5; i++, peer.port++)
		assert_int_equal(bind_as(i < 3 ? &ivan : &olga, (uint16_t)(0x4000 + i), &peer), 0);
	assert_int_equal(bind_as(&olga, 0x4005, &peer), 508);
	assert_int_equal(send_as(&olga, &peer), TURN_DROP_SHARED_FULL);
	assert_int_equal(fixture_stats(&f).endpoints, 5);
	assert_int_equal(fixture_stats(&f).channels, 5);
	assert_int_equal(fixture_stats(&f).pool_refused, 2);
	fixture_close(&f);
}

// --- the map -------------------------------------------------------------------------------------

// Every shared address has one worker and its own number there; listeners keep their ports.
static void check_map(const struct turn_config *c)
{
	struct turn_relay_map *m = turn_relay_map_create(c);
	uint32_t nb[TURN_WORKERS_MAX][2] = {{0}};
	uint8_t seen[TURN_WORKERS_MAX][64] = {{0}};
	struct turn_relay_map_run run;

	assert_non_null(m);
	for (uint32_t a = 0; a < c->nb_relay; a++) {
		assert_false(turn_relay_map_run(m, a, &run));
		for (uint32_t p = 0; p < 65536; p++) {
			const bool in = p >= c->port_lo && p <= c->port_hi && p != 3478;
			unsigned int worker;
			uint32_t number;

			assert_int_equal(
				turn_relay_map_home(m, a, (uint16_t)p, &worker, &number), in);
			if (!in)
				continue;
			assert_true(worker < c->workers && number < 64);
			assert_int_equal(seen[worker][number]++, 0);
			nb[worker][addr_is_v4(&c->relay[a])]++;
		}
	}
	for (unsigned int w = 0; w < c->workers; w++) {
		for (int is_v4 = 0; is_v4 < 2; is_v4++) {
			assert_true(nb[w][is_v4] >= 1);
			assert_in_range(nb[w][is_v4], nb[0][is_v4] - 1, nb[0][is_v4]);
		}
		for (uint32_t i = 0; i < nb[w][0] + nb[w][1]; i++)
			assert_int_equal(seen[w][i], 1); // from 0 without gaps
		assert_in_range(turn_relay_map_slots(m, w), c->limits.allocations / c->workers,
			c->limits.allocations);
	}
	turn_relay_map_free(m);
}

static void every_worker_has_some(void **state)
{
	struct turn_config c = config(PORTS);

	for (c.workers = 1; c.workers <= PORTS; c.workers++)
		check_map(&c);
	c.port_lo = 3470; // includes the listeners' port
	for (c.workers = 1; c.workers <= 17; c.workers++)
		check_map(&c);
	assert_null(turn_relay_map_create(&c));
	assert_int_equal(errno, EINVAL);
	c.workers = 1;
	c.limits.allocations = 0;
	assert_null(turn_relay_map_create(&c));
	c.limits.allocations = 1;
	c.port_hi = (uint16_t)(c.port_lo + TURN_SHARED_MAX / 2);
	assert_null(turn_relay_map_create(&c));
	c.port_hi--;
	turn_relay_map_free(turn_relay_map_create(&c));
}

// A client's allocation is on an address of the worker that serves it.
static void workers_keep_to_their_own(void **state)
{
	struct turn_config c = config(PORTS);
	static struct fixture w[3];

	c.workers = 3;
	fixture_open(&w[0], &c, 1);
	fixture_open_worker(&w[1], &w[0], 1);
	fixture_open_worker(&w[2], &w[0], 2);
	for (unsigned int i = 0; i < 60; i++) {
		struct fixture_client client;
		unsigned int home;
		uint32_t number;

		clients_nth(&client, i);
		assert_int_equal(fixture_allocate(&w[i % 3], &client, i % 2 ? 4 : 6), 0);
		assert_true(turn_relay_map_home(w[0].map,
			(unsigned int)turn_relay_map_find(w[0].map, &client.relay.addr),
			client.relay.port, &home, &number));
		assert_int_equal(home, i % 3);
	}
	for (int i = 2; i >= 0; i--)
		fixture_close(&w[i]);
}

#define ON_ONE(test) cmocka_unit_test_setup_teardown(test, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ONE(only_registered_peers_get_in),
		ON_ONE(channels_and_indications),
		ON_ONE(both_families),
		ON_ONE(permissions_still_count),
		ON_ONE(channel_bind_collides),
		ON_ONE(send_collides),
		ON_ONE(limit_of_endpoints),
		ON_ONE(failed_bind_leaves_nothing),
		ON_ONE(no_port_of_ones_own),
		ON_ONE(retransmitted_allocate),
		cmocka_unit_test(as_many_clients_of_one_peer),
		cmocka_unit_test(where_fewest_endpoints_are),
		cmocka_unit_test(where_fewest_allocations_are),
		cmocka_unit_test(ties_are_drawn),
		ON_ONE(refresh_to_zero_frees),
		ON_ONE(expired_is_free),
		ON_ONE(expired_allocation_is_free),
		ON_ONE(owner_changes_within_a_burst),
		ON_ONE(nothing_is_lost),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(every_worker_has_some),
		cmocka_unit_test(workers_keep_to_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
