// SPDX-License-Identifier: BSD-3-Clause
// Clients with a channel each in a data path, frames sent over each of the three paths, and
// checksums computed with slow code.
#include "bytes.h"
#include "datapath.h"
#include "line_world.h"
#include "see/stats.h"
#include "turn_relay_map.h"
#include "path/worker.h"
#include "slow_sum.h"

#define MARK 0x80 // in the source MAC of frames on the fast path
#define NO_PLAN 0xff

struct dp_world world;
struct world_client client[LINE_CLIENTS];
struct endpoint peer[LINE_CLIENTS];

const struct world_setup line_one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
struct line_rx line_rx = {.headroom = RTE_PKTMBUF_HEADROOM};

static uint8_t id_seen[65536]; // of whole frames without DF

// --- checksums with slow code -------------------------------------------------------------------

uint8_t *frame_udp(uint8_t *frame)
{
	return frame + NET_ETH_LEN + (frame[14] >> 4 == 4 ? NET_IP4_LEN : NET_IP6_LEN);
}

// As a sender computes it, from scratch (RFC 768, RFC 8200 8.1).
uint16_t frame_udp_checksum(uint8_t *frame)
{
	const bool is_v4 = frame[14] >> 4 == 4;
	uint8_t *udp = frame_udp(frame);
	const uint16_t len = load_be16(udp + 4), was = load_be16(udp + 6);
	const unsigned int addrs = is_v4 ? 8 : 32;
	uint16_t sum;

	store_be16(udp + 6, 0);
	sum = (uint16_t)~slow_sum(17u + len, udp - addrs, addrs + len);
	store_be16(udp + 6, was);
	return sum != 0 ? sum : 0xffff;
}

// RFC 791. Zero is an ordinary value.
uint16_t frame_ip_checksum(uint8_t *frame)
{
	const uint16_t was = load_be16(frame + 24);
	uint16_t sum;

	store_be16(frame + 24, 0);
	sum = (uint16_t)~slow_sum(0, frame + 14, NET_IP4_LEN);
	store_be16(frame + 24, was);
	return sum;
}

void frame_set_checksums(uint8_t *frame)
{
	if (frame[14] >> 4 == 4)
		store_be16(frame + 24, frame_ip_checksum(frame));
	store_be16(frame_udp(frame) + 6, frame_udp_checksum(frame));
}

// --- the world ----------------------------------------------------------------------------------

// Every pair of families, on-link and behind the gateway, and a client on the second port.
static const struct {
	const char *client, *peer;
} cast[LINE_CLIENTS] = {
	{"10.99.0.20", "10.99.0.30"},
	{"fd99::20", "fd99::30"},
	{"198.51.100.5", "fd99::31"},
	{"2a00:db9::5", "198.51.100.9"},
	{"10.98.0.20", "10.99.0.31"},
};

struct world_datagram line_up(unsigned int i)
{
	return (struct world_datagram){.src = client[i].endpoint, .dst = client[i].server};
}

struct world_datagram line_down(unsigned int i)
{
	return (struct world_datagram){.src = peer[i], .dst = client[i].relay};
}

// ChannelData of len bytes of data.
void line_data(struct world_datagram *d, uint16_t len)
{
	test_rand_fill(&world.rand, d->data, (size_t)len + CHANNEL_HEADER_LEN);
	store_be16(d->data, LINE_CHANNEL);
	store_be16(d->data + 2, len);
	d->len = (uint16_t)(len + CHANNEL_HEADER_LEN);
}

uint16_t line_random_len(uint16_t most)
{
	switch (test_rand_below(&world.rand, 3)) {
	case 0:
		return (uint16_t)test_rand_below(&world.rand, 9);
	case 1:
		return (uint16_t)(most - test_rand_below(&world.rand, 9));
	default:
		return (uint16_t)test_rand_below(&world.rand, most + 1u);
	}
}

// Makes sure that the next hops to the hosts are resolved, and cached in the lines.
void line_settle(unsigned int i)
{
	struct world_datagram d, got;

	for (unsigned int n = 0; n < 2; n++) {
		d = line_up(i);
		line_data(&d, 8);
		world_send(&world, &d);
		d = line_down(i);
		d.len = 8;
		world_send(&world, &d);
		world_run(&world);
		assert_true(world_take(&world, &peer[i], &got));
		assert_true(world_take(&world, &client[i].endpoint, &got));
	}
	assert_int_equal(world.nb_seen, 0);
}

void line_client(unsigned int i)
{
	struct world_client *c = &client[i];

	world_client(&world, c, cast[i].client, (uint16_t)(40000 + i));
	if (i == 4)
		c->server = world.listeners[2].endpoint;
	peer[i] = world_endpoint(cast[i].peer, (uint16_t)(7000 + i));
	assert_int_equal(client_allocate(&world, c, addr_is_v4(&peer[i].addr) ? 4 : 6), 0);
}

void line_open(const struct world_setup *s, unsigned int nb)
{
	world_open(&world, s);
	line_rx = (struct line_rx){.headroom = RTE_PKTMBUF_HEADROOM};
	line_new_ids();
	for (unsigned int i = 0; i < nb; i++) {
		line_client(i);
		assert_int_equal(client_bind(&world, &client[i], LINE_CHANNEL, &peer[i]), 0);
		line_settle(i);
	}
}

void line_dropped(const struct world_datagram *d, unsigned int reason)
{
	const struct dp_stats before = world_stats(&world);
	struct dp_stats after;

	for (unsigned int n = 0; n < 4; n++) // on any queue
		world_send(&world, d);
	world_run(&world);
	after = world_stats(&world);
	if (after.drop[reason] != before.drop[reason] + 4)
		world_drops(&world);
	assert_int_equal(after.drop[reason], before.drop[reason] + 4);
	assert_int_equal(after.tx, before.tx);
	assert_int_equal(world.nb_seen, 0);
}

// --- one frame, three paths ---------------------------------------------------------------------

struct worker *line_worker(void)
{
	return world.dp->worker[0];
}

static void mark_frames(void)
{
	for (unsigned int p = 0; p < world.dp->nb_ports; p++)
		for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++)
			((uint8_t *)&line_worker()->tx[p].tail[is_v4])[5] ^= MARK;
}

struct turn_line *line_of(const struct world_client *c)
{
	const uint32_t n = turn_relay_map_slots(world.dp->map, 0);
	struct turn_line *ended = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct turn_line *l = &line_worker()->lines[i];

		if (!addr_eq(&l->end[0], &c->endpoint.addr) ||
			(uint16_t)l->mark[0] != c->endpoint.port)
			continue;
		if (l->mark[0] >> 24 == TURN_LINE_LISTENER(0) >> 8)
			return l;
		ended = l;
	}
	assert_non_null(ended);
	return ended;
}

void line_round(void)
{
	worker_round(line_worker(), world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	stats_publish(line_worker());
	world_balance(&world, 0);
}

// Reassembles fragments, which arrive in order, to the original frame.
static void take_fragment(struct line_outcome *o, const uint8_t *frame, size_t len)
{
	const bool is_v4 = frame[12] == 0x08;
	const size_t headers = is_v4 ? 34 : 62, payload_off = is_v4 ? 34 : 54;
	const size_t off =
		is_v4 ? (load_be16(frame + 20) & 0x1fffu) * 8 : load_be16(frame + 56) & 0xfff8u;

	assert_int_equal(o->len, off == 0 ? 0 : payload_off + off);
	if (off == 0)
		memcpy(o->frame, frame, payload_off);
	memcpy(o->frame + payload_off + off, frame + headers, len - headers);
	o->len = payload_off + off + len - headers;
	o->in_fragments = true;
	if (!is_v4) {
		o->frame[20] = 17;
		store_be16(o->frame + 18, (uint16_t)(o->len - payload_off));
		return;
	}
	store_be16(o->frame + 16, (uint16_t)(o->len - 14));
	store_be16(o->frame + 20, 0);
	store_be16(o->frame + 24, frame_ip_checksum(o->frame));
}

// Takes the only datagram sent. There may be ARP and ND frames, too.
static void take_frame(struct line_outcome *o)
{
	for (unsigned int p = 0; p < world.dp->nb_ports; p++) {
		struct port *port = world.dp->port[p].port;
		uint8_t frame[2048];
		size_t len;

		while ((len = softport_take(port, frame, sizeof(frame))) > 0) {
			if (frame[12] == 0x08 ? (load_be16(frame + 20) & 0x3fff) != 0
					      : frame[20] == 44) {
				take_fragment(o, frame, len);
				continue;
			}
			if (frame[frame[12] == 0x08 ? 23 : 20] != 17)
				continue;
			assert_int_equal(o->len, 0);
			o->len = len;
			o->by_line = ((frame[11] ^ port->mac[5]) & MARK) != 0;
			memcpy(o->frame, frame, len);
			memcpy(o->frame + 6, port->mac, 6);
		}
	}
}

// Receives a frame as a port delivers it, by line_rx.
static void receive_frame(unsigned int port, const uint8_t *frame, size_t len)
{
	struct port *p = world.dp->port[port].port;
	struct rte_mbuf *m = softport_mbuf(p, "", 0);
	uint8_t *dst;

	m->data_off = line_rx.headroom;
	dst = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	assert_non_null(dst);
	memcpy(dst, frame, len);
	m->ol_flags |= RTE_MBUF_F_RX_FDIR | line_rx.flags; // such a frame may not be sent
	world.dp->port[port].verified = line_rx.flags;
	softport_put_mbuf(p, (uint16_t)test_rand_below(&world.rand, p->nb_rxq), m);
}

// Datagrams that the client's line has counted and not spilled yet.
static uint32_t datagrams_of(const struct world_client *c)
{
	const uint64_t counts = line_of(c)->counts >> TURN_BYTES_BITS;

	return (uint32_t)(counts + (counts >> TURN_LEG_BITS));
}

static struct line_outcome pass(
	const struct world_client *c, unsigned int port, const uint8_t *frame, size_t len)
{
	uint8_t *verdict = &line_worker()->burst.turn.plan.verdict;
	struct line_outcome o = {.counted = datagrams_of(c)};
	struct dp_stats before = world_stats(&world), after;

	mark_frames();
	*verdict = NO_PLAN;
	receive_frame(port, frame, len);
	line_round();
	mark_frames(); // not any more
	take_frame(&o);
	o.by_line = o.by_line && *verdict == NO_PLAN;
	after = world_stats(&world);
	o.counted = (datagrams_of(c) - o.counted) % TURN_SPILL_DATAGRAMS;
	for (unsigned int i = 0; i < DP_DROP_END && o.len == 0; i++)
		if (after.drop[i] != before.drop[i])
			o.reason = i;
	assert_int_equal(after.held, before.held);
	return o;
}

struct line_outcome line_pass(enum line_way path, const struct world_client *c, unsigned int port,
	const uint8_t *frame, size_t len)
{
	struct turn_line *l = line_of(c);
	const uint16_t plain_max = line_worker()->plain_max;
	const uint16_t until = l->until, passed = (uint16_t)(world.ms / TURN_LINE_MS - 1);
	struct line_outcome o;

	if (path != LINE_BY_LINE)
		line_worker()->plain_max = 0;
	if (path == LINE_BY_TREES)
		l->until = passed;
	o = pass(c, port, frame, len);
	line_worker()->plain_max = plain_max;
	if (l->until == passed)
		l->until = until;
	assert_false(path != LINE_BY_LINE && o.by_line);
	return o;
}

// --- equal results on each path -----------------------------------------------------------------

void frame_check(uint8_t *frame)
{
	const bool is_v4 = frame[14] >> 4 == 4;

	if (is_v4)
		assert_int_equal(load_be16(frame + 24), frame_ip_checksum(frame));
	if (!is_v4 || load_be16(frame_udp(frame) + 6) != 0)
		assert_int_equal(load_be16(frame_udp(frame) + 6), frame_udp_checksum(frame));
}

// Clears the transaction id of a Data indication, and the fields made with it.
static void level_indication(uint8_t *udp)
{
	uint8_t *m = udp + NET_UDP_LEN;

	if (load_be16(m) != 0x0017 || load_be16(m + 4) != 0x2112)
		return;
	store_be16(udp + 6, 0);
	memset(m + 8, 0, STUN_TID_LEN);
	if (m[STUN_HEADER_LEN + 5] == 2)
		memset(m + STUN_HEADER_LEN + 12, 0, 12);
}

void line_new_ids(void)
{
	memset(id_seen, 0, sizeof(id_seen));
}

// Clears fields that may differ: random ids.
static void level(struct line_outcome *o)
{
	if (o->len == 0)
		return;
	level_indication(frame_udp(o->frame));
	if (o->frame[14] >> 4 != 4)
		return;
	// RFC 6864: unique; ids of fragments are unique for a pair of addresses (test_fragments)
	if ((o->frame[20] & 0x40) == 0 && !o->in_fragments)
		assert_int_equal(id_seen[load_be16(o->frame + 18)]++, 0);
	store_be16(o->frame + 18, 0);
	store_be16(o->frame + 24, 0);
}

static void assert_same(const struct line_outcome *a, const struct line_outcome *b)
{
	assert_int_equal(a->len, b->len);
	assert_int_equal(a->counted, b->counted);
	if (a->len == 0)
		assert_string_equal(dp_drop_name(a->reason), dp_drop_name(b->reason));
	else
		assert_memory_equal(a->frame, b->frame, a->len);
}

struct line_outcome line_three_ways(
	const struct world_client *c, unsigned int port, const uint8_t *frame, size_t len)
{
	struct line_outcome o[3], result;

	for (unsigned int path = 0; path < 3; path++) {
		o[path] = line_pass((enum line_way)path, c, port, frame, len);
		if (o[path].len != 0)
			frame_check(o[path].frame);
		if (path == LINE_BY_LINE)
			result = o[path];
		level(&o[path]);
	}
	assert_same(&o[LINE_BY_LINE], &o[LINE_BY_PLAN]);
	assert_same(&o[LINE_BY_LINE], &o[LINE_BY_TREES]);
	return result;
}
