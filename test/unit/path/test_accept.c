// SPDX-License-Identifier: BSD-3-Clause
// Frames that accept.c lets in: MACs, checksums that the port has not verified, VLAN tags that it
// has stripped. Also that usual frames take the fast path, which calls nothing, and how many
// datagrams of a burst are reported to the backlog as relayed.
#include "bytes.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_world.h"
#include "turn_relay_map.h"
#include "path/worker.h"

#define CHANNEL 0x4001

static struct dp_world world;
static struct world_client client[2]; // by [is_v4]
static struct endpoint peer[2];

// Counts calls of functions that only the slow paths call.
static unsigned int parsed, described, homes;

enum net_drop __real_net_frame_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f);
enum net_drop __wrap_net_frame_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f);
enum net_drop __wrap_net_frame_parse(
	const uint8_t *data, size_t len, const struct net_rx *rx, struct net_frame *f)
{
	parsed++;
	return __real_net_frame_parse(data, len, rx, f);
}

void __real_net_frame_describe(
	const uint8_t *data, uint16_t payload_off, uint16_t payload_len, struct net_frame *f);
void __wrap_net_frame_describe(
	const uint8_t *data, uint16_t payload_off, uint16_t payload_len, struct net_frame *f);
void __wrap_net_frame_describe(
	const uint8_t *data, uint16_t payload_off, uint16_t payload_len, struct net_frame *f)
{
	described++;
	__real_net_frame_describe(data, payload_off, payload_len, f);
}

bool __real_turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index,
	uint16_t port, unsigned int *worker, uint32_t *slot);
bool __wrap_turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index,
	uint16_t port, unsigned int *worker, uint32_t *slot);
bool __wrap_turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index,
	uint16_t port, unsigned int *worker, uint32_t *slot)
{
	homes++;
	return __real_turn_relay_map_home(m, addr_index, port, worker, slot);
}

// Bursts, and the relayed datagrams that fastpath_burst reported.
static unsigned int bursts, told;

unsigned int __real_fastpath_burst(struct worker *w, bool may_wait);
unsigned int __wrap_fastpath_burst(struct worker *w, bool may_wait);
unsigned int __wrap_fastpath_burst(struct worker *w, bool may_wait)
{
	const unsigned int n = __real_fastpath_burst(w, may_wait);

	bursts++;
	told += n;
	return n;
}

// A client of each family with a channel to a peer.
static void open(const struct world_setup *s)
{
	world_open(&world, s);
	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
		struct world_client *c = &client[is_v4];

		world_client(&world, c, is_v4 ? "10.99.0.20" : "fd99::20", 40000);
		peer[is_v4] = world_endpoint(is_v4 ? "10.99.0.30" : "fd99::30", 7000);
		assert_int_equal(client_allocate(&world, c, is_v4 ? 4 : 6), 0);
		assert_int_equal(client_bind(&world, c, CHANNEL, &peer[is_v4]), 0);
	}
	assert_int_equal(world_drops(&world), 0);
}

// ChannelData of a client, or data of its peer; both are relayed if let in.
static size_t media(bool up, bool is_v4, uint8_t frame[2048])
{
	struct world_datagram d = {.len = 8, .data = {0x40, 0x01, 0, 4, 'd', 'a', 't', 'a'}};

	d.src = up ? client[is_v4].endpoint : peer[is_v4];
	d.dst = up ? client[is_v4].server : client[is_v4].relay;
	return world_frame(&world, &d, frame);
}

// Receives a frame with the given offload flags.
static void receive(const uint8_t *frame, size_t len, uint64_t flags, uint16_t tci)
{
	struct port *p = world.dp->port[0].port;
	struct rte_mbuf *m = softport_mbuf(p, frame, len);

	m->ol_flags |= flags;
	m->vlan_tci = tci;
	softport_put_mbuf(p, (uint16_t)test_rand_below(&world.rand, p->nb_rxq), m);
}

static uint64_t dropped_all(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		n += world_dropped(&world, i);
	return n;
}

// Datagrams that left.
static unsigned int relayed(void)
{
	const unsigned int n = world.nb_seen;

	world.nb_seen = 0;
	return n;
}

// Asserts that a frame is dropped for a reason, or let in with DP_OK.
static void judged(
	const uint8_t *frame, size_t len, uint64_t flags, uint16_t tci, unsigned int reason)
{
	const uint64_t before = dropped_all(),
		       reason_before = reason < DP_OK ? world_dropped(&world, reason) : 0;

	receive(frame, len, flags, tci);
	world_run(&world);
	assert_int_equal(relayed(), reason == DP_OK);
	assert_int_equal(dropped_all() - before, reason != DP_OK);
	if (reason < DP_OK)
		assert_int_equal(world_dropped(&world, reason) - reason_before, 1);
}

// --- MACs ---------------------------------------------------------------------------------------

// A plain frame that no line vouches for: a request, or a datagram to a peer without permission.
static size_t unvouched(bool request, bool is_v4, uint8_t frame[2048])
{
	struct world_datagram d = {.src = client[is_v4].endpoint, .dst = client[is_v4].server};
	const uint8_t tid[STUN_TID_LEN] = {1};
	struct stun_writer w;

	if (request) {
		stun_begin(&w, d.data, sizeof(d.data), STUN_REQUEST, STUN_BINDING, tid);
		d.len = stun_end(&w);
	} else {
		d.src.port++;
		d.len = 8;
		memcpy(d.data, "\x40\x01\0\4data", 8);
	}
	return world_frame(&world, &d, frame);
}

static void test_source_mac(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const unsigned int martian = drop_of_net(NET_DROP_MARTIAN_SOURCE);
	uint8_t frame[2048];

	open(&s);
	for (unsigned int i = 0; i < 4; i++) {
		const bool request = (i & 2) != 0;
		const size_t len = unvouched(request, (i & 1) != 0, frame);
		const uint8_t first = frame[6];

		// unchanged, the frame is judged by its content, and parsed only once
		parsed = 0;
		judged(frame, len, 0, 0, request ? DP_OK : drop_of_turn(TURN_DROP_NO_ALLOCATION));
		assert_int_equal(parsed, request); // the answer, by the world
		frame[6] = first | 1; // a group address
		judged(frame, len, 0, 0, martian);
		memset(frame + 6, 0xff, 6);
		judged(frame, len, 0, 0, martian);
		memcpy(frame + 6, world.dp->port[0].port->mac, 6); // ours
		judged(frame, len, 0, 0, martian);
		frame[11] ^= 1; // nearly our address
		judged(frame, len, 0, 0, request ? DP_OK : drop_of_turn(TURN_DROP_NO_ALLOCATION));
	}
	world_close(&world);
}

// --- checksums ----------------------------------------------------------------------------------

static void test_ip_checksum(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const unsigned int wrong = drop_of_net(NET_DROP_IP_CHECKSUM);
	const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD, bad = RTE_MBUF_F_RX_IP_CKSUM_BAD;
	uint8_t frame[2048];
	size_t len;

	open(&s);
	for (unsigned int up = 0; up < 2; up++) {
		len = media(up != 0, true, frame);
		judged(frame, len, 0, 0, DP_OK);
		frame[NET_ETH_LEN + 10] ^= 1;
		// the port does not verify checksums, whatever an mbuf says
		judged(frame, len, 0, 0, wrong);
		judged(frame, len, good, 0, wrong);
		judged(frame, len, bad, 0, wrong);
		// if the port verifies checksums, only "good" is believed
		world.dp->port[0].verified = RTE_MBUF_F_RX_IP_CKSUM_MASK;
		judged(frame, len, 0, 0, wrong);
		judged(frame, len, bad, 0, wrong);
		frame[NET_ETH_LEN + 10] ^= 1;
		judged(frame, len, good, 0, DP_OK);
		world.dp->port[0].verified = 0;
	}
	// also where a frame takes the slow path for another reason, here padding
	len = media(true, true, frame);
	memset(frame + len, 0, 8);
	judged(frame, len + 8, 0, 0, DP_OK);
	frame[NET_ETH_LEN + 10] ^= 1;
	judged(frame, len + 8, 0, 0, wrong);
	world_close(&world);
}

// Leaves the sum of the pseudo-header in a frame's UDP checksum, as a host does for its NIC.
static void unfinish(uint8_t *frame, size_t len, bool is_v4)
{
	uint8_t *udp = frame + NET_ETH_LEN + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	const uint16_t udp_len = (uint16_t)(frame + len - udp);
	const struct addr src = is_v4 ? addr_from_v4(udp - 8) : addr_from_v6(udp - 32);
	const struct addr dst = is_v4 ? addr_from_v4(udp - 4) : addr_from_v6(udp - 16);

	store_be16(udp + NET_UDP_CHECKSUM_AT,
		csum_fold(csum_addrs(&src, &dst) + NET_PROTO_UDP + (uint32_t)udp_len));
}

// A frame from another virtual machine of this host. It leaves with a complete checksum, which the
// peers and clients of the world verify.
static void test_unfinished(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const unsigned int wrong = drop_of_net(NET_DROP_UDP_CHECKSUM);
	const uint64_t none = RTE_MBUF_F_RX_L4_CKSUM_NONE, bad = RTE_MBUF_F_RX_L4_CKSUM_BAD;
	uint8_t frame[2048];

	open(&s);
	for (unsigned int i = 0; i < 8; i++) {
		const bool is_v4 = (i & 2) != 0;
		size_t len = media((i & 1) != 0, is_v4, frame);

		unfinish(frame, len, is_v4);
		if ((i & 4) != 0) { // padded
			memset(frame + len, 0, 8);
			len += 8;
		}
		world.dp->port[0].verified = RTE_MBUF_F_RX_L4_CKSUM_MASK;
		judged(frame, len, none, 0, DP_OK);
		judged(frame, len, bad, 0, wrong);
		judged(frame, len, 0, 0, wrong);
		world.dp->port[0].verified = 0; // such a port verifies nothing
		judged(frame, len, none, 0, wrong);
	}
	world_close(&world);
}

// --- tags that the port has stripped ------------------------------------------------------------

static void test_stripped_untagged(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const uint64_t strip = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	const unsigned int wrong = drop_of_net(NET_DROP_VLAN);
	uint8_t frame[2048];

	open(&s);
	for (unsigned int i = 0; i < 8; i++) {
		const size_t len = media((i & 1) != 0, (i & 2) != 0, frame);
		const uint64_t more = (i & 4) != 0 ? good : 0;

		world.dp->port[0].verified =
			more != 0 ? RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK : 0;
		judged(frame, len, more, 7, DP_OK); // a number without meaning
		judged(frame, len, more | strip, 7, wrong);
		judged(frame, len, more | strip, 0xe007, wrong);
		judged(frame, len, more | strip, 0xe000, DP_OK); // a priority without a VLAN
		judged(frame, len, more | strip | RTE_MBUF_F_RX_QINQ_STRIPPED, 0, wrong);
		judged(frame, len, more | RTE_MBUF_F_RX_QINQ_STRIPPED, 0, wrong);
	}
	world_close(&world);
}

// Strips the tag of a frame as a NIC does.
static size_t strip_tag(uint8_t *frame, size_t len)
{
	memmove(frame + 12, frame + 12 + NET_VLAN_LEN, len - 12 - NET_VLAN_LEN);
	return len - NET_VLAN_LEN;
}

static void test_stripped_tagged(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 7};
	const uint64_t strip = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	const unsigned int wrong = drop_of_net(NET_DROP_VLAN);
	uint8_t frame[2048];

	open(&s);
	for (unsigned int i = 0; i < 4; i++) {
		size_t len = media((i & 1) != 0, (i & 2) != 0, frame);

		judged(frame, len, 0, 0, DP_OK);
		judged(frame, len, strip, 7, wrong); // two tags
		judged(frame, len, RTE_MBUF_F_RX_QINQ_STRIPPED, 7, wrong); // two tags as well
		len = strip_tag(frame, len);
		judged(frame, len, 0, 7, wrong); // it had no tag
		judged(frame, len, strip, 8, wrong);
		judged(frame, len, strip, 0xa007, DP_OK);
	}
	world_close(&world);
}

// ARP and echo are answered on the VLAN that they came from; a frame that is too short to have had
// a tag, or without room for one, is dropped.
static void test_stripped_others(void **state)
{
	const struct world_setup s = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 7, .icmp_rate = 10};
	const uint64_t strip = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	const struct addr us = world_endpoint("10.99.0.1", 0).addr;
	const struct addr host = world_endpoint("10.99.0.20", 0).addr;
	struct net_l2 l2 = {.src = {2, 0xaa, 10, 99, 0, 20}, .vlan = 7};
	struct rte_mbuf *m;
	uint8_t frame[2048];
	size_t len;

	open(&s);
	len = strip_tag(frame, net_write_ask(frame, &l2, &host, &us, NULL));
	world.answers = 0;
	receive(frame, len, strip, 7);
	world_run(&world);
	assert_int_equal(world.answers, 1);
	receive(frame, len, strip, 8);
	world_run(&world);
	assert_int_equal(world.answers, 1);
	assert_int_equal(world_dropped(&world, drop_of_net(NET_DROP_VLAN)), 1);
	judged(frame, 11, strip, 7, drop_of_net(NET_DROP_SHORT));
	len = strip_tag(frame, media(true, true, frame));
	m = softport_mbuf(world.dp->port[0].port, "", 0);
	m->data_off = 0;
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	m->ol_flags |= strip;
	m->vlan_tci = 7;
	softport_put_mbuf(world.dp->port[0].port, 0, m);
	world_run(&world);
	assert_int_equal(relayed(), 0);
	assert_int_equal(world_dropped(&world, DP_DROP_HEADROOM), 1);
	world_close(&world);
}

// --- the fast path ------------------------------------------------------------------------------

// Media of both legs and families, by one worker and by several: nothing is parsed, described or
// looked up in the relay map except by the test itself.
static void test_short_way(void **state)
{
	const uint16_t range[] = {512, 16384 - 848}; // from 50000 on; up to 65535
	uint8_t frame[2048];

	for (unsigned int i = 0; i < 2 * RTE_DIM(range); i++) {
		const struct world_setup s = {.workers = 1 + (i & 1),
			.rx_queues = 1,
			.tx_queues = 1 + (i & 1),
			.relays = i & 1 ? 2 : 0, // one for each worker
			.relay_ports = range[i / 2]};
		unsigned int sent = 0;

		open(&s);
		for (unsigned int k = 0; k < 40; k++) {
			if (k == 8) // the routes are known
				parsed = described = homes = sent = 0;
			for (unsigned int combo = 0; combo < 4; combo++) {
				const size_t len = media((combo & 1) != 0, (combo & 2) != 0, frame);

				receive(frame, len, 0, 0);
				sent++;
			}
			for (unsigned int w = 0; w < s.workers + 2; w++)
				for (unsigned int worker = 0; worker < s.workers; worker++)
					worker_round(world.dp->worker[worker],
						world.dp->tsc_start +
							world.ms * world.dp->tsc_per_ms);
		}
		assert_int_equal(sent, 128);
		assert_int_equal(parsed + described + homes, 0);
		world_run(&world); // the world itself parses the frames that it receives
		assert_int_equal(relayed(), 160);
		assert_int_equal(world_drops(&world), 0);
		world_close(&world);
	}
}

// --- number of relayed datagrams ----------------------------------------------------------------

// Runs one round on the received frames; asserts how many datagrams the burst reported as relayed.
static void told_of(unsigned int relays)
{
	bursts = told = 0;
	world_round(&world);
	assert_int_equal(told, relays);
	assert_in_range(bursts, 1, 2);
}

// A spoofed datagram that no line vouches for: it has our own MAC.
static void spoofed(void)
{
	uint8_t frame[2048];
	const size_t len = unvouched(false, true, frame);

	memcpy(frame + 6, world.dp->port[0].port->mac, 6);
	receive(frame, len, 0, 0);
}

static void usual(bool up, bool is_v4)
{
	uint8_t frame[2048];
	const size_t len = media(up, is_v4, frame);

	receive(frame, len, 0, 0);
}

// Requests, drops and datagrams without permission do not count as relayed, in any mixture with
// relayed ones: relayed by line before them, after them, and by plan.
static void test_told(void **state)
{
	const struct world_setup s = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	uint8_t frame[2048];
	size_t len;

	open(&s);
	for (unsigned int i = 0; i < 4; i++)
		usual((i & 1) != 0, (i & 2) != 0);
	world_run(&world); // the routes are known
	for (unsigned int i = 0; i < 7; i++)
		usual((i & 1) != 0, (i & 2) != 0);
	told_of(7); // 3 up, 4 down
	spoofed();
	told_of(0);
	spoofed();
	spoofed();
	usual(true, true);
	usual(false, true);
	usual(false, false);
	told_of(3);
	usual(true, true);
	spoofed();
	usual(true, false);
	usual(true, true);
	told_of(3);
	len = unvouched(true, true, frame); // a request waits, and is answered after the burst
	receive(frame, len, 0, 0);
	told_of(0);
	usual(false, true);
	receive(frame, len, 0, 0);
	usual(true, false);
	told_of(2);
	for (uint32_t i = 0; i < turn_relay_map_slots(world.dp->map, 0); i++)
		world.dp->worker[0]->lines[i].until =
			(uint16_t)(world.ms / TURN_LINE_MS); // all copies have expired
	usual(true, true);
	usual(false, true);
	spoofed();
	told_of(2); // by plan
	world_run(&world);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source_mac),
		cmocka_unit_test(test_ip_checksum),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_stripped_untagged),
		cmocka_unit_test(test_stripped_tagged),
		cmocka_unit_test(test_stripped_others),
		cmocka_unit_test(test_short_way),
		cmocka_unit_test(test_told),
	};

	world_eal();
	return cmocka_run_group_tests_name("accept", tests, NULL, NULL);
}
