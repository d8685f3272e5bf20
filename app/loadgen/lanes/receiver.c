// SPDX-License-Identifier: BSD-3-Clause
// Input: for hosts, for clients, for peers. The lane that reads a datagram verifies its stamp. One
// receiver counts the datagrams of a flow, whichever queue they arrived in.
#include "lanes/receiver.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_ring_elem.h>

#include "client/clients.h"
#include "lanes/gso.h"
#include "lanes/lane.h"
#include "lanes/link_host.h"
#include "lanes/probe.h"
#include "lanes/reflect.h"
#include "lanes/sender.h"
#include "measure/stamp.h"

#define CONTROL_RING 4096
#define ARRIVAL_RING 4096

// --- counting ------------------------------------------------------------------------------------

// Begins a trial: nothing has arrived yet.
static void begin_trial(struct lane *l, uint32_t trial)
{
	const struct config *c = l->engine->config;
	struct receiver *r = l->receiver;
	const size_t n = (c->clients + c->receivers - 1) / c->receivers;

	r->trial = trial;
	for (unsigned int i = 0; i < 2; i++)
		if (r->track[i] != NULL)
			memset(r->track[i], 0, n * sizeof(*r->track[i]));
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		hist_reset(r->latency[dir]);
}

static void trial_see(struct lane *l)
{
	const uint32_t trial = __atomic_load_n(&l->engine->trial, __ATOMIC_ACQUIRE);

	if (unlikely(trial != l->receiver->trial))
		begin_trial(l, trial);
}

// Counts an arrival of a flow that this receiver keeps.
static void count_arrival(struct lane *l, const struct arrival *a)
{
	const struct config *c = l->engine->config;
	struct receiver *r = l->receiver;
	struct track *t = &r->track[a->direction != DIRECTION_UP][a->flow / c->receivers];
	uint32_t seq = a->seq;

	trial_see(l);
	if (a->trial != r->trial)
		return;
	if (!config_media(c)) // only 24 bits: take the number nearest to the expected one
		seq = t->next + (uint32_t)((int32_t)((seq - t->next) << 8) >> 8);
	switch (track_add(t, seq)) {
	case TRACK_IN_ORDER:
		l->stats.unique[a->direction]++;
		break;
	case TRACK_REORDERED:
	case TRACK_LATE:
		l->stats.unique[a->direction]++;
		l->stats.reordered[a->direction]++;
		break;
	case TRACK_DUPLICATE:
		l->stats.duplicated[a->direction]++;
		break;
	}
}

static bool keep_passed(struct lane *l)
{
	struct arrival in[LANE_BURST];
	unsigned int n, total = 0;

	for (unsigned int i = 0; i < l->engine->config->receivers; i++) {
		if (l->receiver->arrivals[i] == NULL)
			continue;
		n = rte_ring_sc_dequeue_burst_elem(
			l->receiver->arrivals[i], in, sizeof(in[0]), LANE_BURST, NULL);
		for (unsigned int k = 0; k < n; k++)
			count_arrival(l, &in[k]);
		total += n;
	}
	return total > 0;
}

static void keep_or_pass(struct lane *l, const struct arrival *a)
{
	const struct engine *e = l->engine;
	const unsigned int owner = a->flow % e->config->receivers;
	struct rte_ring *ring;

	if (owner == l->receiver->number) {
		count_arrival(l, a);
		return;
	}
	ring = e->receiver[owner]->receiver->arrivals[l->receiver->number];
	// the owner may itself be waiting for room in our ring, so we read our rings meanwhile
	while (rte_ring_sp_enqueue_elem(ring, (void *)(uintptr_t)a, sizeof(*a)) != 0) {
		if (__atomic_load_n(&e->phase, __ATOMIC_RELAXED) == PHASE_END)
			return;
		keep_passed(l);
	}
}

// Counts a datagram with a valid stamp of this trial.
static void count_datagram(struct lane *l, const struct stamp *s, uint8_t dir, uint16_t len)
{
	struct receiver *r = l->receiver;
	const struct arrival a = {
		.flow = s->flow, .seq = s->seq, .trial = r->trial, .direction = dir};

	l->stats.received[dir]++;
	l->stats.received_bytes[dir] += len;
	hist_add(r->latency[dir], l->now > s->ticks ? l->now - s->ticks : 0);
	keep_or_pass(l, &a);
}

// Processes a measured payload that arrived on one side. False if this process did not stamp it.
static bool media_input(struct lane *l, unsigned int side, const uint8_t *data, uint16_t len)
{
	const struct engine *e = l->engine;
	const bool at_peer = side == SIDE_PEER;
	uint8_t dir = at_peer ? DIRECTION_UP : DIRECTION_DOWN;
	struct stamp s;

	if (!at_peer && e->config->direction[DIRECTION_ECHO])
		dir = DIRECTION_ECHO;
	if (e->config->role == ROLE_PEER) { // another process sent it, and measures it
		l->stats.received[dir]++;
		l->stats.received_bytes[dir] += len;
		return true;
	}
	if (stamp_read(data, len, &s) != STAMP_OK) {
		l->stats.corrupted[dir]++;
		return false;
	}
	trial_see(l);
	if (s.tag != e->tag || s.flow >= e->config->clients ||
		s.epoch != (uint8_t)l->receiver->trial ||
		(at_peer ? s.dir == DIRECTION_DOWN : s.dir != dir)) {
		l->stats.stray++;
		return false;
	}
	count_datagram(l, &s, dir, len);
	return true;
}

// --- for a client --------------------------------------------------------------------------------

static void control_pass(struct lane *l, uint32_t client, struct rte_mbuf *m)
{
	const struct engine *e = l->engine;

	m->hash.usr = client;
	if (e->sender[client % e->config->senders]->sender->clients == NULL ||
		rte_ring_sp_enqueue(l->receiver->control[client % e->config->senders], m) != 0) {
		l->stats.control_lost++;
		rte_pktmbuf_free(m);
	}
}

static const struct client *client_of(const struct engine *e, uint32_t i)
{
	const struct sender *s = e->sender[i % e->config->senders]->sender;

	return clients_at(s->clients, i / s->step);
}

// Processes ChannelData for client i (RFC 8656 12.4: more bytes than its length says may follow).
static void channel_input(struct lane *l, uint32_t i, const uint8_t *data, uint16_t len)
{
	const struct engine *e = l->engine;
	const uint16_t said = len >= CHANNEL_HEADER_LEN ? load_be16(data + 2) : UINT16_MAX;

	if (e->mode != MODE_CHANNEL || said > len - CHANNEL_HEADER_LEN ||
		load_be16(data) != client_of(e, i)->channel)
		l->stats.stray++;
	else
		media_input(l, SIDE_CLIENT, data + CHANNEL_HEADER_LEN, said);
}

// Processes an answer to a probe, known by its transaction id.
static void probe_input(struct lane *l, const uint8_t *data, uint16_t len)
{
	struct stun_msg msg;
	struct stamp s;

	trial_see(l);
	if (stun_parse(data, len, &msg) != 0 || !probe_read(l, stun_tid(&msg), &s) ||
		s.epoch != (uint8_t)l->receiver->trial ||
		(msg.cls != STUN_SUCCESS && msg.cls != STUN_ERROR)) {
		l->stats.stray++;
		return;
	}
	l->stats.answered++;
	l->stats.errors += msg.cls == STUN_ERROR;
	count_datagram(l, &s, DIRECTION_ECHO, len);
}

// Processes a Data indication (RFC 8656 11.4); only those from the client's own peer count.
static void data_input(struct lane *l, uint32_t i, const struct stun_msg *msg)
{
	struct endpoint peer;
	int family;

	if (!stun_has(msg, STUN_DATA_ATTR) || !stun_has(msg, STUN_XOR_PEER_ADDRESS) ||
		!stun_decode_xor_addr(msg, msg->off[STUN_XOR_PEER_ADDRESS],
			msg->alen[STUN_XOR_PEER_ADDRESS], &peer, &family) ||
		!endpoint_eq(&peer, &client_of(l->engine, i)->peer))
		l->stats.stray++;
	else
		media_input(l, SIDE_CLIENT, msg->data + msg->off[STUN_DATA_ATTR],
			msg->alen[STUN_DATA_ATTR]);
}

// Processes a datagram from the server. Consumes m.
static void server_input(struct lane *l, uint32_t i, struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const enum mode mode = l->engine->mode;
	struct stun_msg msg;

	if (mode == MODE_BINDING || mode == MODE_UNAUTH || mode == MODE_INVALID ||
		mode == MODE_HANDSHAKE) {
		probe_input(l, data, m->data_len);
	} else if (m->data_len > 0 && data[0] >= 0x40) {
		channel_input(l, i, data, m->data_len);
	} else if (m->data_len >= 2 && load_be16(data) != 0x0017) {
		control_pass(l, i, m);
		return;
	} else if (stun_parse(data, m->data_len, &msg) == 0) {
		data_input(l, i, &msg);
	} else {
		l->stats.stray++;
	}
	rte_pktmbuf_free(m);
}

void receiver_message(struct lane *l, uint32_t i, struct rte_mbuf *m)
{
	server_input(l, i, m);
}

static void client_side(struct lane *l, struct rte_mbuf *m, const struct net_frame *f)
{
	const struct config *c = l->engine->config;
	const struct endpoint src = {.addr = f->src, .port = f->sport};
	uint32_t i;

	if (!side_index(&c->client, &f->dst, f->dport, &i) || i >= c->clients) {
		l->stats.stray++; // not to the address and port of a client
		rte_pktmbuf_free(m);
		return;
	}
	rte_pktmbuf_adj(m, f->payload_off);
	m->data_len = f->payload_len;
	m->pkt_len = f->payload_len;
	if (c->mode == MODE_DIRECT)
		media_input(l, SIDE_CLIENT, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
	else if (endpoint_eq(&src, &c->server)) {
		server_input(l, i, m);
		return;
	} else
		l->stats.stray++;
	rte_pktmbuf_free(m);
}

// --- for a peer ----------------------------------------------------------------------------------

static void peer_side(struct lane *l, struct rte_mbuf *m, const struct net_frame *f)
{
	const struct config *c = l->engine->config;
	uint32_t i;

	if (!side_index(&c->peer, &f->dst, f->dport, &i)) {
		l->stats.stray++; // not to the address and port of a peer
		rte_pktmbuf_free(m);
		return;
	}
	media_input(l, SIDE_PEER, rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off),
		f->payload_len);
	if (c->peer_echo)
		reflect_input(l, m, f);
	else
		rte_pktmbuf_free(m);
}

// --- from the port -------------------------------------------------------------------------------

static const struct net_rx *rx_rules(
	const struct engine *e, unsigned int side, const struct rte_mbuf *m)
{
	const bool ip = e->port[side]->ip_checksum_good &&
		(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	const bool l4 = e->port[side]->l4_checksum_good &&
		(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;

	return &e->rx[side][ip | l4 << 1];
}

static void frame_input(struct lane *l, unsigned int side, struct rte_mbuf *m)
{
	const struct engine *e = l->engine;
	struct net_frame f;

	if (m->nb_segs != 1 ||
		net_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len,
			rx_rules(e, side, m), &f) != NET_OK) {
		l->stats.bad_frames++;
		rte_pktmbuf_free(m);
		return;
	}
	if (unlikely(f.kind != NET_UDP)) {
		link_host_input(l, side, m, &f);
		return;
	}
	if (e->port[SIDE_CLIENT] == e->port[SIDE_PEER])
		side = side_has(&e->config->peer, &f.dst) && !side_has(&e->config->client, &f.dst)
			? SIDE_PEER
			: SIDE_CLIENT;
	if (side == SIDE_CLIENT)
		client_side(l, m, &f);
	else
		peer_side(l, m, &f);
}

// Cuts a received super-frame and processes each of its datagrams.
static void super_input(struct lane *l, unsigned int side, struct rte_mbuf *m)
{
	struct rte_mbuf *cut[SUPER_MAX];
	const unsigned int n = gso_cut(l, side, m, cut);

	for (unsigned int i = 0; i < n; i++)
		frame_input(l, side, cut[i]);
}

static bool receive_port(struct lane *l, unsigned int side)
{
	const struct engine *e = l->engine;
	struct rte_mbuf *m[LANE_BURST];
	unsigned int total = 0;
	uint16_t n;

	for (unsigned int q = l->receiver->number; q < e->port[side]->nb_rxq;
		q += e->config->receivers) {
		n = port_rx(e->port[side], (uint16_t)q, m, LANE_BURST);
		if (n == 0)
			continue;
		l->now = rte_rdtsc(); // arrival time of this burst
		for (unsigned int i = 0; i < n; i++)
			rte_prefetch0(rte_pktmbuf_mtod(m[i], const void *));
		for (unsigned int i = 0; i < n; i++)
			if (unlikely((m[i]->ol_flags & RTE_MBUF_F_RX_LRO) != 0))
				super_input(l, side, m[i]);
			else
				frame_input(l, side, m[i]);
		total += n;
	}
	return total > 0;
}

bool receiver_round(struct lane *l)
{
	const struct engine *e = l->engine;
	bool busy = false;

	trial_see(l); // even when nothing arrives: the counters must not belong to the trial before
	for (unsigned int side = 0; side < SIDE_NB; side++)
		if (e->port[side] != NULL &&
			(side == SIDE_CLIENT || e->port[side] != e->port[SIDE_CLIENT]))
			busy |= receive_port(l, side);
	busy |= keep_passed(l);
	reflect_tick(l);
	return busy;
}

// --- created and freed by the main lcore ---------------------------------------------------------

struct receiver *receiver_create(struct lane *l, unsigned int number)
{
	const struct config *c = l->engine->config;
	const size_t n = (c->clients + c->receivers - 1) / c->receivers;
	struct receiver *r = calloc(1, sizeof(*r));
	bool ok = r != NULL;

	if (!ok)
		return NULL;
	r->number = number;
	for (unsigned int i = 0; i < 2; i++) {
		r->track[i] = calloc(n, sizeof(*r->track[i]));
		ok &= r->track[i] != NULL;
	}
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
		r->latency[dir] = malloc(sizeof(*r->latency[dir]));
		ok &= r->latency[dir] != NULL;
	}
	r->reflector = reflector_create(c);
	if (!ok || r->reflector == NULL) {
		receiver_free(r);
		return NULL;
	}
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		hist_reset(r->latency[dir]);
	l->receiver = r;
	return r;
}

int receiver_connect(struct receiver *r, struct engine *e)
{
	char name[RTE_RING_NAMESIZE];

	for (unsigned int i = 0; i < e->config->receivers; i++) {
		if (i == r->number)
			continue;
		snprintf(name, sizeof(name), "arrived-%u-%u", i, r->number);
		r->arrivals[i] = rte_ring_create_elem(name, sizeof(struct arrival), ARRIVAL_RING,
			SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (r->arrivals[i] == NULL)
			return -1;
	}
	for (unsigned int i = 0; e->sender[i] != NULL; i++) {
		snprintf(name, sizeof(name), "control-%u-%u", r->number, i);
		r->control[i] = rte_ring_create(
			name, CONTROL_RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (r->control[i] == NULL)
			return -1;
	}
	return 0;
}

void receiver_free(struct receiver *r)
{
	struct rte_mbuf *m;

	if (r == NULL)
		return;
	for (unsigned int i = 0; i < CONFIG_LANES_MAX; i++) {
		while (r->control[i] != NULL && rte_ring_dequeue(r->control[i], (void **)&m) == 0)
			rte_pktmbuf_free(m);
		rte_ring_free(r->control[i]);
		rte_ring_free(r->arrivals[i]);
	}
	reflector_free(r->reflector);
	for (unsigned int i = 0; i < 2; i++)
		free(r->track[i]);
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		free(r->latency[dir]);
	free(r);
}
