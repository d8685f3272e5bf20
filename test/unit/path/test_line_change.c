// SPDX-License-Identifier: BSD-3-Clause
// Lines while things change around them: the channel in use, the neighbours, full bursts, requests
// among the datagrams.
#include "feature_names.h"
#include "bytes.h"
#include "datapath.h"
#include "dp_burst.h"
#include "line_world.h"
#include "see/stats.h"
#include "turn_relay_map.h"
#include "path/worker.h"

// --- several channels ---------------------------------------------------------------------------

// Sends on a channel; asserts where the datagram comes out. Returns true if the line relayed it.
static bool say(uint16_t channel, const struct endpoint *target)
{
	struct world_datagram d = line_up(0);
	uint8_t frame[2048], mac[6] = {2, 0xaa}; // prefix of the hosts' MACs
	struct line_outcome o;
	struct endpoint dst;
	size_t len;

	line_data(&d, 20);
	store_be16(d.data, channel);
	len = world_frame(&world, &d, frame);
	o = line_pass(LINE_BY_LINE, &client[0], 0, frame, len);
	assert_int_not_equal(o.len, 0);
	memcpy(mac + 2, target->addr.b + 12, 4);
	assert_memory_equal(o.frame, mac, 6);
	dst = (struct endpoint){addr_from_v4(o.frame + 30), load_be16(frame_udp(o.frame) + 2)};
	assert_true(endpoint_eq(&dst, target));
	assert_memory_equal(frame_udp(o.frame) + 8, d.data + 4, 20);
	assert_int_equal(o.counted, 1);
	return o.by_line;
}

// The line has one channel, adopts another one that is in use, and is never wrong.
static void test_takeover(void **state)
{
	const struct endpoint second_peer = world_endpoint("10.99.0.40", 9000);
	unsigned int by_line = 0;
	struct world_datagram d, got;

	line_open(&line_one, 1);
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL + 1, &second_peer), 0);
	d = line_up(0);
	line_data(&d, 4);
	store_be16(d.data, LINE_CHANNEL + 1);
	world_send(&world, &d);
	world_run(&world);
	assert_true(world_take(&world, &second_peer, &got));
	for (unsigned int n = 0; n < 200; n++)
		by_line += say(LINE_CHANNEL + n % 2, n % 2 ? &second_peer : &peer[0]);
	assert_true(by_line > 80 && by_line < 120);
	for (unsigned int n = 0; n < 40; n++)
		by_line = say(LINE_CHANNEL + 1, &second_peer);
	assert_true(by_line);
	for (unsigned int n = 0; n < 40; n++)
		by_line = say(LINE_CHANNEL, &peer[0]);
	assert_true(by_line);
	world_close(&world);
}

// The peer of a channel is resolved at the binding, so its first datagram does not wait.
static void test_asked_early(void **state)
{
	const struct endpoint second_peer = world_endpoint("10.99.0.40", 9000);
	unsigned int asks;

	world_open(&world, &line_one);
	world_client(&world, &client[0], "10.99.0.20", 40000);
	assert_int_equal(client_allocate(&world, &client[0], 4), 0);
	asks = world.asks;
	assert_int_equal(client_bind(&world, &client[0], LINE_CHANNEL, &second_peer), 0);
	assert_int_equal(world.asks, asks + 1);
	assert_true(say(LINE_CHANNEL, &second_peer));
	world_close(&world);
}

// --- neighbours ---------------------------------------------------------------------------------

// Relays a frame to the peer; its MAC is in the outcome.
static struct line_outcome to_peer(void)
{
	struct world_datagram d = line_up(0);
	uint8_t frame[2048];
	size_t len;

	line_data(&d, 20);
	len = world_frame(&world, &d, frame);
	return line_pass(LINE_BY_LINE, &client[0], 0, frame, len);
}

static void peer_answers(const uint8_t mac[6])
{
	struct net_l2 l2 = {0};
	uint8_t frame[NET_ND_FRAME_MAX];

	memcpy(l2.dst, world.dp->port[0].port->mac, 6);
	memcpy(l2.src, mac, 6);
	world_inject(&world, 0, frame,
		net_write_answer(frame, &l2, &peer[0].addr, &world.addresses[0].addr));
	line_round();
}

// A neighbour that moved, one that is silent, one that comes back: the line's note follows.
static void test_neighbour(void **state)
{
	const uint8_t moved[6] = {2, 0xcc, 1, 2, 3, 4};
	struct line_outcome o;

	line_open(&line_one, 1);
	world.deaf = true;
	assert_true(to_peer().by_line);
	for (unsigned int n = 0; n < 31 * 1000; n++)
		world_round(&world);
	o = to_peer(); // STALE: by plan, so that it is resolved
	assert_false(o.by_line);
	assert_int_not_equal(o.len, 0);
	assert_true(to_peer().by_line); // PROBE
	world_round(&world); // sends the request
	peer_answers(moved); // only the known owner was asked
	assert_memory_not_equal(to_peer().frame, moved, 6);
	for (unsigned int n = 0; n < 400; n++) // the owner stays silent, then all hosts are asked
		world_round(&world);
	peer_answers(moved);
	o = to_peer();
	assert_true(o.by_line);
	assert_memory_equal(o.frame, moved, 6);
	for (unsigned int n = 0; n < 31 * 1000; n++)
		world_round(&world);
	assert_int_not_equal(to_peer().len, 0);
	for (unsigned int n = 0; n < 6500; n++) // probed as before, then resolved from the start
		world_round(&world);
	o = to_peer();
	assert_int_equal(o.len, 0);
	assert_int_equal(o.reason, DP_DROP_NEIGH_FAILED);
	world.deaf = false;
	for (unsigned int n = 0; n < 1100; n++)
		world_round(&world);
	line_settle(0);
	assert_true(to_peer().by_line);
	world_close(&world);
}

// --- many datagrams in a round, with requests among them ----------------------------------------

// The next frame sent; asserts that there is one.
static struct line_outcome next_frame(void)
{
	struct line_outcome o = {0};

	o.len = softport_take(world.dp->port[0].port, o.frame, sizeof(o.frame));
	assert_int_not_equal(o.len, 0);
	return o;
}

static const uint8_t *udp_payload(struct line_outcome *o)
{
	return frame_udp(o->frame) + NET_UDP_LEN;
}

static void put_on(uint16_t queue, const struct world_datagram *d)
{
	uint8_t frame[2048];
	const size_t len = world_frame(&world, d, frame);

	softport_put(world.dp->port[0].port, queue, frame, len);
}

// Full bursts of every queue leave in full bursts, in order.
static void test_full_bursts(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 4, .tx_queues = 1};
	const uint64_t *full;
	uint64_t before;

	line_open(&s, 1);
	full = &line_worker()->live.tx_hist[stats_class(DP_BURST)];
	before = *full;
	for (uint32_t i = 0; i < 4 * DP_BURST; i++) {
		struct world_datagram d = line_up(0);

		line_data(&d, 20);
		memcpy(d.data + 4, &i, sizeof(i));
		put_on((uint16_t)(i / DP_BURST), &d);
	}
	line_round();
	for (uint32_t i = 0; i < 4 * DP_BURST; i++) {
		struct line_outcome o = next_frame();

		assert_memory_equal(udp_payload(&o), &i, sizeof(i));
	}
	assert_int_equal(*full, before + 4);
	world_close(&world);
}

// A datagram on a channel does not overtake a request of its client, in that burst or in the next
// one; those of other clients do.
static void test_order(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 2, .tx_queues = 1};

	line_open(&s, 2);
	for (uint16_t queue = 0; queue < 2; queue++) {
		struct world_datagram request = line_up(0), data = line_up(0),
				      bystander = line_up(1);
		struct line_outcome o;

		client_begin(&world, &client[0], STUN_BINDING);
		request.len = stun_end(&client[0].w);
		memcpy(request.data, client[0].message, request.len);
		line_data(&data, 20);
		line_data(&bystander, 20);
		put_on(0, &request);
		put_on(queue, &data);
		put_on(queue, &bystander);
		line_round();
		o = next_frame();
		assert_memory_equal(udp_payload(&o), bystander.data + 4, 20);
		o = next_frame();
		assert_int_equal(load_be16(udp_payload(&o)), 0x0101); // Binding success
		o = next_frame();
		assert_memory_equal(udp_payload(&o), data.data + 4, 20);
	}
	world_close(&world);
}

// Datagrams that wait after a request have not been relayed yet: the round has time for all
// requests.
static void test_waiting(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .requests = 4};
	unsigned int answers = 0;

	line_open(&s, 1);
	world_wait(&world, 1100); // nothing has been relayed recently
	for (uint16_t i = 0; i < 20; i++) {
		struct world_datagram d = line_up(0);

		d.src.port = (uint16_t)(d.src.port + i); // the first source is the client's own
		client_begin(&world, &client[0], STUN_BINDING);
		d.len = stun_end(&client[0].w);
		memcpy(d.data, client[0].message, d.len);
		put_on(0, &d);
		d = line_up(0);
		line_data(&d, 20);
		if (i == 10)
			put_on(0, &d);
	}
	line_round();
	for (unsigned int i = 0; i < 21; i++) {
		struct line_outcome o = next_frame();

		answers += load_be16(udp_payload(&o)) == 0x0101;
	}
	assert_int_equal(answers, 20);
	world_close(&world);
}

// --- clients with an allocation on another worker ------------------------------------------------

#define MARK 0x80 // in the source MAC of frames that the owner writes on the fast path
#define NO_PLAN 0xff

#ifdef FEATURE_RESERVATIONS
static struct worker *owner_of(const struct world_client *c)
{
	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		const struct turn_line *l = world.dp->worker[i]->lines;
		const uint32_t slots = turn_relay_map_slots(world.dp->map, i);

		for (uint32_t slot = 0; slot < slots; slot++)
			if (addr_eq(&l[slot].end[0], &c->endpoint.addr) &&
				(uint16_t)l[slot].mark[0] == c->endpoint.port)
				return world.dp->worker[i];
	}
	fail_msg("no such allocation");
	return NULL;
}

// Makes clients a and b so that b has the port next to a's, which a's home reserves for it. True if
// b's home is another worker.
static bool elsewhere(struct world_client *a, struct world_client *b)
{
	int family;

	client_begin(&world, a, STUN_ALLOCATE);
	stun_put_u32(&a->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(&a->w, STUN_EVEN_PORT, "\x80", 1);
	assert_int_equal(client_ask(&world, a), 0);
	assert_int_equal(a->reply.alen[STUN_RESERVATION_TOKEN], 8);
	client_begin(&world, b, STUN_ALLOCATE);
	stun_put_u32(&b->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put(
		&b->w, STUN_RESERVATION_TOKEN, a->answer + a->reply.off[STUN_RESERVATION_TOKEN], 8);
	assert_int_equal(client_ask(&world, b), 0);
	assert_true(stun_decode_xor_addr(&b->reply, b->reply.off[STUN_XOR_RELAYED_ADDRESS],
		b->reply.alen[STUN_XOR_RELAYED_ADDRESS], &b->relay, &family));
	return world_stats(&world).turn.redirects > 0;
}

// Passes a datagram through all workers; asserts that its owner made no plan for it.
static void passes_by_line(struct worker *owner, const struct world_datagram *d)
{
	struct port *port = world.dp->port[0].port;
	const uint64_t handed = owner->live.handed_in;
	struct line_outcome o = {0};

	owner->burst.turn.plan.verdict = NO_PLAN;
	((uint8_t *)&owner->tx[0].tail[1])[5] ^= MARK;
	world_send(&world, d);
	for (unsigned int i = 0; i < 3 * world.dp->nb_workers; i++)
		worker_round(world.dp->worker[i % world.dp->nb_workers],
			world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	((uint8_t *)&owner->tx[0].tail[1])[5] ^= MARK;
	o.len = softport_take(port, o.frame, sizeof(o.frame));
	assert_int_not_equal(o.len, 0);
	assert_int_equal(o.frame[11] ^ port->mac[5], MARK);
	assert_int_equal(owner->burst.turn.plan.verdict, NO_PLAN);
	assert_int_equal(owner->live.handed_in, handed + 1);
}

// Datagrams that are handed over to a worker other than the client's home take the fast path there.
static void test_redirected(void **state)
{
	const struct world_setup s = {.workers = 4, .rx_queues = 1, .tx_queues = 4};
	struct world_client *a = &client[0], *b = &client[1];
	uint16_t port = 42000;
	struct worker *owner;

	world_open(&world, &s);
	do {
		world_client(&world, a, "10.99.0.20", port++);
		world_client(&world, b, "10.99.0.20", port++);
	} while (!elsewhere(a, b) || owner_of(b)->id == 0); // worker 0 receives, and so hands over
	owner = owner_of(b);
	peer[1] = world_endpoint("10.99.0.30", 7000);
	assert_int_equal(client_bind(&world, b, LINE_CHANNEL, &peer[1]), 0);
	line_settle(1);
	for (unsigned int i = 0; i < 4; i++) {
		struct world_datagram d = i % 2 == 0 ? line_up(1) : line_down(1);

		line_data(&d, 20);
		passes_by_line(owner, &d);
	}
	assert_int_equal(world_drops(&world), 0);
	world_close(&world);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takeover),
		cmocka_unit_test(test_asked_early),
		cmocka_unit_test(test_neighbour),
		cmocka_unit_test(test_full_bursts),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_waiting),
#ifdef FEATURE_RESERVATIONS
		cmocka_unit_test(test_redirected),
#endif
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
