// SPDX-License-Identifier: BSD-3-Clause
// Handles ARP, neighbour discovery, echo and announcements for our addresses, which the kernel no
// longer does. ICMP errors and MLD go on to icmp_errors.c and mld.c. On ports where the kernel
// still does all this (struct port, kernel_is_host) we only ask for neighbours and learn the
// answers.
#include "link/host.h"
#include "addr.h"
#include "ask/hot.h"
#include "datapath.h"
#include "drop_of.h"
#include "exception/exception.h"
#include "icmp_error.h"
#include "ip/icmp_errors.h"
#include "link/conflicts.h"
#include "link/local_addrs.h"
#include "link/mld.h"
#include "link/nexthop.h"
#include "link/tx.h"
#include "neigh/neigh_asked.h"
#include "net.h"
#include "path/worker.h"
#include "workers/messages.h"

#define ECHO_BURST 50
#define ANNOUNCEMENTS 3
#define ANNOUNCE_MS 1000
#define ANNOUNCE_BUDGET 32 // addresses announced per millisecond

static void consume_frame(struct worker *w, struct rte_mbuf *m)
{
	w->live.consumed++;
	rte_pktmbuf_free(m);
}

// True for one of our addresses on this port.
static bool ours_on(const struct worker *w, uint8_t port, const struct addr *a)
{
	const struct local_addr *l = local_addrs_find(w->local, a);

	return (l != NULL && l->kind == LOCAL_OWN && l->port == port) ||
		addr_eq(a, &w->dp->port[port].link_local);
}

static bool is_our_addr(const struct worker *w, uint8_t port, const struct addr *a)
{
	const struct local_addr *l = local_addrs_find(w->local, a);

	return (l != NULL && l->kind == LOCAL_OWN) || addr_eq(a, &w->dp->port[port].link_local);
}

// --- frames that we originate -------------------------------------------------------------------

// Makes a buffer for a frame that we originate. Without a free buffer the frame is counted as made
// and lost.
static struct rte_mbuf *frame_make(struct worker *w)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->dp->pool);

	w->live.made++;
	if (m == NULL)
		w->live.drop[DP_DROP_NO_MBUF]++;
	return m;
}

static void frame_send(struct worker *w, uint8_t port, struct rte_mbuf *m, size_t len)
{
	m->data_len = (uint16_t)len;
	m->pkt_len = (uint32_t)len;
	tx_put(w, port, m);
}

// The address to ask from: one on the subnet of the target, or the first one of the family.
static struct addr pick_sender(const struct dp_port *p, const struct addr *target)
{
	const bool is_v4 = addr_is_v4(target);
	struct addr first = is_v4 ? addr_from_v4("\0\0\0\0") : p->link_local;
	bool found = false;

	for (uint32_t i = 0; i < p->conf->nb_addresses; i++) {
		const struct conf_address *a = &p->conf->addresses[i];
		struct prefix net = {.addr = *target, .len = a->prefix_len};

		if (addr_is_v4(&a->addr) != is_v4)
			continue;
		if (addr_prefix_contains(&net, &a->addr))
			return a->addr;
		if (!found)
			first = a->addr;
		found = true;
	}
	return first;
}

void host_ask(struct worker *w, const struct neigh_ask *ask)
{
	const struct dp_port *p = &w->dp->port[ask->port];
	const struct addr sender = pick_sender(p, &ask->target);
	struct rte_mbuf *m = frame_make(w);

	if (m == NULL)
		return;
	neigh_asked_note(w->dp->asked, ask, w->now_ms);
	frame_send(w, ask->port, m,
		net_write_ask(rte_pktmbuf_mtod(m, uint8_t *), &p->l2, &sender, &ask->target,
			ask->unicast ? ask->mac : NULL));
}

// --- ARP and neighbour discovery ----------------------------------------------------------------

// Sends the answer in the buffer of the question.
static void send_answer(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_neigh_msg *msg)
{
	static const uint8_t no_mac[6];
	struct net_l2 l2 = w->dp->port[port].l2;
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);

	// a solicitation may lack its sender's MAC: then that of the frame is used
	memcpy(l2.dst, memcmp(msg->mac, no_mac, 6) != 0 ? msg->mac : data + 6, 6);
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	if (unlikely((uint32_t)m->data_off + NET_ND_FRAME_MAX > m->buf_len)) {
		worker_drop(w, m, DP_DROP_HEADROOM);
		return;
	}
	frame_send(w, port, m, net_write_answer(data, &l2, &msg->target, &msg->sender));
}

static void learn_neighbour(struct worker *w, uint8_t port, struct rte_mbuf *m,
	const struct net_neigh_msg *msg, unsigned int reason)
{
	const bool from_ask = msg->type == NET_NEIGH_ASK;
	// Another worker may be waiting for it; each worker judges it by its own table.
	const bool wanted = neigh_asked_for(w->dp->asked, msg, port, from_ask, w->now_ms);

	nexthop_learn(w, port, msg, from_ask);
	if (wanted)
		messages_neighbour(w, port, msg, from_ask);
	if (from_ask && ours_on(w, port, &msg->target)) {
		if (w->dp->port[port].port->kernel_is_host)
			consume_frame(w, m); // the kernel answers
		else
			send_answer(w, port, m, msg);
	} else if (!from_ask && wanted)
		consume_frame(w, m);
	else
		worker_drop(w, m, reason);
}

static void neighbour_input(struct worker *w, uint8_t port, struct rte_mbuf *m,
	const struct net_frame *f, const struct net_neigh_msg *msg)
{
	const struct addr *claimed = msg->type == NET_NEIGH_ASK ? &msg->sender : &msg->target;
	const unsigned int reason = f->kind == NET_ARP ? DP_DROP_ARP : DP_DROP_ICMP;

	if (msg->type == NET_NEIGH_NONE)
		worker_drop(w, m, reason);
	else if (memcmp(msg->mac, w->dp->port[port].l2.src, 6) == 0) // the sender claims our MAC
		worker_drop(w, m, drop_of_net(NET_DROP_MARTIAN_SOURCE));
	else if (is_our_addr(w, port, claimed)) {
		conflicts_note(w, port, claimed, msg->mac);
		worker_drop(w, m, drop_of_net(NET_DROP_MARTIAN_SOURCE));
	} else {
		if (msg->type == NET_NEIGH_ANSWER || ours_on(w, port, &msg->target))
			exception_neighbour(w, port, m, f);
		learn_neighbour(w, port, m, msg, reason);
	}
}

// --- echo ---------------------------------------------------------------------------------------

static void answer_echo(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	const struct limit echoes = {w->hot->echoes, ECHO_BURST};
	const uint16_t len = f->payload_off + f->payload_len;
	const uint8_t *icmp = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off);

	if (w->dp->port[port].port->kernel_is_host) { // the kernel has received the same packet
		worker_drop(w, m, DP_DROP_ICMP);
		return;
	}
	// checked before a token is spent
	if (icmp[0] != (f->kind == NET_ICMP ? 8 : 128)) {
		worker_drop(w, m, net_icmp_error_is(f, icmp) ? DP_DROP_ICMP_QUOTE : DP_DROP_ICMP);
		return;
	}
	if (echoes.rate == 0 || !bucket_take(&w->echo, &echoes, w->now_ms * BUCKET_MS)) {
		worker_drop(w, m, DP_DROP_ICMP_RATE);
		return;
	}
	if (!net_echo_reply(rte_pktmbuf_mtod(m, uint8_t *), f, w->dp->port[port].l2.src)) {
		worker_drop(w, m, DP_DROP_ICMP);
		return;
	}
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	frame_send(w, port, m, len); // without the padding of the request
}

static void icmp_input(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	if (mld_input(w, port, m, f) || (f->kind == NET_ICMP6 && exception_learning(w, port, m)))
		return;
	if (addr_class(&f->dst) == ADDR_MULTICAST)
		worker_drop(w, m, DP_DROP_ICMP);
	else if (icmp_errors_input(w, port, m, f)) // on any port: routes may be asymmetric
		return;
	else if (!ours_on(w, port, &f->dst))
		worker_drop(w, m, drop_of_net(NET_DROP_NOT_FOR_US));
	else if (local_addrs_ours(w->local, &f->src))
		worker_drop(w, m, drop_of_net(NET_DROP_MARTIAN_SOURCE));
	else if (!exception_icmp(w, port, m, f))
		answer_echo(w, port, m, f);
}

void host_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f)
{
	struct net_neigh_msg msg;

	net_neigh_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, f, &msg);
	if (f->kind == NET_ARP || msg.type != NET_NEIGH_NONE)
		neighbour_input(w, port, m, f, &msg);
	else
		icmp_input(w, port, m, f);
}

// --- announcements ------------------------------------------------------------------------------

static void announce_address(struct worker *w, uint8_t port, const struct addr *a)
{
	struct rte_mbuf *m = frame_make(w);

	if (m == NULL)
		return;
	frame_send(w, port, m,
		net_write_answer(rte_pktmbuf_mtod(m, uint8_t *), &w->dp->port[port].l2, a, NULL));
}

static void announce_port(struct worker *w, uint8_t port)
{
	struct announcement *n = &w->announce[port];
	const struct dp_port *p = &w->dp->port[port];
	const uint32_t wanted = __atomic_load_n(&p->announce, __ATOMIC_ACQUIRE);

	if (wanted != n->seen)
		*n = (struct announcement){
			.seen = wanted, .left = ANNOUNCEMENTS, .at_ms = w->now_ms};
	if (n->left == 0 || w->now_ms < n->at_ms)
		return;
	for (unsigned int i = 0; i < ANNOUNCE_BUDGET && n->next < p->conf->nb_addresses; i++)
		announce_address(w, port, &p->conf->addresses[n->next++].addr);
	if (n->next == p->conf->nb_addresses) {
		n->next = 0;
		n->left--;
		n->at_ms = w->now_ms + ANNOUNCE_MS;
	}
}

void host_announce_tick(struct worker *w)
{
	for (unsigned int i = 0; i < w->dp->nb_ports; i++)
		if (!w->dp->port[i].port->kernel_is_host)
			announce_port(w, (uint8_t)i);
}

uint64_t host_announce_next_ms(const struct worker *w)
{
	uint64_t next = UINT64_MAX;

	for (unsigned int i = 0; i < w->dp->nb_ports; i++) {
		const struct announcement *n = &w->announce[i];

		if (w->dp->port[i].port->kernel_is_host)
			continue;
		if (__atomic_load_n(&w->dp->port[i].announce, __ATOMIC_ACQUIRE) != n->seen)
			return w->now_ms;
		if (n->left > 0)
			next = RTE_MIN(next, n->at_ms);
	}
	return next;
}
