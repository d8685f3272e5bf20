// SPDX-License-Identifier: BSD-3-Clause
// The exception port of a whole data path: what reaches the kernel and what of the kernel's reaches
// the wire, byte by byte; what does not, by its counter; bounds, super-frames, and where it ends.
// The thread's turns are made by the test, and the kernel is a software port.
#include "dp_world.h"

#include <netinet/in.h>

#include <rte_mempool.h>

#include "bytes.h"
#include "segment.h"

#define SYN 0x02
#define ACK 0x10

static struct world world;
static uint64_t ns;
static const struct conf_service allow[] = {{IPPROTO_TCP, false, 22}, {IPPROTO_TCP, true, 179},
	{IPPROTO_UDP, false, 161}, {IPPROTO_UDP, true, 53}, {IPPROTO_UDP, false, 50000},
	{IPPROTO_UDP, false, 3478}};
static struct conf_exception entry;
static uint8_t frame[2048], got[2048];
static struct dp_exception before; // counters when the test began

static struct exception *exception(void)
{
	return world.dp->exception[0];
}

// Rounds and turns until nothing moves.
static void run(void)
{
	for (unsigned int quiet = 0; quiet < 3;) {
		bool moved = world_round(&world);

		ns += 1000000;
		moved |= exception_turn(exception(), ns) > 0;
		quiet = moved ? 0 : quiet + 1;
	}
}

static void open_world(struct world_setup s, uint32_t nb_allow)
{
	entry = (struct conf_exception){.name = "sr0",
		.device = "soft:1:1",
		.allow = (struct conf_service *)(uintptr_t)allow,
		.nb_allow = nb_allow,
		.rate = 1000000,
		.buffers = 128};
	s.exception = &entry;
	s.icmp_rate = 1000;
	world_open(&world, &s);
	run(); // the gateways are asked for
	while (softport_take(exception()->kernel, got, sizeof(got)) > 0)
		;
	assert_true(dp_exception(world.dp, 0, &before));
}

static const struct world_setup one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
static const struct world_setup tagged = {.workers = 1, .rx_queues = 1, .tx_queues = 1, .vlan = 9};
static const struct world_setup few = {.workers = 2, .rx_queues = 2, .tx_queues = 1};

static void close_world(void)
{
	dp_quiesce(world.dp);
	assert_int_equal(rte_mempool_in_use_count(exception()->pool), 0);
	world_close(&world);
}

static uint64_t dropped(unsigned int reason)
{
	return world_stats(&world).drop[reason];
}

static struct dp_exception counters(void)
{
	struct dp_exception e;

	assert_true(dp_exception(world.dp, 0, &e));
	for (unsigned int i = 0; i < EXC_CLASSES; i++)
		e.to[i] -= before.to[i];
	return e;
}

// --- frames -------------------------------------------------------------------------------------

static const uint8_t their_mac[6] = {2, 0, 0, 0, 0, 0x77};

struct packet {
	const char *src, *dst;
	uint16_t sport, dport;
	uint8_t proto, flags;
	uint16_t len; // behind the TCP or UDP header
	uint16_t vlan;
	bool from_us;
};

static struct packet tcp(uint16_t sport, uint16_t dport, uint8_t flags)
{
	return (struct packet){.src = "10.99.0.77",
		.dst = "10.99.0.1",
		.sport = sport,
		.dport = dport,
		.proto = IPPROTO_TCP,
		.flags = flags,
		.len = 10};
}

static uint16_t headers(const struct packet *p)
{
	return (uint16_t)(14 + (p->vlan != 0 ? 4 : 0) + (strchr(p->src, ':') == NULL ? 20 : 40) +
		(p->proto == IPPROTO_TCP ? 20 : 8));
}

// Writes headers, checksums included, around a payload that counts up.
static size_t make(const struct packet *p, uint8_t *buf)
{
	const struct endpoint src = world_endpoint(p->src, p->sport),
			      dst = world_endpoint(p->dst, p->dport);
	const bool is_v4 = addr_is_v4(&src.addr);
	struct net_l2 l2 = {.vlan = p->vlan};
	const uint16_t payload = (uint16_t)(p->len + (p->proto == IPPROTO_TCP ? 12 : 0));
	const uint16_t l4 = (uint16_t)(headers(p) - (p->proto == IPPROTO_TCP ? 20 : 8));
	uint8_t *at = buf + l4;
	uint32_t sum;

	memcpy(p->from_us ? l2.src : l2.dst, world.dp->port[0].port->mac, 6);
	memcpy(p->from_us ? l2.dst : l2.src, their_mac, 6);
	for (unsigned int i = 0; i < payload; i++)
		at[8 + i] = (uint8_t)i;
	net_write_udp(at + 8, payload, &l2, &src, &dst, &(struct net_ip){.ttl = 64, .df = true}, 0);
	if (p->proto == IPPROTO_UDP) {
		store_be16(at + 6, csum_udp(&src.addr, &dst.addr, at, (uint16_t)(payload + 8)));
		return (size_t)l4 + 8 + payload;
	}
	store_be32(at + 4, 1000);
	store_be32(at + 8, 2000);
	at[12] = 0x50;
	at[13] = p->flags;
	store_be32(at + 16, 0);
	buf[l4 - (is_v4 ? 11 : 34)] = IPPROTO_TCP;
	if (is_v4) {
		store_be16(at - 10, 0);
		store_be16(at - 10, (uint16_t)~csum_fold(csum_add(0, at - 20, 20)));
	}
	sum = csum_addrs(&src.addr, &dst.addr) + IPPROTO_TCP + payload + 8;
	store_be16(at + 16, (uint16_t)~csum_fold(csum_add(sum, at, payload + 8u)));
	return (size_t)l4 + 8 + payload;
}

// From the wire; the kernel then has it as it was, without the tag, or nothing.
static void up(struct packet p, bool arrives)
{
	const size_t len = make(&p, frame);

	world_inject(&world, 0, frame, len);
	run();
	p.vlan = 0;
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)),
		arrives ? make(&p, frame) : 0);
	if (arrives)
		assert_memory_equal(got, frame, make(&p, frame));
}

// Out of the kernel; what then leaves the port, or nothing. The world would judge it as it comes.
static size_t down_frame(const uint8_t *data, size_t len)
{
	struct worker *w;

	softport_put(exception()->kernel, 0, data, len);
	for (unsigned int i = 0; i < 3; i++) {
		exception_turn(exception(), ns += 1000000);
		for (unsigned int k = 0; k < world.dp->nb_workers; k++) {
			w = world.dp->worker[k];
			worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
			stats_publish(w);
			world_balance(&world, k);
		}
	}
	return softport_take(world.dp->port[0].port, got, sizeof(got));
}

static void down(struct packet p, bool leaves)
{
	size_t len = make(&p, frame);
	const size_t out = down_frame(frame, len);

	p.vlan = world.dp->port[0].port->vlan;
	len = make(&p, frame);
	assert_int_equal(out, leaves ? len : 0);
	if (leaves)
		assert_memory_equal(got, frame, len);
}

static struct packet back(struct packet p)
{
	const struct packet was = p;

	p.src = was.dst;
	p.dst = was.src;
	p.sport = was.dport;
	p.dport = was.sport;
	p.from_us = true;
	return p;
}

// --- what goes where ----------------------------------------------------------------------------

static void tcp_both_ways(const struct world_setup *s, bool v6)
{
	struct packet p = tcp(40000, 22, SYN);

	open_world(*s, RTE_DIM(allow));
	world_run(&world);
	if (v6) {
		p.src = "fd99::77";
		p.dst = "fd99::1";
	}
	p.vlan = s->vlan;
	up(p, true);
	p.flags = ACK;
	p.len = 1400;
	up(p, true);
	p.vlan = 0;
	down(back(p), true);
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(counters().to[EXC_TCP], 2);
	assert_int_equal(counters().from[EXC_TCP], 1);
	// no port that is allowed
	p = tcp(40000, 23, SYN);
	p.vlan = s->vlan;
	up(p, false);
	assert_int_equal(dropped(DP_DROP_EXC_DENIED), 1);
	assert_int_equal(counters().to_denied, 1);
	p.vlan = 0;
	down(back(p), false);
	assert_int_equal(dropped(DP_DROP_EXC_FOREIGN), 1);
	assert_int_equal(counters().from_foreign, 1);
	assert_int_equal(world_drops(&world), 2);
	close_world();
}

static void test_tcp(void **state)
{
	tcp_both_ways(&one, false);
	tcp_both_ways(&one, true);
	tcp_both_ways(&tagged, false);
	tcp_both_ways(&tagged, true);
	tcp_both_ways(&few, false);
}

// Answers of others' servers come in, connections from their ports do not.
static void test_client(void **state)
{
	open_world(one, RTE_DIM(allow));
	down(back(tcp(179, 40000, 0)), true);
	up(tcp(179, 40000, SYN | ACK), true);
	up(tcp(179, 40000, SYN), false);
	assert_int_equal(dropped(DP_DROP_EXC_DENIED), 1);
	close_world();
}

static void test_off(void **state)
{
	const struct packet p = tcp(40000, 22, SYN);

	world_open(&world, &one);
	world_inject(&world, 0, frame, make(&p, frame));
	world_run(&world);
	assert_int_equal(dropped(drop_of_net(NET_DROP_PROTOCOL)), 1);
	assert_int_equal(world_drops(&world), 1);
	world_close(&world);
}

static void test_addresses(void **state)
{
	struct packet p = tcp(40000, 22, SYN);

	open_world(one, RTE_DIM(allow));
	p.dst = "10.99.0.2"; // not ours
	up(p, false);
	assert_int_equal(dropped(drop_of_net(NET_DROP_NOT_FOR_US)), 1);
	p.dst = "10.99.0.255";
	up(p, false);
	assert_int_equal(dropped(drop_of_net(NET_DROP_MARTIAN_DESTINATION)), 1);
	p = tcp(40000, 22, SYN);
	p.src = "10.99.0.255";
	up(p, false);
	assert_int_equal(dropped(drop_of_net(NET_DROP_MARTIAN_SOURCE)), 1);
	assert_int_equal(world_drops(&world), 3);
	close_world();
}

// What the data path receives itself is never the kernel's, whatever is allowed.
static void test_udp(void **state)
{
	struct packet p = tcp(40000, 161, 0);

	open_world(one, RTE_DIM(allow));
	p.proto = IPPROTO_UDP;
	up(p, true);
	down(back(p), true);
	p.sport = 53;
	p.dport = 33333;
	up(p, true);
	down(back(p), true);
	assert_int_equal(counters().to[EXC_UDP], 2);
	assert_int_equal(counters().from[EXC_UDP], 2);
	assert_int_equal(world_drops(&world), 0);
	p = tcp(40000, 162, 0);
	p.proto = IPPROTO_UDP;
	up(p, false);
	assert_int_equal(dropped(DP_DROP_NO_LISTENER), 1);
	p.dport = 50000; // relayed from
	up(p, false);
	assert_int_equal(dropped(drop_of_turn(TURN_DROP_PEER_NO_ALLOCATION)), 1);
	down(back(p), false);
	p.dport = 3478; // a listener's
	up(p, false);
	down(back(p), false);
	assert_int_equal(dropped(DP_DROP_EXC_FOREIGN), 2);
	close_world();
}

// The kernel is believed in what it is allowed to say, and in nothing else.
static void test_foreign(void **state)
{
	const struct packet good = back(tcp(40000, 22, ACK));
	static const char *const not_ours[] = {
		"10.99.0.2", "10.98.0.1", "10.99.0.255", "127.0.0.1"};
	struct packet p = good;
	uint64_t foreign = 0;
	size_t len;

	open_world(one, RTE_DIM(allow));
	for (size_t i = 0; i < RTE_DIM(not_ours); i++, foreign++) {
		p.src = not_ours[i];
		down(p, false);
	}
	// another MAC, a group's MAC of ours, a frame to ourselves
	len = make(&good, frame);
	frame[11] ^= 1;
	assert_int_equal(down_frame(frame, len), 0);
	foreign++;
	make(&good, frame);
	memcpy(frame, frame + 6, 6);
	assert_int_equal(down_frame(frame, len), 0);
	foreign++;
	// to a group, cut short, another protocol, of another VLAN, a fragment
	p = good;
	p.dst = "224.0.0.5";
	down(p, false);
	foreign++;
	make(&good, frame);
	assert_int_equal(down_frame(frame, 40), 0);
	foreign++;
	for (unsigned int i = 0; i < 3; i++, foreign++) {
		make(&good, frame);
		if (i == 0)
			frame[23] = 89;
		else if (i == 1)
			store_be16(frame + 12, 0x88cc); // LLDP
		else
			store_be16(frame + 20, 0x2000);
		store_be16(frame + 24, 0);
		store_be16(frame + 24, (uint16_t)~csum_fold(csum_add(0, frame + 14, 20)));
		assert_int_equal(down_frame(frame, len), 0);
	}
	p = good;
	p.vlan = 5;
	assert_int_equal(down_frame(frame, make(&p, frame)), 0);
	foreign++;
	assert_int_equal(dropped(DP_DROP_EXC_FOREIGN), foreign);
	// an interface whose MTU somebody has raised
	p = good;
	p.len = 1461;
	down(p, false);
	assert_int_equal(dropped(DP_DROP_MTU), 1);
	assert_int_equal(world_drops(&world), foreign + 1);
	close_world();
}

// --- neighbours and pings -----------------------------------------------------------------------

static void neighbours(bool v6)
{
	const struct addr theirs = world_endpoint(v6 ? "fd99::77" : "10.99.0.77", 0).addr,
			  ours = world_endpoint(v6 ? "fd99::1" : "10.99.0.1", 0).addr,
			  other = world_endpoint(v6 ? "fd99::5" : "10.99.0.5", 0).addr;
	struct net_l2 from_us = {0}, from_them = {0};
	const unsigned int class = v6 ? EXC_ND : EXC_ARP;
	size_t len;

	open_world(one, 0);
	memcpy(from_us.src, world.dp->port[0].port->mac, 6);
	memcpy(from_us.dst, their_mac, 6);
	memcpy(from_them.src, from_us.dst, 6);
	memcpy(from_them.dst, from_us.src, 6);
	// the kernel's question goes out, and the answer is for both
	len = net_write_ask(frame, &from_us, &ours, &theirs, NULL);
	assert_int_equal(down_frame(frame, len), len);
	assert_memory_equal(got, frame, len);
	len = net_write_answer(frame, &from_them, &theirs, &ours);
	world_inject(&world, 0, frame, len);
	run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), len);
	assert_memory_equal(got, frame, len);
	// others' question is answered once, by the data path, and told to the kernel
	len = net_write_ask(frame, &from_them, &theirs, &ours, NULL);
	world_inject(&world, 0, frame, len);
	run();
	assert_int_equal(world.answers, 1);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), len);
	len = net_write_answer(frame, &from_us, &ours, &theirs);
	assert_int_equal(down_frame(frame, len), 0);
	assert_int_equal(counters().from_answered, 1);
	// a question about others is nobody's; nor may the kernel ask in another's name
	len = net_write_ask(frame, &from_them, &theirs, &other, NULL);
	world_inject(&world, 0, frame, len);
	run();
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	len = net_write_ask(frame, &from_us, &other, &theirs, NULL);
	assert_int_equal(down_frame(frame, len), 0);
	assert_int_equal(dropped(DP_DROP_EXC_FOREIGN), 1);
	assert_int_equal(counters().to[class], 2);
	assert_int_equal(counters().from[class], 1);
	close_world();
}

static void test_neighbours(void **state)
{
	neighbours(false);
	neighbours(true);
}

static size_t ping(uint8_t type, bool from_us)
{
	struct packet p = tcp(0x0800, 1, 0);
	uint8_t *icmp = frame + 34;
	size_t len;

	p.proto = IPPROTO_UDP;
	p = from_us ? back(p) : p;
	len = make(&p, frame);
	frame[23] = IPPROTO_ICMP;
	store_be16(frame + 24, 0);
	store_be16(frame + 24, (uint16_t)~csum_fold(csum_add(0, frame + 14, 20)));
	memset(icmp, 0, 8);
	icmp[0] = type;
	store_be16(icmp + 2, (uint16_t)~csum_fold(csum_add(0, icmp, len - 34)));
	return len;
}

static void test_pings(void **state)
{
	static const struct conf_service icmp = {IPPROTO_ICMP, false, 0};

	open_world(one, 0);
	world_inject(&world, 0, frame, ping(8, false));
	run();
	assert_int_equal(world.echoes, 1);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	assert_int_equal(down_frame(frame, ping(8, true)), 0);
	close_world();
	open_world(one, 0);
	exception_rules_free(&exception()->rules);
	exception()->rules.ping = icmp.proto == IPPROTO_ICMP;
	world_inject(&world, 0, frame, ping(8, false));
	run();
	assert_int_equal(world.echoes, 0);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), ping(8, false));
	assert_memory_equal(got, frame, ping(8, false));
	assert_int_equal(down_frame(frame, ping(0, true)), ping(0, true));
	assert_memory_equal(got, frame, ping(0, true));
	assert_int_equal(counters().to[EXC_ICMP], 1);
	assert_int_equal(counters().from[EXC_ICMP], 1);
	close_world();
}

// --- bounds -------------------------------------------------------------------------------------

// A flood for a kernel that takes nothing: so much waits, the rest is dropped; ARP gets through.
static void test_flood(void **state)
{
	const struct packet p = tcp(40000, 22, SYN);
	const struct addr theirs = world_endpoint("10.99.0.77", 0).addr,
			  ours = world_endpoint("10.99.0.1", 0).addr;
	struct net_l2 l2 = {0};
	uint64_t full;
	size_t len;

	open_world(one, RTE_DIM(allow));
	len = make(&p, frame);
	for (unsigned int i = 0; i < 1000; i++)
		world_inject(&world, 0, frame, len);
	world_run(&world);
	assert_int_equal(counters().to[EXC_TCP], entry.buffers * 3 / 4);
	assert_int_equal(dropped(DP_DROP_EXC_RATE), 1000 - entry.buffers * 3 / 4);
	assert_int_equal(counters().to_full, dropped(DP_DROP_EXC_RATE));
	memcpy(l2.src, their_mac, 6);
	memcpy(l2.dst, world.dp->port[0].port->mac, 6);
	len = net_write_answer(frame, &l2, &theirs, &ours);
	for (unsigned int i = 0; i < 100; i++)
		world_inject(&world, 0, frame, len);
	full = dropped(DP_DROP_EXC_RATE);
	world_run(&world);
	assert_int_equal(counters().to[EXC_ARP], entry.buffers / 4);
	assert_int_equal(dropped(DP_DROP_EXC_RATE) - full, 100 - entry.buffers / 4);
	// once it takes them again there is room again
	run();
	for (unsigned int i = 0; i < entry.buffers; i++)
		assert_true(softport_take(exception()->kernel, got, sizeof(got)) > 0);
	up(p, true);
	close_world();
}

// Both ways no more than the rate, and what is for the wire waits where the kernel sees it.
static void test_rate(void **state)
{
	const struct packet in = tcp(40000, 22, ACK), out = back(in);
	unsigned int taken = 0;
	size_t len;

	open_world(one, RTE_DIM(allow));
	len = make(&in, frame);
	exception_meter_init(&exception()->to_meter, 1000, ns);
	exception_meter_init(&exception()->from_meter, 1000, ns);
	for (unsigned int ms = 0; ms < 100; ms++) {
		for (unsigned int i = 0; i < 10; i++) {
			make(&in, frame);
			world_inject(&world, 0, frame, len);
			make(&out, frame);
			softport_put(exception()->kernel, 0, frame, len);
		}
		world_round(&world);
		ns += 1000000;
		while (exception_turn(exception(), ns) > 0)
			;
		while (softport_take(exception()->kernel, got, sizeof(got)) > 0)
			taken++;
	}
	world_run(&world);
	assert_in_range(taken, 160, 165); // the burst of 64, and one a millisecond
	assert_in_range(world.segments, 160, 165);
	assert_int_equal(counters().from[EXC_TCP], world.segments);
	close_world();
}

// A round sends no more of the kernel's than it says, however much there is.
static void test_budget(void **state)
{
	const struct packet p = back(tcp(40000, 22, ACK));
	struct worker *w;
	size_t len;

	open_world(one, RTE_DIM(allow));
	len = make(&p, frame);
	for (unsigned int i = 0; i < 1000; i++)
		softport_put(exception()->kernel, 0, frame, len);
	while (exception_turn(exception(), ns += 100000000) > 0)
		;
	assert_int_equal(exception()->queued - exception()->taken, entry.buffers);
	w = world.dp->worker[0];
	worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	stats_publish(w);
	assert_int_equal(counters().from[EXC_TCP], EXCEPTION_TAKE);
	close_world(); // with all that waits on the way
}

// --- super-frames -------------------------------------------------------------------------------

// A TCP super-frame of n segments, in a chain of buffers of the port's pool.
static struct rte_mbuf *super(struct port *to, const struct packet *like, unsigned int n)
{
	static uint8_t whole[65536];
	struct packet p = *like;
	struct rte_mbuf *head, *last;
	size_t len, done = 1900;

	p.len = (uint16_t)(n * 1000 - 100);
	len = make(&p, whole);
	head = last = softport_mbuf(to, whole, RTE_MIN(len, done));
	for (; done < len; done += 1900) {
		last->next = softport_mbuf(to, whole + done, RTE_MIN(len - done, (size_t)1900));
		last = last->next;
		head->nb_segs++;
	}
	head->pkt_len = (uint32_t)len;
	head->tso_segsz = 1000;
	head->ol_flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return head;
}

// m is what was sent of p: whole, and what it stands for are the segments it should.
static void is_whole(struct rte_mbuf *m, const struct packet *p, unsigned int n)
{
	struct rte_mbuf *cut[64];
	struct packet one_of = *p;

	assert_non_null(m);
	assert_true((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0);
	assert_int_equal(port_segment(m, world.dp->pool, cut, 64), n);
	one_of.len = 1000;
	assert_int_equal(make(&one_of, frame), cut[0]->pkt_len);
	assert_int_equal(load_be16(rte_pktmbuf_mtod(cut[0], uint8_t *) + 12),
		p->vlan != 0 ? 0x8100 : 0x0800);
	rte_pktmbuf_free_bulk(cut, n);
	rte_pktmbuf_free(m);
}

static void supers(const struct world_setup *s, const struct port_super *tso)
{
	struct packet p = tcp(40000, 22, ACK);
	struct port *wan, *kernel;
	uint64_t rx, tx;
	uint8_t *l4;
	size_t len;

	open_world(*s, RTE_DIM(allow));
	wan = world.dp->port[0].port;
	kernel = exception()->kernel;
	wan->rx_super = true;
	wan->tso = *tso;
	p.vlan = s->vlan;
	rx = world_stats(&world).rx;
	tx = world_stats(&world).tx;
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	run();
	p.vlan = 0;
	is_whole(softport_take_mbuf(kernel), &p, 40);
	assert_int_equal(counters().to[EXC_TCP], 40);
	assert_int_equal(counters().to_supers, 1);
	assert_int_equal(counters().to_super_frames, 40);
	assert_int_equal(world_stats(&world).rx - rx, 40);
	// and back; the plain one behind it stays behind
	p = back(p);
	softport_put_mbuf(kernel, 0, super(kernel, &p, 30));
	p.vlan = s->vlan;
	len = make(&(struct packet){.src = p.src,
			   .dst = p.dst,
			   .sport = 22,
			   .dport = 40000,
			   .proto = IPPROTO_TCP,
			   .flags = ACK,
			   .from_us = true},
		frame);
	softport_put(kernel, 0, frame, len);
	for (unsigned int i = 0; i < 20; i++) {
		struct worker *w = world.dp->worker[0];

		exception_turn(exception(), ns += 1000000);
		worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
		stats_publish(w);
		world_balance(&world, 0);
	}
	assert_int_equal(counters().from[EXC_TCP], 31);
	assert_int_equal(world_stats(&world).tx - tx, 31);
	if (tso->segments >= 30 && tso->size_min <= 1000) {
		is_whole(softport_take_mbuf(wan), &p, 30);
		assert_int_equal(counters().from_super_frames, 30);
		assert_int_equal(counters().from_cut, 0);
	} else {
		for (unsigned int i = 0; i < 30; i++) {
			assert_true(softport_take(wan, got, sizeof(got)) > 0);
			l4 = got + headers(&p) - 20;
			assert_int_equal(load_be32(l4 + 4), 1000 + 1000 * i);
		}
		assert_int_equal(counters().from_cut, 1);
	}
	assert_true(softport_take(wan, got, sizeof(got)) > 0);
	assert_int_equal(world_drops(&world), 0);
	close_world();
}

static void test_super(void **state)
{
	static const struct port_super whole = {.segments = 64, .bufs = 64, .bytes = 65535},
				       fewer = {.segments = 29, .bufs = 64, .bytes = 65535},
				       larger = {.segments = 64,
					       .bufs = 64,
					       .bytes = 65535,
					       .size_min = 1001},
				       none = {0};

	supers(&one, &whole);
	supers(&tagged, &whole);
	supers(&one, &fewer);
	supers(&tagged, &fewer);
	supers(&one, &larger);
	supers(&one, &none);
}

// For nobody, of a wrong checksum, full of lies: all its segments are dropped and counted.
static void test_super_dropped(void **state)
{
	struct packet p = tcp(40000, 22, ACK);
	struct rte_mbuf *m;
	struct port *wan;

	open_world(one, RTE_DIM(allow));
	wan = world.dp->port[0].port;
	wan->rx_super = true;
	p.dport = 23;
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	run();
	assert_int_equal(dropped(DP_DROP_EXC_DENIED), 40);
	p = tcp(40000, 22, ACK);
	m = super(wan, &p, 40);
	m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
	softport_put_mbuf(wan, 0, m);
	run();
	assert_int_equal(dropped(drop_of_net(NET_DROP_UDP_CHECKSUM)), 40);
	p.src = "10.99.0.255";
	softport_put_mbuf(wan, 0, super(wan, &p, 40));
	run();
	assert_int_equal(dropped(drop_of_net(NET_DROP_MARTIAN_SOURCE)), 40);
	// of the kernel
	p = back(tcp(40000, 23, ACK));
	softport_put_mbuf(exception()->kernel, 0, super(exception()->kernel, &p, 40));
	run();
	assert_int_equal(dropped(DP_DROP_EXC_FOREIGN), 40);
	p = back(tcp(40000, 22, ACK));
	m = super(exception()->kernel, &p, 40);
	m->tso_segsz = 0;
	softport_put_mbuf(exception()->kernel, 0, m);
	run();
	assert_int_equal(dropped(DP_DROP_SUPER), 1);
	assert_int_equal(world_drops(&world), 161);
	assert_int_equal(softport_take(exception()->kernel, got, sizeof(got)), 0);
	close_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_pings),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_super),
		cmocka_unit_test(test_super_dropped),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
