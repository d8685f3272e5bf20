// SPDX-License-Identifier: BSD-3-Clause
// Puts frames into the world, and judges each frame that leaves it.
#include "ask/hot.h"
#include "datapath.h"
#include "exception/exception.h"
#include "exception/exception_thread.h"
#include "fragment.h"
#include "fuzz.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "nicmodel.h"
#include "sender.h"
#include "super/super.h"
#include "path/worker.h"

#include <rte_mempool.h>

#define RECEIVED RTE_MBUF_F_RX_FDIR // like softport.c: must not be set when the frame is sent

// --- input ---------------------------------------------------------------------------------------

void fuzz_remember(const char *kind, unsigned int port, const uint8_t *frame, size_t len, bool mut)
{
	struct fuzz_frame *f = &fuzz.recent[(fuzz.nb_frames - fuzz.nb_before) % FUZZ_RECENT];

	f->kind = kind;
	f->number = fuzz.nb_frames++;
	f->ms = fuzz.world.ms;
	f->port = (uint8_t)port;
	f->mutated = mut;
	f->len = (uint16_t)RTE_MIN(len, sizeof(f->data));
	memcpy(f->data, frame, f->len);
}

const struct fuzz_frame *fuzz_recent(void)
{
	const uint64_t n = RTE_MIN(fuzz.nb_frames - fuzz.nb_before, (uint64_t)FUZZ_RECENT);

	return n > 0 ? &fuzz.recent[below((uint32_t)n)] : NULL;
}

struct rte_mbuf *fuzz_mbuf(struct rte_mempool *pool, const uint8_t *data, size_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *dst;

	if (m == NULL) {
		fuzz.seen.nic_full++;
		return NULL;
	}
	if (chance(2)) // like a driver that leaves less headroom
		m->data_off = (uint16_t)(2 * below(RTE_PKTMBUF_HEADROOM / 2));
	len = RTE_MIN(len, (size_t)rte_pktmbuf_tailroom(m));
	dst = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	memset(m->buf_addr, FUZZ_CANARY, m->data_off);
	memcpy(dst, data, len);
	memset(dst + len, FUZZ_CANARY, rte_pktmbuf_tailroom(m));
	return m;
}

static void queue_up(struct port *p, struct rte_mbuf *m)
{
	uint8_t start[256] = {0}; // so the bytes beyond a short frame are the same each time
	uint16_t queue;

	memcpy(start, rte_pktmbuf_mtod(m, const uint8_t *),
		RTE_MIN(sizeof(start), (size_t)m->data_len));
	if (p->on != NULL)
		p = p->on;
	if (fuzz.world.nic) {
		queue = nicmodel_queue(p, start, m->pkt_len, &m->hash.rss);
		m->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	} else {
		queue = (uint16_t)(fuzz.same_queue != 0 ? (fuzz.same_queue - 1) % p->nb_rxq
							: below(p->nb_rxq));
	}
	m->ol_flags |= RECEIVED;
	softport_put_mbuf(p, queue, m);
}

void fuzz_put(
	const char *kind, unsigned int port, const uint8_t *frame, size_t len, unsigned int marks)
{
	struct rte_mempool *pool =
		port == FUZZ_KERNEL ? fuzz_exception()->pool : fuzz.world.dp->pool;
	struct rte_mbuf *m;

	len = RTE_MIN(RTE_MAX(len, (size_t)1), (size_t)FUZZ_FRAME);
	fuzz_remember(kind, port, frame, len, (marks & FUZZ_MUTATED) != 0);
	fuzz_frame_alone(frame, len, port % FUZZ_KERNEL);
	m = fuzz_mbuf(pool, frame, len);
	if (m == NULL)
		return;
	if ((marks & FUZZ_GOOD) != 0)
		m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	if (port == FUZZ_KERNEL)
		softport_put_mbuf(fuzz_exception()->kernel, 0, m);
	else
		queue_up(fuzz_port(port), m);
}

void fuzz_put_mbuf(const char *kind, struct port *port, struct rte_mbuf *m)
{
	fuzz_remember(kind, port == fuzz_port(0) ? 0 : FUZZ_KERNEL,
		rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, true);
	if (port == fuzz_port(0))
		queue_up(port, m);
	else
		softport_put_mbuf(port, 0, m);
}

// --- output --------------------------------------------------------------------------------------

// Asserts that no byte from behind the end of a frame was sent with it.
static void no_canaries(const uint8_t *data, size_t len)
{
	unsigned int run = 0;

	for (size_t i = 0; i < len; i++) {
		run = data[i] == FUZZ_CANARY ? run + 1 : 0;
		if (run == FUZZ_CANARY_RUN)
			fail_msg("a packet of %zu bytes contains bytes that nobody sent, at %zu",
				len, i);
	}
}

static void answer(unsigned int port, const struct net_neigh_msg *msg)
{
	struct net_l2 l2 = {.vlan = fuzz_port(port)->vlan, .src = {2, 0xaa}};
	uint8_t frame[NET_ND_FRAME_MAX];

	if (msg->type != NET_NEIGH_ASK || fuzz.world.deaf || chance(3))
		return;
	memcpy(l2.dst, fuzz_port(port)->mac, 6);
	memcpy(l2.src + 2, msg->target.b + 12, 4);
	fuzz_put(
		"answer", port, frame, net_write_answer(frame, &l2, &msg->target, &msg->sender), 0);
}

// Judges a datagram that the data path has made: whole, from our address, to a host.
static void judge_datagram(const struct port *p, const uint8_t *frame, size_t len,
	const struct net_rx *rx, const struct net_frame *f)
{
	const struct local_addr *local = local_addrs_find(fuzz.world.dp->hot->local, &f->src);
	const struct endpoint src = {f->src, f->sport}, dst = {f->dst, f->dport};
	struct net_frame again;
	struct addr via;
	uint8_t port;

	assert_int_equal(net_frame_parse(frame, len, rx, &again), NET_OK);
	assert_true(local != NULL && local->kind == LOCAL_OWN);
	assert_true(local->port == p->index || fuzz.rerouted ||
		(nexthop_find(fuzz.world.dp->hot, &f->src, &f->dst, &port, &via) &&
			port == p->index));
	assert_int_equal(f->payload_off + f->payload_len, len);
	assert_true(f->ttl > 0);
	assert_false(local_addrs_ours_at(
		fuzz.world.dp->hot->local, fuzz.world.dp->map, &f->dst, f->dport));
	fuzz_datagram(&src, &dst, frame + f->payload_off, f->payload_len);
}

// True for the kernel's own frames about its addresses, which net_frame_parse does not take.
static bool is_learning(unsigned int port, const uint8_t *frame, size_t len)
{
	const struct exception *e = fuzz.world.dp->exception[port];
	const size_t tag = fuzz_port(port)->vlan != 0 ? NET_VLAN_LEN : 0;
	static uint8_t plain[FUZZ_FRAME];
	enum learn_kind kind;

	if (e == NULL || len < NET_ETH_LEN + tag)
		return false;
	memcpy(plain, frame, 12);
	memcpy(plain + 12, frame + 12 + tag, len - 12 - tag);
	kind = learn_rules_out(&e->rules.learn, plain, len - tag);
	if (kind != LEARN_DHCP && kind != LEARN_ROUTER)
		return false;
	assert_in_range(len - tag - NET_ETH_LEN, 0, fuzz_port(port)->mtu);
	return true;
}

// Judges a fragment that the data path has made: from our address, within the MTU, and not from the
// kernel.
static void judge_fragment(
	unsigned int port, const uint8_t *frame, size_t len, const struct net_frame *f)
{
	const struct local_addr *local = local_addrs_find(fuzz.world.dp->hot->local, &f->src);
	struct net_fragment p;

	assert_true(local != NULL && local->kind == LOCAL_OWN);
	assert_int_equal(net_fragment_read(frame, f, &p), NET_OK);
	assert_int_equal(p.data + p.len - frame, len);
	assert_in_range(len - f->l3_off, 0, fuzz_port(port)->mtu);
	assert_true(f->ttl > 0 && !f->df);
	assert_false(local_addrs_ours(fuzz.world.dp->hot->local, &f->dst));
	fuzz.seen.fragments++;
}

static void judge(unsigned int port, const uint8_t *frame, size_t len)
{
	const struct port *p = fuzz_port(port);
	struct net_rx strict = {.vlan = p->vlan, .tcp = true}, rx;
	struct net_neigh_msg msg;
	enum net_drop parsed;
	struct net_frame f;

	no_canaries(frame, len);
	assert_memory_equal(frame + 6, p->mac, 6);
	if (is_learning(port, frame, len))
		return;
	memcpy(strict.mac, frame, 6);
	rx = strict;
	rx.l4_checksum_good = true; // the kernel is responsible for its own frames
	parsed = net_frame_parse(frame, len, &rx, &f);
	if (parsed == NET_DROP_FRAGMENT) {
		judge_fragment(port, frame, len, &f);
		return;
	}
	assert_int_equal(parsed, NET_OK);
	if (f.kind != NET_ARP)
		assert_in_range(f.payload_off + f.payload_len - f.l3_off, 0, p->mtu);
	if (f.kind == NET_UDP) {
		if (exception_is_data_path(fuzz.world.dp, &f.src, f.sport))
			judge_datagram(p, frame, len, &strict, &f);
		else
			assert_non_null(fuzz.world.dp->exception[port]);
		return;
	}
	if (f.kind == NET_TCP) {
		assert_non_null(fuzz.world.dp->exception[port]);
		return;
	}
	net_neigh_parse(frame, len, &f, &msg);
	fuzz.seen.neighbours += msg.type != NET_NEIGH_NONE;
	fuzz.seen.echoes += f.kind != NET_ARP && msg.type == NET_NEIGH_NONE;
	answer(port, &msg);
}

bool fuzz_receive(struct dp_world *w, unsigned int port)
{
	struct port *p = w->dp->port[port].port;
	struct rte_mbuf *m = p->on == NULL ? softport_take_mbuf(p) : NULL;
	static uint8_t frame[FUZZ_FRAME];

	if (m == NULL)
		return false;
	port = sender_of(w, port, rte_pktmbuf_mtod(m, const uint8_t *));
	fuzz.seen.from_ports++;
	if ((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) { // softport.c has cut UDP super-frames
		assert_true(m->nb_segs == 1 && m->pkt_len <= sizeof(frame));
		memcpy(frame, rte_pktmbuf_mtod(m, const void *), m->pkt_len);
		judge(port, frame, m->pkt_len);
	} else {
		assert_non_null(w->dp->exception[port]);
		assert_true(port_super_frames(m) > 0);
	}
	rte_pktmbuf_free(m);
	return true;
}

// --- rounds --------------------------------------------------------------------------------------

static void kernel_round(void)
{
	struct exception *e = fuzz_exception();
	struct rte_mbuf *m;

	if (e == NULL || chance(10))
		return;
	fuzz.ns = fuzz.world.ms * 1000000;
	exception_thread_turn(e, fuzz.ns);
	while ((m = softport_take_mbuf(e->kernel)) != NULL) {
		no_canaries(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
		fuzz.seen.to_kernel++;
		rte_pktmbuf_free(m);
	}
}

// Number of buffers that a worker holds somewhere; stream threads hold more.
static uint32_t in_use_of(const struct worker *w)
{
	uint32_t n = neigh_held_total(w->neigh) + w->backlog.n;

#define X(fill, drain, held) n += held(w);
	DP_FILLS(X)
#undef X
	for (unsigned int i = 0; i < w->dp->nb_workers; i++)
		n += rte_ring_count(w->in[i]) + w->hand[i].n;
	for (unsigned int p = 0; p < w->dp->nb_ports; p++) {
		const struct exception *e = w->dp->exception[p];

		n += w->tx[p].n;
		if (e != NULL)
			n += e->lane[w->id].given[0] + e->lane[w->id].given[1];
	}
	return n;
}

// Asserts that every packet buffer is accounted for.
static void count_buffers(void)
{
	const struct dp *d = fuzz.world.dp;
	uint32_t n = 0, in_use;

	if (d->nb_streams > 0)
		return;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		n += in_use_of(d->worker[i]);
	for (unsigned int p = 0; p < d->nb_ports; p++)
		for (uint16_t q = 0; d->port[p].port->on == NULL && q < d->port[p].port->nb_rxq;
			q++)
			if (softport_waiting(d->port[p].port, q) > 0)
				return; // the number of buffers of each is unknown
	in_use = rte_mempool_in_use_count(d->pool);
	if (d->datagrams == NULL)
		assert_int_equal(in_use, n);
	else // a long buffer has a datagram, or belongs to a flow
		assert_in_range(n - in_use, 0, rte_mempool_in_use_count(d->datagrams));
}

void fuzz_round(void)
{
	world_round(&fuzz.world);
	fuzz_threads_round();
	kernel_round();
	fuzz_captures_round();
	fuzz_lookups_round();
	fuzz_proxies();
	fuzz_reloads_round();
	count_buffers();
}
