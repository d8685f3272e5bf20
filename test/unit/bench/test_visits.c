// SPDX-License-Identifier: BSD-3-Clause
// The frames that the benchmarks replay are valid frames of clients and peers: complete, with
// correct checksums (computed here in a slow way), each flow once per period.

#include <stdlib.h>

#include "bytes.h"
#include "frames.h"
#include "net.h"
#include "replay_world.h"
#include "slow_sum.h"
#include "stun.h"
#include "test.h"
#include "test_rand.h"
#include "visits.h"

static void test_order_is_permutation(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 64, 1000, 4096, 65537};

	for (unsigned int s = 0; s < RTE_DIM(sizes); s++) {
		const uint32_t nb = sizes[s];
		uint32_t cursor = 0, near = 0, *period = calloc(nb, sizeof(*period));
		uint8_t *seen = calloc(nb, 1);

		for (uint32_t i = 0; i < nb; i++) {
			period[i] = visits_order(&cursor, nb);
			assert_true(period[i] < nb);
			assert_int_equal(seen[period[i]]++, 0);
			near += i > 0 && (period[i] ^ period[i - 1]) % 2 != 0;
		}
		for (uint32_t i = 0; i < nb; i++) // and once more, with equal frames
			assert_int_equal(visits_order(&cursor, nb), period[i]);
		if (nb >= 1000) // an odd one follows an odd one as often as an even one
			assert_in_range(near, nb * 2 / 5, nb * 3 / 5);
		free(period);
		free(seen);
	}
}

struct visit_check {
	struct flows f;
	struct options o;
	uint8_t *seen;
	bool up;
	uint32_t queue; // that is received from
};

static void assert_sums(const uint8_t *frame, size_t len, bool is_v4)
{
	const uint8_t *ip = frame + NET_ETH_LEN;
	const uint8_t *udp = ip + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	const size_t udp_len = len - (size_t)(udp - frame), addrs = is_v4 ? 8 : 32;
	const uint8_t pseudo[4] = {(uint8_t)(udp_len >> 8), (uint8_t)udp_len, 0, 17};
	uint16_t sum = slow_sum(slow_sum(0, udp - addrs, addrs), pseudo, 4);

	if (is_v4)
		assert_int_equal(slow_sum(0, ip, NET_IP4_LEN), 0xffff);
	assert_int_not_equal(load_be16(udp + 6), 0);
	assert_int_equal(slow_sum(sum, udp, udp_len), 0xffff);
}

// Payload of a client's frame, by RFC 8656 12.4 and 11.1.
static void assert_client_payload(
	const struct visit_check *c, uint32_t flow, const uint8_t *data, size_t len)
{
	const struct endpoint peer = flows_peer(&c->f, flow);
	struct endpoint dst;
	struct stun_msg m;
	uint8_t media[OPTIONS_SIZE_MAX];
	int family;

	visits_payload(true, media, c->o.size);
	if (!c->o.indication) {
		assert_int_equal(load_be16(data), flows_channel(&c->f, flow));
		assert_int_equal(load_be16(data + 2), c->o.size);
		assert_int_equal(len, 4 + c->o.size);
		assert_memory_equal(data + 4, media, c->o.size);
		return;
	}
	assert_int_equal(stun_parse(data, len, &m), 0);
	assert_int_equal(m.cls, STUN_INDICATION);
	assert_int_equal(m.method, STUN_SEND);
	assert_true(stun_decode_xor_addr(
		&m, m.off[STUN_XOR_PEER_ADDRESS], m.alen[STUN_XOR_PEER_ADDRESS], &dst, &family));
	assert_true(endpoint_eq(&dst, &peer));
	assert_int_equal(m.alen[STUN_DATA_ATTR], c->o.size);
	assert_memory_equal(data + m.off[STUN_DATA_ATTR], media, c->o.size);
}

static void assert_visit(struct visit_check *c, const struct port *p, const struct rte_mbuf *m)
{
	const struct flows *f = &c->f;
	struct net_rx rx = {0};
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *data;
	struct endpoint src, dst, want;
	struct net_frame n;
	uint8_t media[OPTIONS_SIZE_MAX];
	uint32_t flow;

	memcpy(rx.mac, p->mac, 6);
	assert_int_equal(net_frame_parse(frame, m->data_len, &rx, &n), NET_OK);
	assert_sums(frame, m->data_len, f->is_v4);
	assert_memory_equal(frame + 6, visits_gateway_mac, 6);
	src = (struct endpoint){n.src, n.sport};
	dst = (struct endpoint){n.dst, n.dport};
	flow = c->up ? flows_of_client(f, &src) : flows_of_peer(f, &src);
	assert_true(flow < f->nb);
	want = c->up ? flows_server(f) : flows_relay(f, flow);
	assert_true(endpoint_eq(&dst, &want));
	assert_int_equal(c->seen[flow]++, 0);
	assert_true((flow % c->o.workers == c->queue) == !c->o.handover);
	data = frame + n.payload_off;
	if (c->up) {
		assert_client_payload(c, flow, data, n.payload_len);
		return;
	}
	visits_payload(false, media, c->o.size);
	assert_int_equal(n.payload_len, c->o.size);
	assert_memory_equal(data, media, c->o.size);
}

// One period of a queue.
static void check_queue(struct visit_check *c, struct port *p)
{
	const struct visits_queue queue = {c->queue, SOCKET_ID_ANY, p->mac};
	struct visits v;
	struct rte_mbuf *m;

	assert_int_equal(visits_make(&v, &c->f, &c->o, &queue), 0);
	assert_int_equal(visits_replay(&v, &c->o, p, (uint16_t)c->queue), 0);
	port_replay_limit(p, (uint16_t)c->queue, v.nb);
	while (port_rx(p, (uint16_t)c->queue, &m, 1) == 1) {
		assert_visit(c, p, m);
		rte_pktmbuf_free(m);
	}
	visits_free(&v);
}

// One period of one direction: each flow once, on its queue, every frame correct.
static void check_visits(struct visit_check *c)
{
	struct port *p = replay_world_open("replay:a,queues=5");
	struct test_rand r = {9};

	assert_int_equal(flows_init(&c->f, c->o.is_v4, c->o.allocations), 0);
	for (uint32_t i = 0; i < c->f.nb; i++) {
		struct endpoint relay = flows_relay(&c->f, i);

		store_be16(relay.addr.b + 14, (uint16_t)test_rand(&r));
		relay.port = (uint16_t)(49152 + test_rand_below(&r, 16384));
		assert_true(flows_set_relay(&c->f, i, &relay));
	}
	c->seen = calloc(c->f.nb, 1);
	for (c->queue = 0; c->queue < c->o.workers; c->queue++)
		check_queue(c, p);
	for (uint32_t i = 0; i < c->f.nb; i++)
		assert_int_equal(c->seen[i], 1);
	free(c->seen);
	replay_world_close(p);
	flows_fini(&c->f);
}

static void test_visits(void **state)
{
	static const uint16_t sizes[] = {OPTIONS_SIZE_MIN, 120, 121, OPTIONS_SIZE_MAX};

	for (unsigned int i = 0; i < 32; i++) {
		struct visit_check c = {.up = (i & 1) != 0,
			.o = {.allocations = 300,
				.workers = 1,
				.size = sizes[i >> 3],
				.direction = (i & 1) != 0 ? DIRECTION_UP : DIRECTION_DOWN,
				.is_v4 = (i & 2) != 0,
				.indication = (i & 4) != 0}};

		check_visits(&c);
	}
}

// More flows than there are host addresses: ports increment.
static void test_visits_many(void **state)
{
	struct visit_check c = {
		.up = true, .o = {.allocations = 70000, .workers = 1, .size = 16, .is_v4 = true}};

	c.o.direction = DIRECTION_UP;
	check_visits(&c);
}

// With hand-over no flow comes in at its home, and every queue has some flows, however few there
// are.
static void test_visits_of_workers(void **state)
{
	static const uint32_t allocations[] = {5, 6, 19, 300};

	for (unsigned int i = 0; i < 2 * RTE_DIM(allocations); i++)
		for (uint8_t workers = 2; workers <= 5; workers++) {
			struct visit_check c = {.up = true,
				.o = {.allocations = allocations[i / 2],
					.workers = workers,
					.handover = (i & 1) != 0,
					.size = 120,
					.direction = DIRECTION_UP,
					.is_v4 = true}};

			check_visits(&c);
		}
}

static int start_world(void **state)
{
	return replay_world_start("--file-prefix=test_visits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_is_permutation),
		cmocka_unit_test(test_visits),
		cmocka_unit_test(test_visits_many),
		cmocka_unit_test(test_visits_of_workers),
	};

	return cmocka_run_group_tests(tests, start_world, replay_world_stop);
}
