// SPDX-License-Identifier: BSD-3-Clause
// Reassembles received fragments. The bytes of each are copied into the buffer of its datagram at
// once, so that a flood of fragments holds no packet buffers. A complete datagram is handled like
// any other, in place of its last fragment.
//
// Counters: a kept fragment counts as held. Later it counts as consumed, with its datagram made, or
// as dropped for the reason that ended its datagram.
#include <errno.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "ip/fragments.h"
#include "path/accept.h"
#include "path/backlog.h"
#include "bytes.h"
#include "conf.h"
#include "csprng.h"
#include "datapath.h"
#include "drop_of.h"
#include "fragment.h"
#include "invariant.h"
#include "rates/limiter.h"
#include "link/local_addrs.h"
#include "net.h"
#include "reassembly.h"
#include "path/rewrite.h"
#include "turn_relay_map.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

#define PLACES 1024 // entries for sources and their rates
#define BURST_PART 10 // a source may send a tenth of its rate per second in one burst
#define NETWORK 100 // an IPv6 /48 may send as many fragments as this number of sources
#define FLOWS_LEAST 8 // minimum per worker
// Offset of the UDP header of a datagram in its buffer, so that its payload is where the answer to
// a request would be.
#define UDP_AT (REWRITE_ANSWER_AT - NET_UDP_LEN)
// room after it, as after any packet: for the padding of a Data indication, or the tag of a record
#define SLACK 128

struct fragments {
	struct reassembly *flows;
	struct limiter sources;
	struct limit each;
	struct rte_mbuf **buffer; // by flow, from the pool of long buffers; never NULL
};

static uint32_t flows_each(const struct conf *c)
{
	const uint32_t flows = c->fragments.flows / RTE_MAX(c->workers, 1u);

	return RTE_MAX(flows, (uint32_t)FLOWS_LEAST);
}

static uint16_t room_of(const struct conf *c)
{
	const uint32_t room = UDP_AT + c->fragments.longest + SLACK;

	return (uint16_t)RTE_MAX(
		RTE_ALIGN_CEIL(room, RTE_CACHE_LINE_SIZE), (uint32_t)dp_data_room(c));
}

// Each flow has its own buffer, and so have waiting packets of the backlogs. The others are for
// datagrams on a ring.
static uint32_t buffers_of(const struct conf *c)
{
	return (flows_each(c) + 2 * BACKLOG_LONG) * RTE_MAX(c->workers, 1u) + c->fragments.buffers;
}

static uint8_t *flow_buffer(void *ctx, uint32_t flow)
{
	const struct worker *w = ctx;

	return (uint8_t *)w->fragments->buffer[flow]->buf_addr + UDP_AT;
}

static struct reassembly_config config_of(const struct conf *c)
{
	return (struct reassembly_config){.flows = flows_each(c),
		.per_source = c->fragments.per_source,
		.longest = c->fragments.longest,
		.timeout_ms = c->fragments.timeout_ms,
		.room = flow_buffer};
}

int fragments_pool(const struct conf *c, int socket, struct rte_mempool **pool)
{
	*pool = NULL;
	if (c->fragments.flows == 0)
		return 0;
	*pool = rte_pktmbuf_pool_create(
		"datagrams", buffers_of(c), 0, DP_PRIV_SIZE, room_of(c), socket);
	if (*pool == NULL)
		*pool = rte_pktmbuf_pool_create(
			"datagrams", buffers_of(c), 0, DP_PRIV_SIZE, room_of(c), SOCKET_ID_ANY);
	return *pool != NULL ? 0 : -ENOMEM;
}

// A worker has one block of memory: the structure, rates, buffers, flows.
static size_t worker_size(const struct reassembly_config *rc)
{
	return sizeof(struct fragments) + limiter_size(PLACES, 0) +
		rc->flows * sizeof(struct rte_mbuf *) + reassembly_size(rc);
}

int fragments_create(struct worker *w, int socket)
{
	const struct conf_fragments *c = &w->dp->conf->fragments;
	struct reassembly_config rc = config_of(w->dp->conf);
	struct fragments *f;
	uint8_t *mem;

	if (w->dp->datagrams == NULL)
		return 0;
	f = rte_zmalloc_socket("fragments", worker_size(&rc), RTE_CACHE_LINE_SIZE, socket);
	if (f == NULL)
		return -ENOMEM;
	w->fragments = f;
	csprng_bytes(&w->rng, &f->sources.key, sizeof(f->sources.key));
	csprng_bytes(&w->rng, &rc.key, sizeof(rc.key));
	mem = (uint8_t *)(f + 1);
	limiter_init(&f->sources, mem, PLACES, 0);
	f->sources.times = NETWORK;
	f->each = (struct limit){c->rate, c->rate / BURST_PART};
	mem += limiter_size(PLACES, 0);
	f->buffer = (struct rte_mbuf **)mem;
	mem += rc.flows * sizeof(struct rte_mbuf *);
	rc.ctx = w;
	f->flows = reassembly_create(mem, &rc);
	return rte_pktmbuf_alloc_bulk(w->dp->datagrams, f->buffer, rc.flows) == 0 ? 0 : -ENOMEM;
}

void fragments_free(struct worker *w)
{
	rte_free(w->fragments);
}

size_t fragments_bytes(const struct conf *c)
{
	const struct reassembly_config rc = config_of(c);
	const uint32_t element = (uint32_t)(sizeof(struct rte_mbuf) + DP_PRIV_SIZE) + room_of(c);

	if (c->fragments.flows == 0)
		return 0;
	return buffers_of(c) * (rte_mempool_calc_obj_size(element, 0, NULL) + sizeof(void *)) +
		c->workers * worker_size(&rc);
}

// --- input --------------------------------------------------------------------------------------

// Counts kept fragments that were lost.
static void count_lost(struct worker *w)
{
	struct reassembly *r = w->fragments->flows;

	if (likely(!reassembly_any_lost(r)))
		return;
	for (unsigned int drop = NET_DROP_FRAGMENT; drop <= NET_DROP_FRAGMENT_FULL; drop++)
		w->live.drop[drop_of_net(drop)] += reassembly_lost(r, drop);
}

// Checks a fragment. It must come in on the port that its source is behind, or hosts of one network
// could add to, and spoil, datagrams of another. A datagram that is not for us needs no memory: the
// first fragment has the ports. Returns DP_OK or a drop reason.
static unsigned int judge_fragment(
	const struct worker *w, const struct net_fragment *p, uint8_t port, uint32_t ip_len)
{
	const struct local_addrs *local = w->local;
	const struct local_addr *laddr;
	unsigned int home, bad;
	uint32_t slot;
	uint16_t dport;

	if (ip_len > w->dp->port[port].port->mtu)
		return DP_DROP_RX_OVERSIZE;
	bad = accept_ends(w, &p->src, &p->dst, port, &laddr);
	if (bad != DP_OK)
		return bad;
	if (p->off != 0)
		return DP_OK;
	dport = load_be16(p->data + 2);
	if (local_addrs_listener(local, laddr, dport) >= 0 ||
		(laddr->relay >= 0 &&
			turn_relay_map_home(
				w->dp->map, (unsigned int)laddr->relay, dport, &home, &slot)))
		return DP_OK;
	return DP_DROP_NO_LISTENER;
}

// Writes frame headers around a reassembled datagram, which has its own ports and checksum. It is
// in the buffer of its flow.
static unsigned int wrap_datagram(struct worker *w, uint8_t port, const uint8_t *src_mac,
	const struct reassembly_whole *whole, struct rte_mbuf *m)
{
	uint8_t *udp = (uint8_t *)m->buf_addr + UDP_AT, *payload = udp + NET_UDP_LEN, *frame;
	const struct endpoint src = {whole->src, load_be16(udp)};
	const struct endpoint dst = {whole->dst, load_be16(udp + 2)};
	const struct net_ip ip = {.tos = whole->tos, .ttl = whole->ttl};
	const uint16_t len = (uint16_t)(whole->len - NET_UDP_LEN);
	struct net_l2 l2 = {.vlan = w->dp->port[port].l2.vlan};

	if (load_be16(udp + NET_UDP_LENGTH_AT) != whole->len)
		return drop_of_net(NET_DROP_UDP_LENGTH);
	ASSERT(whole->len >= NET_UDP_LEN && UDP_AT + (uint32_t)whole->len + SLACK <= m->buf_len);
	memcpy(l2.dst, w->dp->port[port].l2.src, sizeof(l2.dst));
	memcpy(l2.src, src_mac, sizeof(l2.src));
	frame = net_write_udp(
		payload, len, &l2, &src, &dst, &ip, load_be16(udp + NET_UDP_CHECKSUM_AT));
	rewrite_set_frame(m, frame, (uint32_t)(payload - frame) + len);
	m->port = port;
	return DP_OK;
}

// Moves a datagram that fits into an ordinary buffer, so that few long ones are needed. Otherwise
// it keeps the flow's buffer, if there is another one for the flow. NULL if there is no buffer.
static struct rte_mbuf *shorten_buffer(struct worker *w, uint32_t flow)
{
	struct rte_mbuf **buffer = &w->fragments->buffer[flow], *m = *buffer, *n;

	if (m->data_off + m->data_len + (uint32_t)SLACK > dp_data_room(w->dp->conf)) {
		n = rte_pktmbuf_alloc(w->dp->datagrams);
		if (n == NULL)
			return NULL;
		*buffer = n;
		return m;
	}
	n = rte_pktmbuf_alloc(w->dp->pool);
	if (n == NULL)
		return NULL;
	ASSERT(m->data_off + m->data_len + (uint32_t)SLACK <= n->buf_len);
	n->data_off = m->data_off;
	n->data_len = m->data_len;
	n->pkt_len = m->pkt_len;
	memcpy(rte_pktmbuf_mtod(n, void *), rte_pktmbuf_mtod(m, void *), m->data_len);
	return n;
}

static struct rte_mbuf *finish_datagram(struct worker *w, uint8_t port, const uint8_t *src_mac,
	const struct reassembly_whole *whole)
{
	unsigned int reason =
		wrap_datagram(w, port, src_mac, whole, w->fragments->buffer[whole->flow]);
	struct rte_mbuf *m = NULL;

	w->live.consumed += whole->fragments;
	w->live.made++;
	w->live.reassembled++;
	if (reason == DP_OK) {
		m = shorten_buffer(w, whole->flow);
		reason = m != NULL ? DP_OK : DP_DROP_NO_MBUF;
	}
	if (reason != DP_OK)
		w->live.drop[reason]++;
	return m;
}

struct rte_mbuf *fragments_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	struct reassembly_whole whole = {.flow = REASSEMBLY_NONE};
	struct rte_mbuf *made = NULL;
	struct net_fragment p;
	unsigned int reason;
	enum net_drop bad;

	bad = w->fragments != NULL ? net_fragment_read(data, f, &p) : NET_DROP_FRAGMENT;
	if (bad != NET_OK) {
		worker_drop(w, m, drop_of_net(bad));
		return NULL;
	}
	reason = judge_fragment(w, &p, port, (uint32_t)f->l4_off + f->payload_len - f->l3_off);
	if (reason == DP_OK &&
		!limiter_take(&w->fragments->sources, &w->fragments->each, &p.src, w->now_ms))
		reason = DP_DROP_FRAGMENT_RATE;
	if (reason != DP_OK) {
		worker_drop(w, m, reason);
		return NULL;
	}
	bad = reassembly_add(w->fragments->flows, &p, w->now_ms, &whole);
	count_lost(w);
	if (bad != NET_OK) {
		worker_drop(w, m, drop_of_net(bad));
		return NULL;
	}
	w->live.fragments_in++;
	if (whole.flow != REASSEMBLY_NONE)
		made = finish_datagram(w, port, data + 6, &whole);
	rte_pktmbuf_free(m);
	return made;
}

void fragments_tick(struct worker *w)
{
	reassembly_tick(w->fragments->flows, w->now_ms);
	count_lost(w);
}

uint64_t fragments_next_ms(const struct worker *w)
{
	return w->fragments != NULL ? reassembly_next_ms(w->fragments->flows) : UINT64_MAX;
}

uint32_t fragments_held(const struct worker *w)
{
	return w->fragments != NULL ? reassembly_held(w->fragments->flows) : 0;
}

void fragments_drain(struct worker *w)
{
	struct fragments *f = w->fragments;
	const uint32_t flows = flows_each(w->dp->conf);

	if (f == NULL)
		return;
	w->live.drop[DP_DROP_STOPPING] += reassembly_clear(f->flows);
	for (uint32_t i = 0; i < flows; i++)
		rte_pktmbuf_free(f->buffer[i]);
	memset(f->buffer, 0, flows * sizeof(f->buffer[0]));
}
