// SPDX-License-Identifier: BSD-3-Clause
// Answers ARP, neighbour discovery and echo requests for all addresses of both sides.
#include "lanes/link_host.h"

// True if an address is one of our addresses on the port that the frame arrived on. Sets *owner to
// its side.
static bool is_local(
	const struct engine *e, unsigned int side, const struct addr *a, unsigned int *owner)
{
	const struct side *s[SIDE_NB] = {&e->config->client, &e->config->peer};

	for (unsigned int i = 0; i < SIDE_NB; i++) {
		if (e->port[i] != e->port[side] || !side_has(s[i], a))
			continue;
		*owner = i;
		return true;
	}
	return false;
}

// Writes the answer into the buffer of the request and sends it.
static void send_answer(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_neigh_msg *msg)
{
	static const uint8_t no_mac[6];
	struct net_l2 l2 = l->engine->l2[side];
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t len;

	memcpy(l2.dst, memcmp(msg->mac, no_mac, 6) != 0 ? msg->mac : data + 6, 6);
	len = (uint16_t)net_write_answer(data, &l2, &msg->target, &msg->sender);
	m->data_len = len;
	m->pkt_len = len;
	m->ol_flags = 0;
	lane_put(l, side, m, FRAME_CONTROL, 0);
}

static void handle_neigh(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_frame *f)
{
	struct net_neigh_msg msg;
	unsigned int owner;

	net_neigh_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, f, &msg);
	if (msg.type == NET_NEIGH_ANSWER)
		hop_learn(l->engine, side, &msg.target, msg.mac);
	if (msg.type == NET_NEIGH_ASK && is_local(l->engine, side, &msg.target, &owner) &&
		rte_pktmbuf_tailroom(m) + m->data_len >= NET_ND_FRAME_MAX) {
		send_answer(l, owner, m, &msg);
		return;
	}
	rte_pktmbuf_free(m);
}

void link_host_input(
	struct lane *l, unsigned int side, struct rte_mbuf *m, const struct net_frame *f)
{
	unsigned int owner;

	if (f->kind != NET_ARP && is_local(l->engine, side, &f->dst, &owner) &&
		net_echo_reply(rte_pktmbuf_mtod(m, uint8_t *), f, l->engine->l2[owner].src)) {
		m->ol_flags = 0;
		lane_put(l, owner, m, FRAME_CONTROL, 0);
		return;
	}
	handle_neigh(l, side, m, f);
}
