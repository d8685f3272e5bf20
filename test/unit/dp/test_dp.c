// SPDX-License-Identifier: BSD-3-Clause
// The data path end to end on software ports: real STUN in, real frames out, on whichever queue
// each packet comes in, with 1, 2 and 4 workers on ports of 1 and 2 queues.
#include "feature_names.h"
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "see/stats.h"
#include "path/worker.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#define CLIENTS 12
#define CHANNEL 0x4001

static struct dp_world world;
static struct world_client client[CLIENTS];

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 1, .rx_queues = 2, .tx_queues = 2},
	{.workers = 2, .rx_queues = 1, .tx_queues = 1},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2},
	{.workers = 4, .rx_queues = 1, .tx_queues = 1},
	{.workers = 4, .rx_queues = 2, .tx_queues = 2, .vlan = 7},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .rss = true},
	{.workers = 4, .rx_queues = 4, .tx_queues = 2, .rss = true},
};

// --- relaying -----------------------------------------------------------------------------------

// Places client i and its peer: every pair of families, on-link and behind the gateway.
static void cast(struct dp_world *w, unsigned int i, struct endpoint *peer)
{
	static const char *const clients[] = {
		"10.99.0.20", "fd99::20", "198.51.100.5", "2a00:db9::5"};
	static const char *const peers[] = {"10.99.0.30", "fd99::30", "198.51.100.9", "fd99::31"};

	world_client(w, &client[i], clients[i % 4], (uint16_t)(40000 + i));
	*peer = world_endpoint(peers[i / 2 % 4], (uint16_t)(7000 + i));
}

static void expect(struct dp_world *w, const struct endpoint *src, const struct endpoint *dst,
	const struct world_datagram *like, struct world_datagram *got)
{
	assert_true(world_take(w, dst, got));
	assert_true(endpoint_eq(&got->src, src));
	assert_int_equal(got->tos, like->tos);
	assert_int_equal(got->ttl, like->ttl - 1);
}

static void random_datagram(struct dp_world *w, struct world_datagram *d, uint16_t max)
{
	d->len = (uint16_t)test_rand_below(&w->rand, max + 1u);
	d->tos = (uint8_t)test_rand(&w->rand);
	d->ttl = (uint8_t)(2 + test_rand_below(&w->rand, 254));
	d->df = addr_is_v4(&d->src.addr) && test_rand_below(&w->rand, 2) != 0;
	d->no_checksum = addr_is_v4(&d->src.addr) && test_rand_below(&w->rand, 4) == 0;
	test_rand_fill(&w->rand, d->data, d->len);
}

static void check_df(const struct world_datagram *sent, const struct world_datagram *got)
{
	// RFC 8656 15: copied where both sides are IPv4
	if (addr_is_v4(&got->dst.addr))
		assert_int_equal(got->df, sent->df && addr_is_v4(&sent->src.addr));
	if (!addr_is_v4(&got->dst.addr) || !sent->no_checksum)
		assert_false(got->no_checksum);
	else
		assert_true(got->no_checksum);
}

// Relays by Send and Data indications.
static void relay_indications(
	struct dp_world *w, struct world_client *c, const struct endpoint *peer)
{
	static const uint8_t zero[STUN_TID_LEN];
	struct world_datagram up = {.src = c->endpoint, .dst = c->server};
	struct world_datagram down = {.src = *peer, .dst = c->relay}, got;
	struct stun_writer sw;
	struct stun_msg m;
	struct endpoint sender;
	uint8_t payload[1200];
	int family;
	const uint16_t len = (uint16_t)test_rand_below(&w->rand, sizeof(payload));

	test_rand_fill(&w->rand, payload, len);
	random_datagram(w, &up, 0);
	stun_begin(&sw, up.data, sizeof(up.data), STUN_INDICATION, STUN_SEND, zero);
	stun_put_xor_addr(&sw, STUN_XOR_PEER_ADDRESS, peer);
	stun_put(&sw, STUN_DATA_ATTR, payload, len);
	up.len = stun_end(&sw);
	world_send(w, &up);
	world_run(w);
	expect(w, &c->relay, peer, &up, &got);
	assert_int_equal(got.len, len);
	assert_memory_equal(got.data, payload, len);
	check_df(&up, &got);

	random_datagram(w, &down, 1300);
	world_send(w, &down);
	world_run(w);
	expect(w, &c->server, &c->endpoint, &down, &got);
	check_df(&down, &got);
	assert_int_equal(got.len % 4, 0);
	assert_int_equal(stun_parse(got.data, got.len, &m), 0);
	assert_int_equal(m.cls, STUN_INDICATION);
	assert_int_equal(m.method, STUN_DATA);
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &sender, &family));
	assert_true(endpoint_eq(&sender, peer));
	assert_int_equal(m.alen[STUN_DATA_ATTR], down.len);
	assert_memory_equal(got.data + m.off[STUN_DATA_ATTR], down.data, down.len);
	for (unsigned int i = m.off[STUN_DATA_ATTR] + down.len; i < got.len; i++)
		assert_int_equal(got.data[i], 0);
}

// Relays by a channel, for all clients at once, so that bursts are mixed.
static void relay_channels(struct dp_world *w, const struct endpoint peer[CLIENTS])
{
	static struct world_datagram up[CLIENTS], down[CLIENTS], got;

	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct world_datagram wire;

		up[i] = (struct world_datagram){.src = client[i].endpoint, .dst = client[i].server};
		down[i] = (struct world_datagram){.src = peer[i], .dst = client[i].relay};
		random_datagram(w, &up[i], 1400);
		random_datagram(w, &down[i], 1400);
		wire = up[i];
		store_be16(wire.data, CHANNEL);
		store_be16(wire.data + 2, up[i].len);
		memcpy(wire.data + 4, up[i].data, up[i].len);
		wire.len = (uint16_t)(up[i].len + 4 + test_rand_below(&w->rand, 4));
		world_send(w, &wire);
		world_send(w, &down[i]);
	}
	world_run(w);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		expect(w, &client[i].relay, &peer[i], &up[i], &got);
		check_df(&up[i], &got);
		assert_int_equal(got.len, up[i].len);
		assert_memory_equal(got.data, up[i].data, got.len);

		expect(w, &client[i].server, &client[i].endpoint, &down[i], &got);
		check_df(&down[i], &got);
		assert_int_equal(got.len, down[i].len + 4);
		assert_int_equal(load_be16(got.data), CHANNEL);
		assert_int_equal(load_be16(got.data + 2), down[i].len);
		assert_memory_equal(got.data + 4, down[i].data, down[i].len);
	}
}

static void binding(struct dp_world *w, struct world_client *c)
{
	struct world_datagram got;
	struct endpoint mapped;
	struct stun_msg m;
	int family;
	uint16_t len;

	client_begin(w, c, STUN_BINDING);
	len = stun_end(&c->w);
	world_send_bytes(w, &c->endpoint, &c->server, c->message, len);
	world_run(w);
	assert_true(world_take(w, &c->endpoint, &got));
	assert_true(endpoint_eq(&got.src, &c->server));
	assert_int_equal(got.ttl, 64);
	assert_int_equal(got.tos, 0);
	assert_int_equal(stun_parse(got.data, got.len, &m), 0);
	assert_int_equal(m.cls, STUN_SUCCESS);
	assert_true(stun_decode_xor_addr(&m, m.off[STUN_XOR_MAPPED_ADDRESS],
		m.alen[STUN_XOR_MAPPED_ADDRESS], &mapped, &family));
	assert_true(endpoint_eq(&mapped, &c->endpoint));
}

static void check_end(struct dp_world *w)
{
	const struct dp_stats s = world_stats(w);

	assert_int_equal(world_drops(w), 0);
	assert_int_equal(w->nb_seen, 0);
	assert_int_equal(s.handed_in, s.handed_out);
	assert_int_equal(s.held, 0);
	if (w->dp->nb_workers > 1) // with random queues some must have been handed over
		assert_true(s.handed_out > 0);
	else
		assert_int_equal(s.handed_out, 0);
}

static void test_relay(void **state)
{
	const struct world_setup *s = *state;
	struct endpoint peer[CLIENTS];
	struct dp_stats stats;

	world_open(&world, s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const struct endpoint *p = &peer[i];

		cast(&world, i, &peer[i]);
		binding(&world, &client[i]);
		assert_int_equal(
			client_allocate(&world, &client[i], addr_is_v4(&p->addr) ? 4 : 6), 0);
		assert_int_equal(client_permit(&world, &client[i], p), 0);
		relay_indications(&world, &client[i], p);
		assert_int_equal(client_bind(&world, &client[i], CHANNEL, p), 0);
	}
	assert_int_equal(world_stats(&world).turn.allocations, CLIENTS);
	for (unsigned int i = 0; i < 30; i++)
		relay_channels(&world, peer);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		client_begin(&world, &client[i], STUN_REFRESH);
		stun_put_u32(&client[i].w, STUN_LIFETIME, 0);
		assert_int_equal(client_ask(&world, &client[i]), 0);
	}
	stats = world_stats(&world);
	assert_int_equal(stats.turn.allocations, 0);
	assert_int_equal(stats.turn.allocations_total, CLIENTS);
	check_end(&world);
	world_close(&world);
}

// A worker never sends on another worker's queue.
static void test_tx_queues(void **state)
{
	const struct world_setup s = {.workers = 4, .rx_queues = 1, .tx_queues = 3};
	uint64_t sent = 0;

	world_open(&world, &s);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		struct endpoint peer;

		cast(&world, i, &peer);
		binding(&world, &client[i]);
	}
	for (uint16_t q = 0; q < 3; q++) {
		assert_true(softport_sent(world.dp->port[0].port, q) > 0);
		sent += softport_sent(world.dp->port[0].port, q);
	}
	assert_int_equal(sent, world_stats(&world).tx);
	check_end(&world);
	world_close(&world);
}

// --- prepared headers ---------------------------------------------------------------------------

// Slots and channels are used again and again, each time by other clients, until every record has
// been reused: a header kept from an earlier use would lead to the wrong client or peer.
static void test_reuse(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .relay_ports = 2};
	struct world_client *c = &client[0];
	struct world_datagram got;

	world_open(&world, &s);
	for (uint16_t i = 0; i < 1200; i++) {
		const struct endpoint peer = world_endpoint(
			i % 2 != 0 ? "10.99.0.30" : "10.99.0.31", (uint16_t)(7000 + i));

		world_client(
			&world, c, i % 3 != 0 ? "10.99.0.20" : "fd99::20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, c, 4), 0);
		assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
		client_channel_data(&world, c, CHANNEL, "up", 2);
		world_send_bytes(&world, &peer, &c->relay, "down", 4);
		world_run(&world);
		assert_true(world_take(&world, &peer, &got));
		assert_true(world_take(&world, &c->endpoint, &got));
		// RFC 8445 11: a datagram that comes alone waits for no other one
		client_channel_data(&world, c, CHANNEL, "", 0);
		world_round(&world);
		assert_true(world_take(&world, &peer, &got));
		world_send_bytes(&world, &peer, &c->relay, "x", 1);
		world_round(&world);
		assert_true(world_take(&world, &c->endpoint, &got));
		assert_int_equal(world.nb_seen, 0);
		client_begin(&world, c, STUN_REFRESH);
		stun_put_u32(&c->w, STUN_LIFETIME, 0);
		assert_int_equal(client_ask(&world, c), 0);
		world_wait(&world, 1001); // a port rests for a second at least
	}
	check_end(&world);
	world_close(&world);
}

// The neighbour entry of a peer is reused by others while a channel's header remembers it.
static void test_neighbour_moves(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .neigh_entries = 16};
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client *c = &client[0];
	struct world_datagram got;

	world_open(&world, &s);
	world_client(&world, c, "10.99.0.20", 5000);
	assert_int_equal(client_allocate(&world, c, 4), 0);
	assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
	client_channel_data(&world, c, CHANNEL, "one", 3);
	world_run(&world);
	assert_true(world_take(&world, &peer, &got));
	world_wait(&world, 31 * 1000); // no longer REACHABLE
	for (unsigned int i = 0; i < 14; i++) {
		char host[ADDR_TEXT_LEN];

		snprintf(host, sizeof(host), "10.99.0.%u", 100 + i);
		world_client(&world, &client[1], host, 5000);
		binding(&world, &client[1]);
	}
	world_wait(&world, 31 * 1000); // nor are these: there is room for the peer again
	client_channel_data(&world, c, CHANNEL, "two", 3);
	world_run(&world); // asserts the MAC
	assert_true(world_take(&world, &peer, &got));
	world_close(&world);
}

// Duties of a router: it decrements the hop limit, and sends nothing longer than the MTU. The last
// hop is accepted in both directions, the longest datagram reaches the client; both in either
// family.
static void test_edges(void **state)
{
	static const char *const hosts[2][2] = {
		{"10.99.0.20", "10.99.0.30"}, {"fd99::20", "fd99::30"}};
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .mtu = 1400};
	struct world_client *c = &client[0];
	struct world_datagram got;

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const struct endpoint peer = world_endpoint(hosts[v6][1], 7000);
		const uint16_t most = (uint16_t)(1400 - (v6 ? NET_IP6_LEN : NET_IP4_LEN) -
			NET_UDP_LEN - CHANNEL_HEADER_LEN);
		struct world_datagram d = {.src = peer};

		world_open(&world, &s);
		world_client(&world, c, hosts[v6][0], 5000);
		assert_int_equal(client_allocate(&world, c, v6 ? 6 : 4), 0);
		assert_int_equal(client_bind(&world, c, CHANNEL, &peer), 0);
		d.dst = c->relay;
		for (unsigned int up = 0; up < 2; up++) {
			for (d.ttl = 1; d.ttl <= 2; d.ttl++) {
				d.len = 8;
				world_send(&world, &d);
				world_run(&world);
				assert_int_equal(world.nb_seen, d.ttl == 2);
			}
			assert_true(world_take(&world, up ? &peer : &c->endpoint, &got));
			assert_int_equal(got.ttl, 1);
			assert_int_equal(world_stats(&world).drop[DP_DROP_TTL], up + 1);
			// to the peer as ChannelData: 4 bytes of data and the header
			d = (struct world_datagram){.src = c->endpoint, .dst = c->server};
			store_be16(d.data, CHANNEL);
			store_be16(d.data + 2, 4);
		}
		d = (struct world_datagram){.src = peer, .dst = c->relay, .df = true};
		for (uint16_t over = 0; over < 2; over++) {
			d.len = (uint16_t)(most + over);
			world_send(&world, &d);
			world_run(&world);
			assert_int_equal(world_take(&world, &c->endpoint, &got), over == 0);
			assert_int_equal(world_stats(&world).drop[DP_DROP_MTU], over);
		}
		world_close(&world);
	}
}

// --- hairpin ------------------------------------------------------------------------------------

static void hairpin_pair(struct dp_world *w, const char *a, const char *b, int family)
{
	struct world_client *x = &client[0], *y = &client[1];
	struct world_datagram got, down = {.len = 3, .ttl = 64, .data = "one"};
	uint64_t tx;

	world_client(w, x, a, 41000);
	world_client(w, y, b, 41001);
	assert_int_equal(client_allocate(w, x, family), 0);
	assert_int_equal(client_allocate(w, y, family), 0);
	assert_int_equal(client_bind(w, x, CHANNEL, &y->relay), 0);
	assert_int_equal(client_bind(w, y, CHANNEL + 1, &x->relay), 0);
	tx = world_stats(w).tx;
	for (unsigned int i = 0; i < 20; i++) {
		client_channel_data(w, x, CHANNEL, "ping", 4);
		world_run(w);
		expect(w, &y->server, &y->endpoint, &(struct world_datagram){.ttl = 63}, &got);
		assert_int_equal(got.len, 8);
		assert_int_equal(load_be16(got.data), CHANNEL + 1);
		assert_memory_equal(got.data + 4, "ping", 4);
	}
	client_channel_data(w, y, CHANNEL + 1, "pong", 4);
	world_run(w);
	assert_true(world_take(w, &x->endpoint, &got));
	// no frame of the middle leg on the wire
	assert_int_equal(world_stats(w).tx, tx + 21);
	assert_int_equal(w->nb_seen, 0);
	// each of the two relays decrements the hop limit
	down.src = x->endpoint;
	down.dst = x->server;
	down.ttl = 2;
	down.len = 8;
	memcpy(down.data, (const uint8_t[]){0x40, 0x01, 0, 4, 1, 2, 3, 4}, 8);
	world_send(w, &down);
	world_run(w);
	assert_int_equal(world_stats(w).drop[DP_DROP_TTL], 1);
	assert_int_equal(w->nb_seen, 0);
}

static void test_hairpin(void **state)
{
	const struct world_setup *s = *state;
	struct world_client *x = &client[0];
	struct endpoint nobody;
	uint64_t tx;

	world_open(&world, s);
	hairpin_pair(&world, "10.99.0.20", "fd99::20", 4);
	// to a relay port without allocation, a listener, a port outside the range
	for (unsigned int i = 0; i < 3; i++) {
		const unsigned int reason =
			drop_of_turn(i == 0 ? TURN_DROP_HAIRPIN_NO_ALLOCATION : TURN_DROP_PEER_OWN);

		nobody = client[1].relay;
		nobody.port = i == 0 ? client_free_port(&world, client) : i == 1 ? 3478 : 1234;
		assert_int_equal(client_bind(&world, x, 0x4100, &nobody), i == 0 ? 0 : 403);
		tx = world_stats(&world).tx;
		client_indication(&world, x, &nobody, "lost", 4);
		world_run(&world);
		assert_int_equal(world_dropped(&world, reason), i == 2 ? 2 : 1);
		assert_int_equal(world_stats(&world).tx, tx);
		assert_int_equal(world.nb_seen, 0);
	}
	world_close(&world);
	world_open(&world, s);
	hairpin_pair(&world, "fd99::21", "10.99.0.21", 6);
	world_close(&world);
}

// --- redirects: an allocation on another worker than its client's home --------------------------

#ifdef FEATURE_RESERVATIONS
static void test_redirect(void **state)
{
	const struct world_setup *s = *state;
	struct world_datagram got;
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	unsigned int redirected = 0;

	world_open(&world, s);
	for (uint16_t i = 0; i < 16; i++) {
		struct world_client *a = &client[0], *b = &client[1];

		world_client(&world, a, "10.99.0.20", (uint16_t)(42000 + 2 * i));
		world_client(&world, b, "10.99.0.20", (uint16_t)(42001 + 2 * i));
		client_begin(&world, a, STUN_ALLOCATE);
		stun_put_u32(&a->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put(&a->w, STUN_EVEN_PORT, "\x80", 1);
		assert_int_equal(client_ask(&world, a), 0);
		assert_int_equal(a->reply.alen[STUN_RESERVATION_TOKEN], 8);
		memcpy(b->token, a->answer + a->reply.off[STUN_RESERVATION_TOKEN], 8);

		client_begin(&world, b, STUN_ALLOCATE);
		stun_put_u32(&b->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
		stun_put(&b->w, STUN_RESERVATION_TOKEN, b->token, 8);
		assert_int_equal(client_ask(&world, b), 0);
		redirected += world_stats(&world).turn.redirects != 0;
		assert_int_equal(client_bind(&world, b, CHANNEL, &peer), 0);
		client_channel_data(&world, b, CHANNEL, "led", 3);
		world_run(&world);
		assert_true(world_take(&world, &peer, &got));
		assert_int_equal(got.len, 3);
		// the redirect ends with its allocation
		client_begin(&world, b, STUN_REFRESH);
		stun_put_u32(&b->w, STUN_LIFETIME, 0);
		assert_int_equal(client_ask(&world, b), 0);
		assert_int_equal(world_stats(&world).turn.redirects, 0);
	}
	assert_true(redirected > 0); // by chance about half of them, or three in four
	check_end(&world);
	world_close(&world);
}
#endif

// --- a listing while the worker runs ------------------------------------------------------------

struct lister {
	int result;
	struct turn_info rows[32];
	bool done;
};

static void *list_thread(void *arg)
{
	struct lister *l = arg;

	do // a worker that gets no CPU does not answer in time
		l->result = dp_list(world.dp, 0, 0, l->rows);
	while (l->result == -EBUSY);
	__atomic_store_n(&l->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void test_list(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	static struct lister l;
	struct endpoint peer;
	pthread_t thread;

	world_open(&world, &s);
	assert_int_equal(dp_list(world.dp, 1, 0, l.rows), -ERANGE);
	assert_int_equal(dp_list(world.dp, 0, 0, l.rows), -EBUSY); // the worker does not run
	for (unsigned int i = 0; i < CLIENTS; i++) {
		cast(&world, i, &peer);
		assert_int_equal(client_allocate(&world, &client[i], 4), 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, list_thread, &l), 0);
	while (!__atomic_load_n(&l.done, __ATOMIC_ACQUIRE))
		worker_round(
			world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	pthread_join(thread, NULL);
	assert_int_equal(l.result, CLIENTS);
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_string_equal(l.rows[i].user, "ivan");
	world_close(&world);
}

// --- clocks -------------------------------------------------------------------------------------

// --- stopping -----------------------------------------------------------------------------------

// With packets received, handed over and held: world_close asserts that none is lost.
static void test_stop_in_flight(void **state)
{
	const struct world_setup s = {.workers = 2, .rx_queues = 2, .tx_queues = 1};
	struct worker *one;
	struct endpoint peer;

	world_open(&world, &s);
	world.deaf = true;
	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < CLIENTS; i++) {
			cast(&world, i, &peer);
			client_begin(&world, &client[i], STUN_BINDING);
			world_send_bytes(&world, &client[i].endpoint, &client[i].server,
				client[i].message, stun_end(&client[i].w));
		}
		one = world.dp->worker[round & 1];
		worker_round(one, world.dp->tsc_start + ++world.ms * world.dp->tsc_per_ms);
	}
	stats_publish(world.dp->worker[0]);
	stats_publish(world.dp->worker[1]);
	assert_true(world_stats(&world).held > 0);
	assert_true(world_stats(&world).handed_out > world_stats(&world).handed_in);
	world_close(&world);
}

// --- real threads -------------------------------------------------------------------------------

// Two workers on their own lcores that hand packets over to each other, while this thread reads
// snapshots (each has to balance) and asks for lists. No host on the link answers, so packets to
// send are held.
static void test_threads(void **state)
{
	const struct world_setup s = {
		.workers = 2, .rx_queues = 2, .tx_queues = 1, .handover_ring = 4096};
	const unsigned int packets = 3000;
	static struct turn_info rows[32];
	struct timespec start, now;
	struct endpoint peer;
	struct dp_stats t;
	unsigned int reads = 0, answered = 0;

	world_open(&world, &s);
	for (unsigned int i = 0; i < packets; i++) {
		cast(&world, i % CLIENTS, &peer);
		client_begin(&world, &client[i % CLIENTS], STUN_BINDING);
		client[i % CLIENTS].endpoint.port = (uint16_t)(1024 + i);
		world_send_bytes(&world, &client[i % CLIENTS].endpoint, &client[i % CLIENTS].server,
			client[i % CLIENTS].message, stun_end(&client[i % CLIENTS].w));
	}
	assert_int_equal(dp_launch(world.dp), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		world_balance(&world, 0);
		world_balance(&world, 1);
		t = world_stats(&world);
		if (++reads % 64 == 0) {
			const unsigned int worker = reads / 64 % 2;
			const int n = dp_list(world.dp, worker, 0, rows);

			answered |= (n == 0 ? 1u : 0) << worker;
			assert_true(n == 0 || n == -EBUSY); // a worker that gets no CPU
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((t.rx < packets || t.handed_in != t.handed_out || answered != 3) &&
		now.tv_sec < start.tv_sec + 20);
	assert_int_equal(t.rx, packets);
	assert_int_equal(answered, 3);
	assert_true(t.handed_in > 0);
	assert_int_equal(t.handed_in, t.handed_out);
	dp_halt(world.dp);
	world_balance(&world, 0);
	world_balance(&world, 1);
	world_close(&world);
}

// The longest frame fits one buffer with two tags and an FCS, also where a NIC takes the length in
// steps of 1024 bytes; the largest MTU of all ports counts.
static void a_buffer_holds_the_longest_frame_of_any_port(void **state)
{
	struct conf_port ports[2] = {{.mtu = 1500}, {.mtu = 1280}};
	const struct conf c = {.ports = ports, .nb_ports = 2};

	assert_int_equal(dp_data_room(&c), RTE_PKTMBUF_HEADROOM + 2048);
	for (uint16_t mtu = 576; mtu <= 9216; mtu++) {
		const uint32_t frame =
			mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;
		uint32_t room;

		ports[1].mtu = mtu;
		room = dp_data_room(&c) - RTE_PKTMBUF_HEADROOM;
		assert_in_range(room / 1024 * 1024, frame, room);
		assert_true(room < frame + 2048);
	}
	assert_int_equal(dp_data_room(&c), RTE_PKTMBUF_HEADROOM + 10 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(test_relay, setups, 0),
		WORLD_CASE(test_relay, setups, 1),
		WORLD_CASE(test_relay, setups, 2),
		WORLD_CASE(test_relay, setups, 3),
		WORLD_CASE(test_relay, setups, 4),
		WORLD_CASE(test_relay, setups, 5),
		WORLD_CASE(test_relay, setups, 6),
		WORLD_CASE(test_relay, setups, 7),
		cmocka_unit_test(a_buffer_holds_the_longest_frame_of_any_port),
		cmocka_unit_test(test_tx_queues),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_neighbour_moves),
		cmocka_unit_test(test_edges),
		WORLD_CASE(test_hairpin, setups, 0),
		WORLD_CASE(test_hairpin, setups, 3),
		WORLD_CASE(test_hairpin, setups, 5),
#ifdef FEATURE_RESERVATIONS
		WORLD_CASE(test_redirect, setups, 3),
		WORLD_CASE(test_redirect, setups, 5),
#endif
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_stop_in_flight),
		cmocka_unit_test(test_threads),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
