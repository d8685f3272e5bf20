// SPDX-License-Identifier: BSD-3-Clause
// The clients of one lane: sets them up, keeps them alive, paces what they send, releases them.
#include "lanes/sender.h"

#include <stdlib.h>

#include "client/clients.h"
#include "clock.h"
#include "lanes/lane.h"
#include "lanes/media.h"
#include "lanes/probe.h"
#include "lanes/receiver.h"
#include "links/links.h"

#define SLACK_S 0.01 // a datagram that is later than this is given up and counted as missed
#define TIMERS_PER_ROUND 64
#define CONTROL_PER_ROUND 64
#define SCAN_PER_ROUND 1024u // clients looked at in a round, to start or release them

// --- requests ------------------------------------------------------------------------------------

// Number of flow k among all clients of all senders.
static uint32_t client_number(const struct sender *s, uint32_t k)
{
	return s->first + k * s->step;
}

// Sends the request of n bytes at the start of m; n = 0 means no request.
static void request_send(struct lane *l, struct rte_mbuf *m, uint32_t k, size_t n)
{
	const struct path *p = &l->sender->flow[k].up;

	if (n == 0) {
		rte_pktmbuf_free(m);
		return;
	}
	m->data_len = (uint16_t)n;
	m->pkt_len = (uint32_t)n;
	if (l->links != NULL) {
		links_send(l, k, m, FRAME_CONTROL, 0);
		return;
	}
	if (!headers_write(l->engine, SIDE_CLIENT, m, p,
		    csum_add(0, rte_pktmbuf_mtod(m, const void *), n))) {
		rte_pktmbuf_free(m); // the transaction's timer will send it again
		return;
	}
	lane_put(l, SIDE_CLIENT, m, FRAME_CONTROL, 0);
}

typedef size_t client_call(struct clients *c, uint32_t i, uint64_t now_ms, uint8_t *out);

// Calls client_start or client_release for one client. False when there is no packet buffer.
static bool client_do(struct lane *l, client_call *call, uint32_t k)
{
	struct rte_mbuf *m = lane_alloc(l);

	if (m != NULL)
		request_send(l, m, k,
			call(l->sender->clients, k, l->now_ms, rte_pktmbuf_mtod(m, uint8_t *)));
	return m != NULL;
}

// Makes the path from the peer to the relayed transport address that the client has received.
static void client_ready(struct lane *l, uint32_t k)
{
	struct flow *f = &l->sender->flow[k];
	const struct client *c = clients_at(l->sender->clients, k);

	f->channel = c->channel;
	if (l->engine->port[SIDE_PEER] != NULL && !endpoint_eq(&f->down.dst, &c->relay))
		headers_path(l->engine, SIDE_PEER, &f->down, &f->peer, &c->relay);
}

// Handles a change of the client's state, which was `before`.
static void handle_state_change(struct lane *l, uint32_t k, uint8_t before)
{
	struct engine *e = l->engine;
	const uint8_t state = clients_at(l->sender->clients, k)->state;
	const bool cycling = l->sender->phase == PHASE_TRAFFIC && e->mode == MODE_ALLOC;
	const bool leaving = l->sender->phase == PHASE_RELEASE;

	if (state == before)
		return;
	if (state == CLIENT_READY && (cycling || leaving)) // walk_clients may be past client k
		client_do(l, client_release, k);
	else if (state == CLIENT_READY)
		client_ready(l, k);
	else if ((state == CLIENT_IDLE || state == CLIENT_FAILED) && cycling &&
		e->rate == PACER_FLOOD)
		client_do(l, client_start, k);
}

// Takes the answers that receivers have passed on.
static bool control_input(struct lane *l)
{
	struct sender *s = l->sender;
	struct rte_mbuf *in[CONTROL_PER_ROUND], *m;
	unsigned int total = 0;

	for (unsigned int r = 0; l->engine->receiver[r] != NULL; r++) {
		struct rte_ring *ring = l->engine->receiver[r]->receiver->control[s->number];
		const unsigned int n =
			rte_ring_sc_dequeue_burst(ring, (void **)in, CONTROL_PER_ROUND, NULL);

		for (unsigned int i = 0; i < n; i++) {
			const uint32_t k = (in[i]->hash.usr - s->first) / s->step;
			const uint8_t before = clients_at(s->clients, k)->state;

			m = lane_alloc(l);
			if (m != NULL)
				request_send(l, m, k,
					client_input(s->clients, k,
						rte_pktmbuf_mtod(in[i], const uint8_t *),
						in[i]->data_len, l->now_ms,
						rte_pktmbuf_mtod(m, uint8_t *)));
			handle_state_change(l, k, before);
		}
		rte_pktmbuf_free_bulk(in, n);
		total += n;
	}
	return total > 0;
}

static bool run_timers(struct lane *l)
{
	struct sender *s = l->sender;
	struct rte_mbuf *m;
	uint32_t k;
	size_t n;

	if (s->ticked_ms == l->now_ms)
		return false;
	for (unsigned int i = 0; i < TIMERS_PER_ROUND; i++) {
		m = lane_alloc(l);
		if (m == NULL)
			return true;
		n = clients_tick(s->clients, l->now_ms, &k, rte_pktmbuf_mtod(m, uint8_t *));
		request_send(l, m, n > 0 ? k : 0, n);
		if (n == 0) {
			s->ticked_ms = l->now_ms;
			return i > 0;
		}
	}
	return true; // more may be due: continue in the next round
}

// --- phases --------------------------------------------------------------------------------------

// Number of clients that may start a request now: the window minus those with a request under way.
static uint32_t free_window(const struct lane *l)
{
	const struct client_stats *st = clients_stats(l->sender->clients);
	const uint64_t busy = st->state[CLIENT_ALLOCATING] + st->state[CLIENT_BINDING] +
		st->state[CLIENT_RELEASING];
	const uint64_t window = RTE_MAX(1u, l->engine->config->window / l->sender->step);

	return (uint32_t)(busy < window ? RTE_MIN(window - busy, (uint64_t)LANE_BURST) : 0);
}

// Goes once through all clients and starts them, or releases those that are ready.
static bool walk_clients(struct lane *l, client_call *call)
{
	struct sender *s = l->sender;
	uint32_t n;

	if (s->clients == NULL || s->cursor == s->nb_flows)
		return false;
	n = pacer_due(&s->pacer, l->now, free_window(l));
	for (uint32_t seen = 0; n > 0 && s->cursor < s->nb_flows && seen < SCAN_PER_ROUND; seen++) {
		const uint8_t state = clients_at(s->clients, s->cursor)->state;

		if (call == client_release ? state == CLIENT_READY
					   : state == CLIENT_IDLE || state == CLIENT_FAILED) {
			if (!client_do(l, call, s->cursor))
				break; // no buffer: this client is tried again in the next round
			n--;
		}
		s->cursor++;
	}
	return true;
}

// MODE_ALLOC: starts up to n idle clients. Returns how many it could not start, because too few
// clients were idle.
static uint32_t cycle_clients(struct lane *l, uint32_t n)
{
	struct sender *s = l->sender;

	for (uint32_t seen = 0; n > 0 && seen < RTE_MIN(s->nb_flows, SCAN_PER_ROUND); seen++) {
		const uint32_t k = s->cursor++;
		const uint8_t state = clients_at(s->clients, k)->state;

		if (s->cursor == s->nb_flows)
			s->cursor = 0;
		if (state != CLIENT_IDLE && state != CLIENT_FAILED)
			continue;
		client_do(l, client_start, k);
		n--;
	}
	return n;
}

// This sender's share of the rate, by its number of clients. So all clients of all senders send at
// the same rate.
static double share_rate(const struct lane *l, double rate)
{
	return rate * l->sender->nb_flows / l->engine->config->clients;
}

// Rate in bursts per second: the datagrams of a burst are due together, so the pacer counts bursts.
static double burst_rate(const struct lane *l, double rate)
{
	return share_rate(l, rate) / l->engine->config->burst;
}

// Returns how many datagrams to send now: whole bursts, at most max, but one burst is always
// allowed unless max is 0. Counts all datagrams that were due.
static uint32_t take_due(struct lane *l, uint64_t now, uint32_t max)
{
	const uint32_t burst = l->engine->config->burst;
	struct sender *s = l->sender;
	const uint32_t most = max > 0 ? RTE_MAX(1u, max / burst) : 0;
	const uint32_t n = pacer_due(&s->pacer, now, most) * burst;
	const uint64_t missed = (s->pacer.missed - s->missed) * burst;

	s->missed = s->pacer.missed;
	l->stats.missed += missed;
	l->stats.due += n + missed;
	return n;
}

// True if no flow of this sender is ready; then datagrams that are due count as missed.
static bool idle_flows(struct lane *l)
{
	if (l->engine->mode == MODE_ALLOC || l->sender->nb_ready > 0)
		return false;
	if (l->sender->rate != PACER_FLOOD)
		l->stats.missed += take_due(l, l->now, LANE_BURST);
	return true;
}

static bool send_traffic(struct lane *l)
{
	struct sender *s = l->sender;
	double rate;
	uint32_t n;

	if (l->engine->mode == MODE_ALLOC_HOLD || s->nb_flows == 0)
		return false; // clients only refresh
	__atomic_load(&l->engine->rate, &rate, __ATOMIC_RELAXED);
	if (unlikely(rate != s->rate)) {
		s->rate = rate;
		pacer_set_rate(&s->pacer, l->now, l->engine->hz, burst_rate(l, rate), SLACK_S);
	}
	if (unlikely(idle_flows(l)))
		return false;
	n = take_due(l, l->now, LANE_BURST);
	if (n == 0)
		return false;
	switch ((enum mode)l->engine->mode) {
	case MODE_CHANNEL:
	case MODE_SEND:
	case MODE_DIRECT:
		media_send(l, n);
		break;
	case MODE_BINDING:
	case MODE_INVALID:
	case MODE_UNAUTH:
		probe_send(l, n);
		break;
	case MODE_ALLOC:
		n = cycle_clients(l, n);
		if (rate != PACER_FLOOD) // with a flood each client starts again by itself
			l->stats.unstarted += n;
		break;
	case MODE_HANDSHAKE:
		n = probe_connect(l, n);
		if (rate != PACER_FLOOD)
			l->stats.unstarted += n;
		break;
	case MODE_ALLOC_HOLD:
	case MODE_NB:
		return false;
	}
	return true;
}

static void begin_phase(struct lane *l, uint32_t phase)
{
	const struct engine *e = l->engine;
	struct sender *s = l->sender;
	double rate = e->config->setup_rate;

	if (s->phase == PHASE_TRAFFIC && phase != PHASE_TRAFFIC && s->nb_flows > 0)
		take_due(l, e->since, 0); // datagrams still due at the end of the phase
	s->phase = phase;
	s->trial = e->trial;
	s->missed = 0;
	s->cursor = 0;
	if (phase == PHASE_TRAFFIC) {
		__atomic_load(&e->rate, &rate, __ATOMIC_RELAXED);
		s->rate = rate;
		media_begin(l);
		// a flood begins at setup_rate; afterwards each client repeats by itself
		if (e->mode == MODE_ALLOC && rate == PACER_FLOOD)
			rate = e->config->setup_rate;
	}
	rate = phase == PHASE_TRAFFIC ? burst_rate(l, rate) : share_rate(l, rate);
	pacer_start(&s->pacer, rte_rdtsc(), e->hz, rate, SLACK_S);
}

bool sender_round(struct lane *l)
{
	const uint32_t phase = l->phase;
	struct sender *s = l->sender;
	bool busy = false;

	if (unlikely(phase != s->phase || (phase == PHASE_TRAFFIC && l->engine->trial != s->trial)))
		begin_phase(l, phase);
	if (s->clients != NULL) {
		busy |= control_input(l);
		busy |= run_timers(l);
	}
	switch ((enum phase)phase) {
	case PHASE_SETUP:
		busy |= walk_clients(l, client_start);
		break;
	case PHASE_TRAFFIC:
		busy |= send_traffic(l);
		break;
	case PHASE_RELEASE:
		busy |= walk_clients(l, client_release);
		break;
	case PHASE_WAIT:
	case PHASE_END:
		break;
	}
	return busy;
}

// --- created and freed by the main lcore ---------------------------------------------------------

// Makes the paths that are known from the start. False when a destination cannot be reached.
static bool flow_init(struct lane *l, uint32_t k)
{
	struct engine *e = l->engine;
	const struct config *c = e->config;
	const uint32_t i = client_number(l->sender, k);
	const struct endpoint client = side_host(&c->client, i);
	struct flow *f = &l->sender->flow[k];

	f->down.hop = HOP_NONE;
	if (e->port[SIDE_PEER] != NULL || config_media(c))
		f->peer = side_host(&c->peer, i % side_hosts(&c->peer));
	if (config_links(c))
		return true; // the kernel routes connections
	if (c->mode != MODE_DIRECT)
		return headers_path(e, SIDE_CLIENT, &f->up, &client, &c->server);
	return headers_path(e, SIDE_CLIENT, &f->up, &client, &f->peer) &&
		(e->port[SIDE_PEER] == NULL ||
			headers_path(e, SIDE_PEER, &f->down, &f->peer, &client));
}

static bool mode_allocates(enum mode m)
{
	return m == MODE_CHANNEL || m == MODE_SEND || m == MODE_ALLOC || m == MODE_ALLOC_HOLD;
}

struct sender *sender_create(struct lane *l, unsigned int number)
{
	const struct config *c = l->engine->config;
	struct sender *s = calloc(1, sizeof(*s));
	struct clients_params p = {.config = c, .rng = &l->rng};

	if (s == NULL)
		return NULL;
	l->sender = s;
	*s = (struct sender){
		.number = number, .first = number, .step = c->senders, .phase = PHASE_WAIT};
	s->nb_flows = (c->clients - number + c->senders - 1) / c->senders;
	s->flow = calloc(s->nb_flows, sizeof(*s->flow));
	s->ready = calloc(s->nb_flows, sizeof(*s->ready));
	if (mode_allocates(c->mode)) {
		p.wall_s = clock_wall_s();
		p.first = s->first;
		p.step = s->step;
		p.count = s->nb_flows;
		s->clients = clients_create(&p);
	}
	if (s->flow == NULL || s->ready == NULL ||
		(mode_allocates(c->mode) && s->clients == NULL)) {
		sender_free(s);
		l->sender = NULL;
		return NULL;
	}
	for (uint32_t k = 0; k < s->nb_flows; k++)
		if (!flow_init(l, k))
			break; // the main lcore reports the address (check_routes)
	return s;
}

void sender_free(struct sender *s)
{
	if (s == NULL)
		return;
	if (s->clients != NULL)
		clients_free(s->clients);
	free(s->ready);
	free(s->flow);
	free(s);
}

uint64_t sender_mean_start(const struct engine *e)
{
	int64_t after = 0, flows = 0; // after: ticks since e->since, times flows

	for (unsigned int i = 0; i < e->config->senders && e->sender[i] != NULL; i++) {
		const struct sender *s = e->sender[i]->sender;

		after += (int64_t)(s->pacer.start - e->since) * s->nb_flows;
		flows += s->nb_flows;
	}
	return e->since + (uint64_t)(flows > 0 ? after / flows : 0);
}
