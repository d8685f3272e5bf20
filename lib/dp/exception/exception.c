// SPDX-License-Identifier: BSD-3-Clause
// Exception ports: start, stop, and the workers' side.
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "counter.h"
#include "exception/exception.h"
#include "exception/exception_host.h"
#include "conf.h"
#include "datapath.h"
#include "dp.h"
#include "dp_memory.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "link/local_addrs.h"
#include "link/tx.h"
#include "net.h"
#include "port.h"
#include "super/super.h"
#include "turn_relay_map.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

#define BURSTS 50 // per second: a burst of up to 20 ms is allowed
#define BURST_MIN 64
#define RING 512 // frames that may wait in the kernel's interface
// Buffers of the pool beyond those that wait: the one that the port holds for the next frame,
// frames read between two checks of the bounds, the pieces of a super-frame that must be cut.
#define SPARE 1024

// --- open ----------------------------------------------------------------------------------------

static void device_text(const struct conf_exception *c, const struct port *p, char *buf, size_t len)
{
	const bool tso = c->tso != CONF_USO_OFF && p->tso.segments > 0;
	char mac[18];

	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1], p->mac[2],
		p->mac[3], p->mac[4], p->mac[5]);
	if (c->device != NULL)
		snprintf(buf, len, "%s,iface=%s,mac=%s", c->device, c->name, mac);
	else
		snprintf(buf, len, "vtap:%s%s%s,queues=1,role=exception,offload=%s,mac=%s", c->name,
			c->netns != NULL ? ",netns=" : "", c->netns != NULL ? c->netns : "",
			tso ? "tso" : "none", mac);
}

static uint32_t pool_buffers(const struct conf_exception *c, uint32_t tx_ring)
{
	// the last frames sent may stay in the port's ring as long as no others follow
	return 2 * c->buffers + tx_ring + SPARE;
}

size_t exception_pool_bytes(const struct conf *c, uint32_t port, uint32_t tx_ring)
{
	const uint32_t element =
		(uint32_t)(sizeof(struct rte_mbuf) + DP_PRIV_SIZE) + dp_data_room(c);

	if (c->ports[port].exception.name == NULL)
		return 0;
	return (size_t)pool_buffers(&c->ports[port].exception, tx_ring) *
		(rte_mempool_calc_obj_size(element, 0, NULL) + sizeof(void *));
}

// The pool has a ring without spinning: the thread that takes buffers from it may be preempted in
// the middle of that, and with the default ring no worker could then return any.
static int pool_make(struct exception *e, const struct port *p)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "kernel%u", e->port);
	e->pool = rte_pktmbuf_pool_create_by_ops(name, pool_buffers(e->conf, p->tx_ring), 0,
		DP_PRIV_SIZE, dp_data_room(e->dp->conf), e->dp->socket, "ring_mt_rts");
	return e->pool != NULL ? 0 : -rte_errno;
}

static int kernel_open(struct exception *e, exception_opener *open, char *error, size_t len)
{
	const struct dp_port *p = &e->dp->port[e->port];
	char device[512], name[64];
	const struct port_config pc = {.name = name,
		.device = device,
		.queues = 1,
		.mtu = p->port->mtu,
		.uso = PORT_USO_OFF,
		.rx_ring = RING,
		.tx_ring = RING,
		.pool = e->pool,
		.socket = e->dp->socket};

	snprintf(name, sizeof(name), "%s.exception", p->conf->name);
	device_text(e->conf, p->port, device, sizeof(device));
	e->kernel = open(&pc, error, len);
	return e->kernel != NULL ? exception_host_start(e, error, len) : -1;
}

int exception_open(struct dp *d, uint32_t port, exception_opener *open, char *error, size_t len)
{
	const struct conf *c = d->conf;
	const struct port *p = d->port[port].port;
	struct exception *e;
	int rc;

	if (c->ports[port].exception.name == NULL)
		return 0;
	e = rte_zmalloc(
		"exception", sizeof(*e) + d->nb_workers * sizeof(e->lane[0]), RTE_CACHE_LINE_SIZE);
	if (e == NULL) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	d->exception[port] = e;
	d->nb_exceptions++;
	*e = (struct exception){.dp = d,
		.conf = &c->ports[port].exception,
		.port = (uint8_t)port,
		.nb_lanes = d->nb_workers,
		.server = (uint8_t)(port % RTE_MIN((unsigned int)p->nb_txq, d->nb_workers))};
	e->limit =
		(struct limit){e->conf->rate, RTE_MAX(e->conf->rate / BURSTS, (uint32_t)BURST_MIN)};
	rc = pool_make(e, p);
	if (rc != 0) {
		snprintf(error, len, "port %s: exception port: %s; about %zu MB are needed in all",
			c->ports[port].name, rte_strerror(-rc), dp_memory_here_mb(c));
		return -1;
	}
	return kernel_open(e, open, error, len);
}

static struct rte_ring *ring_make(uint32_t frames, int socket)
{
	const unsigned int count = rte_align32pow2(frames + 1);
	const ssize_t size = rte_ring_get_memsize(count);
	struct rte_ring *r = size > 0
		? rte_zmalloc_socket("exception", (size_t)size, RTE_CACHE_LINE_SIZE, socket)
		: NULL;

	if (r != NULL && rte_ring_init(r, "exception", count, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(r);
		return NULL;
	}
	return r;
}

int exception_create_rings(struct dp *d)
{
	for (unsigned int p = 0; p < d->nb_ports; p++) {
		struct exception *e = d->exception[p];

		if (e == NULL)
			continue;
		e->from_kernel = ring_make(e->conf->buffers + SPARE, d->socket);
		if (e->from_kernel == NULL || exception_rules_init(&e->rules, d->conf, p) != 0)
			return -ENOMEM;
		for (unsigned int w = 0; w < e->nb_lanes; w++) {
			struct exception_lane *l = &e->lane[w];

			l->to_kernel = ring_make(e->conf->buffers, d->socket);
			l->done = ring_make(e->conf->buffers, d->socket);
			if (l->to_kernel == NULL || l->done == NULL)
				return -ENOMEM;
		}
	}
	return 0;
}

// --- close ---------------------------------------------------------------------------------------

static void ring_drain(struct rte_ring *r)
{
	struct rte_mbuf *m;

	while (r != NULL && rte_ring_sc_dequeue(r, (void **)&m) == 0)
		rte_pktmbuf_free(m);
}

void exception_close_all(struct dp *d)
{
	for (unsigned int p = 0; p < CONF_PORTS_MAX; p++) {
		struct exception *e = d->exception[p];

		if (e == NULL)
			continue;
		rte_pktmbuf_free_bulk(&e->pieces[e->next_piece], e->nb_pieces - e->next_piece);
		e->next_piece = e->nb_pieces = 0;
		ring_drain(e->from_kernel);
		for (unsigned int w = 0; w < e->nb_lanes; w++) {
			ring_drain(e->lane[w].to_kernel);
			ring_drain(e->lane[w].done);
		}
		if (e->kernel == NULL)
			continue;
		e->kernel->ops->stop(e->kernel);
		e->kernel->ops->close(e->kernel);
		e->kernel = NULL;
	}
}

void exception_free_all(struct dp *d)
{
	for (unsigned int p = 0; p < CONF_PORTS_MAX; p++) {
		struct exception *e = d->exception[p];

		if (e == NULL)
			continue;
		for (unsigned int w = 0; w < e->nb_lanes; w++) {
			rte_free(e->lane[w].to_kernel);
			rte_free(e->lane[w].done);
		}
		rte_free(e->from_kernel);
		rte_mempool_free(e->pool);
		exception_rules_free(&e->rules);
		rte_free(e);
		d->exception[p] = NULL;
	}
	d->nb_exceptions = 0;
}

// --- to the kernel -------------------------------------------------------------------------------

static bool is_neighbour(uint8_t class)
{
	return class == EXC_ARP || class == EXC_ND;
}

// Number of buffers that may wait: a flood of one kind leaves room for the other.
static uint32_t buffer_share(const struct exception *e, bool neighbour)
{
	return neighbour ? e->conf->buffers / 4 : e->conf->buffers - e->conf->buffers / 4;
}

// Frees the packets that the thread has returned.
static void reclaim_buffers(struct exception_lane *l)
{
	struct rte_mbuf *m[DP_BURST];
	const unsigned int n = rte_ring_sc_dequeue_burst(l->done, (void **)m, DP_BURST, NULL);

	for (unsigned int i = 0; i < n; i++) {
		l->given[is_neighbour(mbuf_meta_of(m[i])->exception.class)] -= m[i]->nb_segs;
		rte_pktmbuf_free(m[i]);
	}
}

// Queues a packet for the kernel. Returns DP_OK, or DP_DROP_EXC_RATE; the caller then keeps the
// packet.
static unsigned int give_packet(struct worker *w, struct exception *e, struct rte_mbuf *m,
	const struct exception_note *note)
{
	struct exception_lane *l = &e->lane[w->id];
	const bool neighbour = is_neighbour(note->class);

	if (l->given[neighbour] + m->nb_segs > buffer_share(e, neighbour))
		reclaim_buffers(l); // a worker that has waited did this long ago
	if (l->given[neighbour] + m->nb_segs > buffer_share(e, neighbour)) {
		counter_add(&l->to_full, note->frames);
		return DP_DROP_EXC_RATE;
	}
	mbuf_meta_of(m)->exception = *note;
	l->given[neighbour] += m->nb_segs;
	w->live.consumed += note->frames;
	counter_add(&l->to_class[note->class], note->frames);
	if (note->is_super) {
		counter_add(&l->to_supers, 1);
		counter_add(&l->to_super_frames, note->frames);
	}
	rte_ring_sp_enqueue(l->to_kernel, m); // has room for all buffers
	return DP_OK;
}

static void give_or_drop(
	struct worker *w, struct exception *e, struct rte_mbuf *m, enum exception_class class)
{
	const struct exception_note note = {
		.class = (uint8_t) class, .frames = 1, .bytes = m->pkt_len};
	const unsigned int reason = give_packet(w, e, m, &note);

	if (unlikely(reason != DP_OK))
		worker_drop(w, m, reason);
}

// The destination must be an address of this port, the source must not be ours.
static unsigned int check_addresses(const struct worker *w, uint8_t port, const struct net_frame *f)
{
	const struct local_addr *laddr = local_addrs_find(w->local, &f->dst);

	if (laddr == NULL || laddr->kind != LOCAL_OWN || laddr->port != port)
		return drop_of_net(laddr != NULL && laddr->kind == LOCAL_BROADCAST
				? NET_DROP_MARTIAN_DESTINATION
				: NET_DROP_NOT_FOR_US);
	return local_addrs_ours(w->local, &f->src) ? drop_of_net(NET_DROP_MARTIAN_SOURCE) : DP_OK;
}

// DP_OK if the kernel gets a TCP segment, else a drop reason.
static unsigned int judge_tcp(
	struct worker *w, uint8_t port, const struct rte_mbuf *m, const struct net_frame *f)
{
	struct exception *e = w->dp->exception[port];
	const struct exception_flow flow = {IPPROTO_TCP, f->dport, f->sport, f->dst};
	const uint8_t flags = *rte_pktmbuf_mtod_offset(m, const uint8_t *, f->l4_off + 13);
	const unsigned int reason = check_addresses(w, port, f);

	if (reason != DP_OK)
		return reason;
	return exception_rules_in(&e->rules, &flow, (flags & 0x12) == 0x02) ? DP_OK
									    : DP_DROP_EXC_DENIED;
}

void exception_tcp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	struct exception *e = w->dp->exception[port];
	const unsigned int reason = judge_tcp(w, port, m, f);

	if (reason == DP_DROP_EXC_DENIED)
		counter_add(&e->lane[w->id].to_denied, 1);
	if (reason == DP_OK)
		give_or_drop(w, e, m, EXC_TCP);
	else
		worker_drop(w, m, reason);
}

bool exception_udp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	struct exception *e = w->dp->exception[port];
	const struct exception_flow flow = {IPPROTO_UDP, f->dport, f->sport, f->dst};

	unsigned int reason;

	if (e == NULL || !exception_rules_in(&e->rules, &flow, false))
		return false;
	reason = check_addresses(w, port, f); // the rules apply to addresses of this port
	if (reason == DP_OK)
		give_or_drop(w, e, m, EXC_UDP);
	else
		worker_drop(w, m, reason);
	return true;
}

bool exception_is_data_path(const struct dp *d, const struct addr *a, uint16_t port)
{
	const struct local_addr *l = local_addrs_find(d->local, a);

	// not found: the port's link-local address, which only the kernel serves
	return l != NULL && local_addrs_is_data_path(d->local, d->map, l, port);
}

bool exception_learning(struct worker *w, uint8_t port, struct rte_mbuf *m)
{
	struct exception *e = w->dp->exception[port];
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *mac = w->dp->port[port].l2.src;
	enum learn_kind kind;

	if (likely(e == NULL || !(e->rules.learn.dhcp || e->rules.learn.slaac)))
		return false;
	kind = learn_rules_in(&e->rules.learn, data, m->data_len);
	if ((kind != LEARN_DHCP && kind != LEARN_ROUTER) || memcmp(data + 6, mac, 6) == 0 ||
		((data[0] & 1) == 0 && memcmp(data, mac, 6) != 0))
		return false;
	give_or_drop(w, e, m, kind == LEARN_DHCP ? EXC_UDP : EXC_ND);
	return true;
}

bool exception_icmp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	struct exception *e = w->dp->exception[port];
	const uint8_t *icmp = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);
	struct exception_flow about;

	if (e == NULL || !exception_rules_icmp_in(&e->rules, f, icmp, &about))
		return false;
	// about a relayed datagram, even if its peer's port is one that the kernel uses
	if (about.proto == IPPROTO_UDP && exception_is_data_path(w->dp, &f->dst, about.our_port))
		return false;
	give_or_drop(w, e, m, EXC_ICMP);
	return true;
}

void exception_neighbour(
	struct worker *w, uint8_t port, const struct rte_mbuf *m, const struct net_frame *f)
{
	struct exception *e = w->dp->exception[port];
	struct rte_mbuf *copy;

	if (likely(e == NULL))
		return;
	w->live.made++;
	if (e->lane[w->id].given[1] >= buffer_share(e, true)) {
		counter_add(&e->lane[w->id].to_full, 1);
		w->live.drop[DP_DROP_EXC_RATE]++;
		return;
	}
	copy = rte_pktmbuf_copy(m, w->dp->pool, 0, UINT32_MAX);
	if (copy == NULL)
		w->live.drop[DP_DROP_NO_MBUF]++;
	else
		give_or_drop(w, e, copy, f->kind == NET_ARP ? EXC_ARP : EXC_ND);
}

unsigned int exception_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct port_super_info *s)
{
	struct exception *e = w->dp->exception[port];
	const struct exception_note note = {
		.class = EXC_TCP, .is_super = true, .frames = s->frames, .bytes = s->bytes};
	struct net_rx rx = w->dp->port[port].rx[0];
	struct net_frame f;
	enum net_drop bad;
	unsigned int reason;

	rx.ip_checksum_good = true; // checked already, or known to be right
	if (m->data_len < RTE_MIN(m->pkt_len, (uint32_t)EXCEPTION_HEADERS))
		return DP_DROP_SEGMENTED;
	bad = net_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->pkt_len, &rx, &f);
	reason = bad != NET_OK ? drop_of_net(bad) : judge_tcp(w, port, m, &f);
	if (reason == DP_DROP_EXC_DENIED)
		counter_add(&e->lane[w->id].to_denied, s->frames);
	if (reason == DP_OK)
		reason = give_packet(w, e, m, &note);
	return reason;
}

// --- from the kernel -----------------------------------------------------------------------------

static void send_one(struct worker *w, struct exception *e, struct rte_mbuf *m)
{
	const struct exception_note note = mbuf_meta_of(m)->exception;
	struct exception_lane *l = &e->lane[w->id];

	w->live.made += note.frames;
	if (note.verdict == EXC_ANSWERED) {
		counter_add(&l->answered, note.frames);
		w->live.consumed += note.frames;
		rte_pktmbuf_free(m);
		return;
	}
	if (note.verdict != DP_OK) {
		counter_add(&l->from_foreign, note.frames);
		w->live.drop[note.verdict] += note.frames - 1;
		worker_drop(w, m, note.verdict);
		return;
	}
	counter_add(&l->from_class[note.class], note.frames);
	if (!note.is_super) {
		tx_put(w, e->port, m);
		return;
	}
	counter_add(&l->from_supers, 1);
	counter_add(&l->from_super_frames, note.frames);
	tx_put_super(w, e->port, m, &note);
}

static unsigned int take_packets(struct worker *w, struct exception *e)
{
	struct rte_mbuf *m[EXCEPTION_TAKE];
	const unsigned int n =
		rte_ring_sc_dequeue_burst(e->from_kernel, (void **)m, EXCEPTION_TAKE, NULL);
	uint32_t buffers = 0;

	for (unsigned int i = 0; i < n; i++) {
		buffers += m[i]->nb_segs;
		send_one(w, e, m[i]);
	}
	__atomic_store_n(&e->taken, e->taken + buffers, __ATOMIC_RELEASE);
	return n;
}

unsigned int exception_round(struct worker *w)
{
	unsigned int n = 0;

	for (unsigned int p = 0; p < w->dp->nb_ports; p++) {
		struct exception *e = w->dp->exception[p];

		if (e == NULL)
			continue;
		if ((e->lane[w->id].given[0] | e->lane[w->id].given[1]) != 0)
			reclaim_buffers(&e->lane[w->id]);
		if (e->server == w->id)
			n += take_packets(w, e);
	}
	return n;
}

// --- for the management side ---------------------------------------------------------------------

_Static_assert(DP_EXCEPTION_CLASSES == EXC_CLASSES, "dp.h has all classes");

const char *const dp_exception_classes[DP_EXCEPTION_CLASSES] = {[EXC_TCP] = "tcp",
	[EXC_UDP] = "udp",
	[EXC_ICMP] = "icmp",
	[EXC_ARP] = "arp",
	[EXC_ND] = "nd"};

static uint64_t read_counter(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

bool dp_exception(const struct dp *d, unsigned int port, struct dp_exception *out)
{
	const struct exception *e = port < d->nb_ports ? d->exception[port] : NULL;
	struct port_counters k;

	if (e == NULL)
		return false;
	e->kernel->ops->counters(e->kernel, &k);
	*out = (struct dp_exception){.interface = e->conf->name,
		.netns = e->conf->netns != NULL ? e->conf->netns : "",
		.port = e->kernel,
		.to_kernel_lost = read_counter(&e->to_lost),
		.from_kernel_missed = k.rx_missed,
		.from_kernel_cut = read_counter(&e->cut)};
	for (unsigned int w = 0; w < e->nb_lanes; w++) {
		const struct exception_lane *l = &e->lane[w];

		for (unsigned int i = 0; i < DP_EXCEPTION_CLASSES; i++) {
			out->to_kernel[i] += read_counter(&l->to_class[i]);
			out->from_kernel[i] += read_counter(&l->from_class[i]);
		}
		out->to_kernel_denied += read_counter(&l->to_denied);
		out->to_kernel_rate += read_counter(&l->to_full);
		out->to_kernel_super_frames += read_counter(&l->to_supers);
		out->to_kernel_super_segments += read_counter(&l->to_super_frames);
		out->from_kernel_foreign += read_counter(&l->from_foreign);
		out->from_kernel_answered += read_counter(&l->answered);
		out->from_kernel_super_frames += read_counter(&l->from_supers);
		out->from_kernel_super_segments += read_counter(&l->from_super_frames);
	}
	return true;
}
