// SPDX-License-Identifier: BSD-3-Clause
// A hostile host on the link, and several workers, only one of which receives ARP and ND: whatever
// the attacker claims, however often, each worker keeps the neighbours whose owners answer, and
// finds those that move.
#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"
#include "drop_of.h"
#include "link/tx.h"
#include "path/worker.h"

#define FAR4 "198.51.100.7"
#define FAR6 "2a00:1450::7"
#define PEER4 "10.99.0.30"
#define PEER6 "fd99::30"
#define STEP 20 // milliseconds from one datagram of a call to the next

static struct dp_world world;
static const uint8_t liar_mac[6] = {2, 0, 0, 0, 0, 0x66};

// A client whose allocation is on the last worker, and its peer.
struct call {
	struct world_client client;
	struct endpoint peer;
};

// A claim of the attacker about a target, in a frame to the port: a frame is made once and sent
// often.
struct lie {
	uint8_t frame[NET_ND_FRAME_MAX];
	size_t len;
};

// The claims that the attacker is about to send.
static struct {
	struct lie lie[16];
	unsigned int nb, left;
	bool first;
	bool (*receive)(struct dp_world *w, unsigned int port);
} talk;

static void open_world(unsigned int workers)
{
	const struct world_setup setup = {
		.workers = workers, .rx_queues = 1, .tx_queues = workers, .ask_rate = 1000};

	world_open(&world, &setup);
	world_run(&world);
}

static uint64_t allocations(unsigned int worker)
{
	struct dp_stats s;

	assert_true(dp_worker_stats(world.dp, worker, &s));
	return s.turn.allocations;
}

static void call_begin(struct call *c, unsigned int worker, const char *peer)
{
	static uint16_t port = 5000;
	const uint64_t before = allocations(worker);

	c->peer = world_endpoint(peer, 7000);
	for (unsigned int tries = 0; tries < 100; tries++) {
		world_client(&world, &c->client, "10.99.0.20", port++);
		assert_int_equal(
			client_allocate(&world, &c->client, addr_is_v4(&c->peer.addr) ? 4 : 6), 0);
		if (allocations(worker) > before)
			break;
	}
	assert_int_equal(client_bind(&world, &c->client, 0x4000, &c->peer), 0);
	client_assert_relays(&world, &c->client, 0x4000, &c->peer);
}

static void hear(const struct lie *l)
{
	softport_put(world.dp->port[0].port, 0, l->frame, l->len);
}

static struct addr ours(const struct addr *target)
{
	return world.addresses[addr_is_v4(target) ? 0 : 1].addr;
}

// An unsolicited answer, unicast as if it was solicited; with to_all an announcement.
static struct lie lie_answer(const struct addr *target, const uint8_t mac[6], bool to_all)
{
	const struct addr us = ours(target);
	struct lie l = {0};
	struct net_l2 l2 = {0};

	memcpy(l2.src, mac, 6);
	memcpy(l2.dst, world.dp->port[0].port->mac, 6);
	l.len = net_write_answer(l.frame, &l2, target, to_all ? NULL : &us);
	return l;
}

// Makes an advertisement unsolicited: S is clear, O stays set.
static struct lie unsolicited(struct lie l)
{
	uint8_t *icmp = l.frame + NET_ETH_LEN + NET_IP6_LEN;
	const uint16_t sum = load_be16(icmp + 2);

	icmp[4] &= (uint8_t)~0x40;
	store_be16(icmp + 2, csum_update(sum, 0x4000, 0));
	return l;
}

// A request to us in the target's name.
static struct lie lie_ask(const struct addr *target, const uint8_t mac[6])
{
	const struct addr us = ours(target);
	struct lie l = {0};
	struct net_l2 l2 = {0};

	memcpy(l2.src, mac, 6);
	l.len = net_write_ask(l.frame, &l2, target, &us, NULL);
	return l;
}

// Asserts that every worker that uses the target knows its true MAC and can use it.
static void assert_known(const struct addr *target, unsigned int users)
{
	uint8_t mac[6];

	world_mac(&world, target, mac);
	for (unsigned int w = 0; w < world.dp->nb_workers; w++) {
		struct neigh_info info[64];
		uint16_t cursor = 0;

		while (cursor != NEIGH_NONE) {
			const unsigned int n = neigh_list(
				world.dp->worker[w]->neigh, &cursor, info, RTE_DIM(info));

			for (unsigned int i = 0; i < n; i++) {
				if (!addr_eq(&info[i].target, target))
					continue;
				assert_int_not_equal(info[i].state, NEIGH_INCOMPLETE);
				assert_int_not_equal(info[i].state, NEIGH_FAILED);
				assert_memory_equal(info[i].mac, mac, 6);
				users--;
			}
		}
	}
	assert_int_equal(users, 0);
}

// Asserts that media of a call flows, to the right neighbour, which the world checks.
static void media(struct call *c, unsigned int *lost)
{
	struct world_datagram got;

	client_channel_data(&world, &c->client, 0x4000, "media", 5);
	world_round(&world);
	world_round(&world);
	*lost += !world_take(&world, &c->peer, &got);
}

// Sends the claims of one millisecond: before the answers of the world's hosts, when receive_liar
// is called for the first time in a round, or after them.
static void speak(void)
{
	for (; talk.left > 0; talk.left--)
		hear(&talk.lie[test_rand_below(&world.rand, talk.nb)]);
}

static bool receive_liar(struct dp_world *w, unsigned int port)
{
	if (talk.first)
		speak();
	return talk.receive(w, port);
}

// Floods with claims, each_ms of them a millisecond, during a call.
static void flood(struct call *c, unsigned int each_ms, unsigned int ms)
{
	const uint64_t end = world.ms + ms;
	unsigned int lost = 0;

	talk.receive = world.receive;
	world.receive = receive_liar;
	while (world.ms < end) {
		talk.left = each_ms;
		talk.first = test_rand_below(&world.rand, 2) == 0;
		if (world.ms % STEP == 0)
			media(c, &lost);
		else
			world_round(&world);
		speak();
	}
	world.receive = talk.receive;
	world_run(&world);
	assert_int_equal(lost, 0);
}

// The attacker claims the router's address: the call's worker, which does not receive ARP, keeps
// using the true one.
static void router(const char *far, unsigned int family)
{
	struct call c;

	open_world(2);
	call_begin(&c, 1, far);
	talk.lie[0] = lie_answer(&world.gateways[family], liar_mac, false);
	talk.nb = 1;
	flood(&c, 20, 60 * 1000);
	assert_known(&world.gateways[family], 2);
	world_close(&world);
}

static void a_router_stays_where_it_answers(void **state)
{
	router(FAR4, 0);
	router(FAR6, 1);
}

static void peer(const char *host)
{
	struct call c;

	open_world(2);
	call_begin(&c, 1, host);
	talk.lie[0] = lie_answer(&c.peer.addr, liar_mac, false);
	talk.nb = 1;
	flood(&c, 30, 60 * 1000);
	assert_known(&c.peer.addr, 1);
	world_close(&world);
}

static void a_peer_stays_where_it_answers(void **state)
{
	peer(PEER4);
	peer(PEER6);
}

// Every possible claim, about all known hosts and about others, with the attacker's MAC, any MAC,
// and sometimes the owner's; on three workers.
static void say_all(const struct call *c)
{
	const struct addr known[] = {world.gateways[0], world.gateways[1], c[0].peer.addr,
		c[1].peer.addr, c[0].client.endpoint.addr};

	talk.nb = RTE_DIM(talk.lie);
	for (unsigned int i = 0; i < talk.nb; i++) {
		struct addr target = known[test_rand_below(&world.rand, RTE_DIM(known))];
		uint8_t mac[6];

		memcpy(mac, liar_mac, sizeof(mac));
		if (test_rand_below(&world.rand, 2) == 0)
			test_rand_fill(&world.rand, mac + 1, 5);
		if (test_rand_below(&world.rand, 4) == 0)
			world_mac(&world, &target, mac);
		else if (test_rand_below(&world.rand, 3) == 0)
			target.b[15] = (uint8_t)(100 + test_rand_below(&world.rand, 100));
		talk.lie[i] =
			i % 4 == 0 ? lie_ask(&target, mac) : lie_answer(&target, mac, i % 4 == 1);
		if (i % 4 == 3 && !addr_is_v4(&target))
			talk.lie[i] = unsolicited(talk.lie[i]);
	}
}

static void false_claims_move_no_host_that_answers(void **state)
{
	struct call c[2];

	open_world(3);
	call_begin(&c[0], 1, FAR4);
	call_begin(&c[1], 2, PEER6);
	for (unsigned int n = 0; n < 300; n++) {
		say_all(c);
		flood(&c[n % 2], 20, 100);
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_known(&world.gateways[i], 3);
		client_assert_relays(&world, &c[i].client, 0x4000, &c[i].peer);
	}
	assert_known(&c[1].peer.addr, 1);
	world_close(&world);
}

static uint64_t told(void)
{
	const struct dp_stats s = world_stats(&world);
	uint64_t n = 0;

	for (unsigned int i = 0; i < DP_BURST_CLASSES; i++)
		n += s.hand_hist[i];
	return n;
}

// Claims about hosts that nobody has asked for do not reach other workers, and are counted.
static void unrequested_claims_stay_on_one_worker(void **state)
{
	uint64_t before;

	open_world(2);
	before = told();
	for (unsigned int ms = 0; ms < 5000; ms++) {
		for (unsigned int i = 0; i < 20; i++) {
			struct addr target = world.gateways[0];
			struct lie l;

			test_rand_fill(&world.rand, target.b + 13, 3);
			if (addr_eq(&target, &world.gateways[0]) ||
				addr_eq(&target, &world.addresses[0].addr))
				continue;
			l = lie_answer(&target, liar_mac, false);
			hear(&l);
		}
		world_round(&world);
	}
	world_run(&world);
	assert_in_range(told() - before, 0, 5);
	assert_in_range(world_dropped(&world, DP_DROP_ARP), 99000, 100000);
	world_close(&world);
}

// A peer that one worker knows moves to another MAC, and announces that on a queue of another
// worker: some time later its media goes to the new MAC.
static void moves(const char *host, bool after_flood)
{
	struct world_datagram got;
	struct call c;
	struct lie l;
	uint8_t mac[6];
	unsigned int lost = 0;

	open_world(2);
	call_begin(&c, 1, host);
	if (after_flood) {
		talk.lie[0] = lie_answer(&c.peer.addr, liar_mac, false);
		talk.nb = 1;
		flood(&c, 20, 3000);
	}
	for (unsigned int back = 0; back < 2; back++) {
		world.moved = back == 0 ? c.peer.addr : (struct addr){0};
		world.rerouted = true; // until it is found
		world_mac(&world, &c.peer.addr, mac);
		l = lie_answer(&c.peer.addr, mac, true);
		hear(&l);
		for (unsigned int ms = 0; ms < 1500; ms++)
			media(&c, &lost);
		world.rerouted = false;
		media(&c, &lost);
		while (world_take(&world, &c.peer, &got)) {
		}
		assert_known(&c.peer.addr, 1);
	}
	world_close(&world);
}

static void a_peer_that_moves_is_found(void **state)
{
	moves(PEER4, false);
	moves(PEER6, false);
	moves(PEER4, true);
	moves(PEER6, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_router_stays_where_it_answers),
		cmocka_unit_test(a_peer_stays_where_it_answers),
		cmocka_unit_test(false_claims_move_no_host_that_answers),
		cmocka_unit_test(unrequested_claims_stay_on_one_worker),
		cmocka_unit_test(a_peer_that_moves_is_found),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
