// SPDX-License-Identifier: BSD-3-Clause
// The thread between the workers' rings and the kernel's interfaces. It makes all system calls of
// the exception ports, and checks all frames that come out of the kernel. It frees nothing into the
// workers' pool: it returns their packets to them.
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>
#include <rte_ether.h>

#include "clock.h"
#include "counter.h"
#include "exception/exception_thread.h"
#include "addr.h"
#include "bytes.h"
#include "datapath.h"
#include "dpdk_compat.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "link/local_addrs.h"
#include "net.h"
#include "port.h"
#include "super/super.h"
#include "threads/prompt_wakes.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

#define BURST 8 // frames between two checks of bounds; each frame of the kernel may have 64 KB
// Sleep after rounds without work: the shortest time for the first ones, then longer and longer.
#define SLEEP_NS_MIN (20 * 1000)
#define SLEEP_NS_MAX (1000 * 1000)
#define SLEEPS_SHORT 500

// --- to the kernel -------------------------------------------------------------------------------

// Keeps a reference to the worker's buffer, to return it: the port drops the other one.
static bool write_whole(struct exception *e, struct rte_mbuf *m)
{
	rte_pktmbuf_refcnt_update(m, 1);
	if (port_tx(e->kernel, 0, &m, 1) == 1)
		return true;
	rte_pktmbuf_refcnt_update(m, -1);
	return false;
}

// Writes a super-frame to an interface that accepts none. Returns the number of its frames that
// were lost.
static uint32_t write_pieces(struct exception *e, const struct rte_mbuf *m, uint32_t frames)
{
	struct rte_mbuf *piece[EXCEPTION_PIECES];
	const unsigned int n = port_super_cut(m, e->pool, piece, EXCEPTION_PIECES);
	unsigned int sent = 0;

	for (unsigned int i = 0; i < n; i++)
		// flags of a received frame would request offloads from the port
		piece[i]->ol_flags = 0;
	while (sent < n) {
		const uint16_t more =
			port_tx(e->kernel, 0, piece + sent, (uint16_t)RTE_MIN(n - sent, 32u));

		if (more == 0)
			break;
		sent += more;
	}
	rte_pktmbuf_free_bulk(piece + sent, n - sent);
	return frames - sent;
}

// Writes a frame. Returns the number of its frames that were lost.
static uint32_t write_one(struct exception *e, struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct exception_note *note = &mbuf_meta_of(m)->exception;

	if (load_be16(data + NET_ETH_TYPE_AT) == NET_ETHERTYPE_VLAN && rte_vlan_strip(m) != 0)
		return note->frames;
	if (!note->is_super) {
		m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
		return write_whole(e, m) ? 0 : 1;
	}
	if (e->kernel->tso.segments == 0)
		return write_pieces(e, m, note->frames);
	return port_super_forward(m) && write_whole(e, m) ? 0 : note->frames;
}

static unsigned int write_lane(
	struct exception *e, struct exception_lane *l, unsigned int max, uint64_t now)
{
	struct rte_mbuf *m[BURST];
	const unsigned int n = rte_ring_sc_dequeue_burst(
		l->to_kernel, (void **)m, RTE_MIN(max, (unsigned int)BURST), NULL);

	for (unsigned int i = 0; i < n; i++) {
		const uint32_t lost = write_one(e, m[i]);

		bucket_spend(&e->to_meter, &e->limit, mbuf_meta_of(m[i])->exception.frames, now);
		counter_add(&e->to_lost, lost);
		// has room for all packets that the worker may give
		rte_ring_sp_enqueue(l->done, m[i]);
	}
	return n;
}

// Serves the lanes in turn, so that each gets its part when the rate is exhausted.
static unsigned int write_all(struct exception *e, uint64_t now)
{
	unsigned int done = 0;

	for (unsigned int i = 0; i < e->nb_lanes; i++) {
		const uint32_t tokens = bucket_see(&e->to_meter, &e->limit, now);

		if (tokens == 0)
			break;
		done += write_lane(e, &e->lane[e->next_lane], tokens, now);
		e->next_lane = (e->next_lane + 1) % e->nb_lanes;
	}
	return done;
}

// --- from the kernel: checks ---------------------------------------------------------------------

static bool is_ours(const struct exception *e, const struct addr *a)
{
	const struct local_addr *l = local_addrs_find(e->dp->local, a);

	return l != NULL && l->kind == LOCAL_OWN && l->port == e->port;
}

// Lets questions of the kernel out. The data path answers the questions of other hosts, so the
// kernel's answers are dropped.
static uint16_t judge_neighbour(const struct exception *e, const struct net_neigh_msg *msg)
{
	static const uint8_t not_given[6]; // allowed in a unicast solicitation
	const struct dp_port *p = &e->dp->port[e->port];

	if (msg->type == NET_NEIGH_ANSWER)
		return EXC_ANSWERED;
	if (!is_ours(e, &msg->sender) && !addr_eq(&msg->sender, &p->link_local))
		return DP_DROP_EXC_FOREIGN;
	return memcmp(msg->mac, p->l2.src, 6) == 0 || memcmp(msg->mac, not_given, 6) == 0
		? DP_OK
		: DP_DROP_EXC_FOREIGN;
}

static uint16_t judge_parsed(const struct exception *e, const uint8_t *data,
	const struct net_frame *f, struct exception_note *note)
{
	const struct exception_flow flow = {
		f->kind == NET_TCP ? IPPROTO_TCP : IPPROTO_UDP, f->sport, f->dport, f->src};
	bool good = false;

	if (f->payload_off + f->payload_len - f->l3_off > e->dp->port[e->port].port->mtu &&
		!note->is_super)
		return DP_DROP_MTU;
	if (!is_ours(e, &f->src))
		return DP_DROP_EXC_FOREIGN;
	switch ((enum net_kind)f->kind) {
	case NET_ARP:
		break;
	case NET_TCP:
		note->class = EXC_TCP;
		good = exception_rules_out(&e->rules, &flow);
		break;
	case NET_UDP:
		note->class = EXC_UDP;
		good = exception_rules_out(&e->rules, &flow) &&
			!exception_is_data_path(e->dp, &f->src, f->sport);
		break;
	case NET_ICMP:
	case NET_ICMP6:
		note->class = EXC_ICMP;
		good = exception_rules_icmp_out(&e->rules, f, data + f->payload_off);
		break;
	}
	return good ? DP_OK : DP_DROP_EXC_FOREIGN;
}

// True for frames by which the kernel keeps its assigned addresses: sent from where a host requests
// them.
static bool is_learning(
	const struct exception *e, const uint8_t *data, size_t len, struct exception_note *note)
{
	static const uint8_t none[4];
	const enum learn_kind kind = learn_rules_out(&e->rules.learn, data, len);
	const uint8_t *ip = data + NET_ETH_LEN; // a frame with a tag of its own does not match
	struct addr src;

	if ((kind != LEARN_DHCP && kind != LEARN_ROUTER) ||
		len - NET_ETH_LEN > e->dp->port[e->port].port->mtu)
		return false;
	note->class = kind == LEARN_DHCP ? EXC_UDP : EXC_ND;
	src = ip[0] >> 4 == 4 ? addr_from_v4(ip + 12) : addr_from_v6(ip + 8);
	return is_ours(e, &src) || addr_eq(&src, &e->dp->port[e->port].link_local) ||
		(addr_is_v4(&src) && memcmp(src.b + 12, none, 4) == 0);
}

// len: length of the frame. data has at least its headers.
static uint16_t judge_frame(
	const struct exception *e, const uint8_t *data, uint32_t len, struct exception_note *note)
{
	struct net_rx rx = {.l4_checksum_good = true, .tcp = true};
	struct net_neigh_msg msg;
	struct net_frame f;

	if (len < NET_ETH_LEN || memcmp(data + 6, e->dp->port[e->port].l2.src, 6) != 0)
		return DP_DROP_EXC_FOREIGN;
	if (is_learning(e, data, len, note))
		return DP_OK;
	memcpy(rx.mac, data, 6); // any destination MAC
	// a foreign tag would end up after the port's own tag
	if (net_frame_parse(data, len, &rx, &f) != NET_OK || f.l3_off != NET_ETH_LEN)
		return DP_DROP_EXC_FOREIGN;
	net_neigh_parse(data, len, &f, &msg);
	if (f.kind == NET_ARP || msg.type != NET_NEIGH_NONE) {
		note->class = f.kind == NET_ARP ? EXC_ARP : EXC_ND;
		return msg.type != NET_NEIGH_NONE ? judge_neighbour(e, &msg) : DP_DROP_EXC_FOREIGN;
	}
	return judge_parsed(e, data, &f, note);
}

// Checks a packet of the kernel and writes its note.
static void judge_packet(const struct exception *e, struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct exception_note *note = &mbuf_meta_of(m)->exception;
	struct port_super_info s;

	*note = (struct exception_note){.frames = 1, .bytes = m->pkt_len};
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0) {
		note->verdict = m->nb_segs == 1 ? judge_frame(e, data, m->data_len, note)
						: DP_DROP_SEGMENTED;
		return;
	}
	note->verdict = DP_DROP_SUPER;
	if (!port_super_read(m, &s) || !s.tcp)
		return;
	*note = (struct exception_note){.is_super = true, .frames = s.frames, .bytes = s.bytes};
	if (m->data_len < RTE_MIN(m->pkt_len, (uint32_t)EXCEPTION_HEADERS))
		note->verdict = DP_DROP_SEGMENTED;
	else if (s.mtu > e->dp->port[e->port].port->mtu)
		note->verdict = DP_DROP_MTU;
	else
		note->verdict = judge_frame(e, data, m->pkt_len, note);
}

// --- from the kernel: reading --------------------------------------------------------------------

// Prepares a frame for the port. If that is impossible, the frame's note has the reason.
static void finish_frame(const struct exception *e, struct rte_mbuf **m)
{
	const uint16_t vlan = e->dp->port[e->port].port->vlan;
	struct exception_note *note = &mbuf_meta_of(*m)->exception;
	const uint16_t tag = vlan != 0 ? NET_VLAN_LEN : 0;

	if (note->verdict != DP_OK)
		return;
	(*m)->vlan_tci = vlan;
	if (tag != 0 && rte_vlan_insert(m) != 0)
		note->verdict = DP_DROP_HEADROOM;
	else if (note->is_super && !port_super_forward(*m))
		note->verdict = DP_DROP_SUPER;
	else if (!note->is_super)
		(*m)->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	note->bytes += (uint32_t)tag * note->frames;
}

static void enqueue_frame(struct exception *e, struct rte_mbuf *m)
{
	e->queued += m->nb_segs;
	rte_ring_sp_enqueue(e->from_kernel, m); // has room for BURST more than the bound
}

// True if the port can send a super-frame whole. A kernel that knows the limits keeps them, but the
// other end of a connection decides the size of segments.
static bool fits_port(const struct exception *e, const struct rte_mbuf *m)
{
	const struct port_super *tso = &e->dp->port[e->port].port->tso;

	return __atomic_load_n(&tso->segments, __ATOMIC_RELAXED) >=
		mbuf_meta_of((struct rte_mbuf *)(uintptr_t)m)->exception.frames &&
		m->nb_segs <= tso->bufs && m->pkt_len <= tso->bytes &&
		m->tso_segsz >= tso->size_min;
}

// Cuts a super-frame into plain frames, which follow as there is room. Consumes m.
static void cut_super(struct exception *e, struct rte_mbuf *m)
{
	struct exception_note note = mbuf_meta_of(m)->exception;

	e->next_piece = 0;
	e->nb_pieces = port_super_cut(m, e->pool, e->pieces, EXCEPTION_PIECES);
	if (e->nb_pieces == 0) {
		mbuf_meta_of(m)->exception.verdict = DP_DROP_SUPER;
		enqueue_frame(e, m);
		return;
	}
	counter_add(&e->cut, 1);
	note.is_super = false;
	note.frames = 1;
	for (unsigned int i = 0; i < e->nb_pieces; i++) {
		note.bytes = e->pieces[i]->pkt_len;
		mbuf_meta_of(e->pieces[i])->exception = note;
	}
	rte_pktmbuf_free(m);
}

// True if no piece of a cut super-frame is left.
static bool pieces_done(struct exception *e, uint32_t room)
{
	for (; room > 0 && e->next_piece < e->nb_pieces; room--)
		enqueue_frame(e, e->pieces[e->next_piece++]);
	return e->next_piece == e->nb_pieces;
}

static void read_one(struct exception *e, struct rte_mbuf *m, uint64_t now)
{
	const struct exception_note *note;

	judge_packet(e, m);
	finish_frame(e, &m);
	note = &mbuf_meta_of(m)->exception;
	bucket_spend(&e->from_meter, &e->limit, note->frames, now);
	if (note->is_super && note->verdict == DP_OK && !fits_port(e, m))
		cut_super(e, m);
	else
		enqueue_frame(e, m);
}

// Frames for which there is no room or no token stay in the interface, where the kernel sees them.
static unsigned int read_all(struct exception *e, uint64_t now)
{
	unsigned int n;

	for (n = 0; n < BURST; n++) {
		const uint32_t waiting = e->queued - __atomic_load_n(&e->taken, __ATOMIC_ACQUIRE);
		struct rte_mbuf *m;

		if (waiting >= e->conf->buffers || !pieces_done(e, e->conf->buffers - waiting) ||
			bucket_see(&e->from_meter, &e->limit, now) == 0 ||
			port_rx(e->kernel, 0, &m, 1) == 0)
			break;
		read_one(e, m, now);
	}
	return n;
}

// --- the thread ----------------------------------------------------------------------------------

// Flushes the rest of a super-frame that a full kernel has left over, even if no frame follows.
static void tick_kernel(struct exception *e, uint64_t now_ms)
{
	if (e->kernel->ops->tick == NULL || now_ms == e->ticked_ms)
		return;
	e->ticked_ms = now_ms;
	e->kernel->ops->tick(e->kernel, 0);
}

unsigned int exception_thread_turn(struct exception *e, uint64_t now_ns)
{
	const unsigned int written = write_all(e, now_ns), queued = e->queued,
			   work = written + read_all(e, now_ns);

	tick_kernel(e, now_ns / BUCKET_MS);
	if (e->queued != queued)
		waiter_kick(&e->dp->worker[e->server]->waiter);
	return work;
}

static dpdk_thread_result thread_run(void *arg)
{
	struct dp *d = arg;
	unsigned int idle = 0;

	prompt_wakes();
	__atomic_store_n(&d->exception_tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&d->exception_stop, __ATOMIC_ACQUIRE)) {
		struct timespec pause = {.tv_nsec = SLEEP_NS_MIN};
		unsigned int work = 0;

		counter_add(&d->exception_rounds, 1);
		for (unsigned int p = 0; p < d->nb_ports; p++)
			if (d->exception[p] != NULL)
				work += exception_thread_turn(
					d->exception[p], clock_monotonic_ns());
		idle = work > 0 ? 0 : idle + 1;
		if (work > 0)
			continue;
		if (idle > SLEEPS_SHORT)
			pause.tv_nsec = RTE_MIN(
				(long)SLEEP_NS_MAX, (long)(idle - SLEEPS_SHORT) * SLEEP_NS_MIN);
		nanosleep(&pause, NULL);
	}
	return (dpdk_thread_result)0;
}

int exception_thread_start(struct dp *d)
{
	int rc;

	if (d->nb_exceptions == 0)
		return 0;
	rc = dpdk_thread_start(&d->exception_thread, "exception", thread_run, d);
	d->exception_running = rc == 0;
	return rc;
}

void exception_thread_stop(struct dp *d)
{
	if (!d->exception_running)
		return;
	__atomic_store_n(&d->exception_stop, true, __ATOMIC_RELEASE);
	pthread_join(d->exception_thread, NULL);
	d->exception_running = false;
}
