// SPDX-License-Identifier: BSD-3-Clause
// Takes snapshots of the lanes' counters and makes results of two of them.
#include "lanes/snapshot.h"

#include <rte_cycles.h>

#include "client/clients.h"
#include "lanes/lane.h"
#include "lanes/receiver.h"
#include "lanes/sender.h"

// Above this share of lost or late datagrams the generator is the limit.
#define BOUND_SHARE 0.001

// Copies counters while another lcore writes them, each word by itself.
static void copy_words(void *dst, const void *src, size_t len)
{
	const uint64_t *in = src;
	uint64_t *out = dst;

	for (size_t i = 0; i < len / sizeof(*in); i++)
		out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

static void add_words(void *dst, const void *src, size_t len)
{
	const uint64_t *in = src;
	uint64_t *out = dst;

	for (size_t i = 0; i < len / sizeof(*in); i++)
		out[i] += __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

void snapshot_clients(const struct engine *e, struct client_stats *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < e->config->senders && e->sender[i] != NULL; i++)
		if (e->sender[i]->sender->clients != NULL)
			add_words(out, clients_stats(e->sender[i]->sender->clients), sizeof(*out));
}

void snapshot_take(const struct engine *e, struct snapshot *s)
{
	struct hist copy;

	s->tsc = rte_rdtsc();
	for (unsigned int i = 0; i < e->nb_lanes; i++)
		copy_words(&s->lane[i], &e->lane[i]->stats, sizeof(s->lane[i]));
	for (unsigned int side = 0; side < SIDE_NB; side++)
		if (e->port[side] != NULL)
			e->port[side]->ops->counters(e->port[side], &s->port[side]);
	snapshot_clients(e, &s->clients);
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
		hist_reset(&s->latency[dir]);
		for (unsigned int i = 0; i < e->config->receivers; i++) {
			hist_copy(&copy, e->receiver[i]->receiver->latency[dir]);
			hist_merge(&s->latency[dir], &copy);
		}
	}
}

// --- differences ---------------------------------------------------------------------------------

static void sum_way(const struct snapshot *before, const struct snapshot *after,
	unsigned int nb_lanes, unsigned int dir, struct result_way *w)
{
	for (unsigned int i = 0; i < nb_lanes; i++) {
		const struct lane_stats *a = &before->lane[i], *b = &after->lane[i];

		w->sent += b->sent[dir] - a->sent[dir];
		w->sent_bytes += b->sent_bytes[dir] - a->sent_bytes[dir];
		w->received += b->received[dir] - a->received[dir];
		w->received_bytes += b->received_bytes[dir] - a->received_bytes[dir];
		w->delivered += b->unique[dir] - a->unique[dir];
		w->duplicated += b->duplicated[dir] - a->duplicated[dir];
		w->reordered += b->reordered[dir] - a->reordered[dir];
		w->corrupted += b->corrupted[dir] - a->corrupted[dir];
	}
}

static void sum_ways(const struct engine *e, const struct snapshot *before,
	const struct snapshot *after, struct result *r)
{
	const struct config *c = e->config;
	struct result_way *up = &r->direction[DIRECTION_UP], *echo = &r->direction[DIRECTION_ECHO];

	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
		r->direction[dir].used =
			config_media(c) ? c->direction[dir] : dir == DIRECTION_ECHO;
		sum_way(before, after, e->nb_lanes, dir, &r->direction[dir]);
	}
	if (c->role == ROLE_PEER) { // the process that sends does the measuring
		up->used = true;
		up->delivered = up->received;
		echo->used = false;
		return;
	}
	if (c->mode == MODE_ALLOC || c->mode == MODE_ALLOC_HOLD)
		echo->used = false;
	if (config_media(c) && c->role == ROLE_BOTH && echo->used) {
		// datagrams up that the peers received and echoed
		up->used = true;
		up->sent = echo->sent;
		up->sent_bytes = echo->sent_bytes;
	}
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
		struct result_way *w = &r->direction[dir];

		w->lost = w->sent > w->delivered ? w->sent - w->delivered : 0;
	}
}

static void sum_lanes(const struct engine *e, const struct snapshot *before,
	const struct snapshot *after, struct result *r)
{
	r->nb_lanes = e->nb_lanes;
	for (unsigned int i = 0; i < e->nb_lanes; i++) {
		const struct lane_stats *a = &before->lane[i], *b = &after->lane[i];
		const uint64_t rounds = b->rounds - a->rounds;
		struct result_lane *l = &r->lane[i];

		*l = (struct result_lane){
			.lcore = e->lane[i]->lcore,
			.sends = e->lane[i]->sender != NULL,
			.receives = e->lane[i]->receiver != NULL,
			.missed = b->missed - a->missed,
			.tx_full = b->tx_full - a->tx_full,
			.busy = rounds > 0
				? (double)(b->busy_rounds - a->busy_rounds) / (double)rounds
				: 0,
			.max_gap_us = (double)b->max_gap / (double)e->hz * 1e6,
		};
		for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
			l->sent += b->sent[dir] - a->sent[dir];
			l->received += b->received[dir] - a->received[dir];
		}
		r->due += b->due - a->due;
		r->missed += l->missed;
		r->tx_full += l->tx_full;
		r->reflect_full += b->reflect_full - a->reflect_full;
		r->unstarted += b->unstarted - a->unstarted;
		r->link.opened += b->link.opened;
		r->link.up += b->link.up;
		r->link.failed += b->link.failed;
		r->link.broken += b->link.broken;
		r->link.held_back += b->link.held_back - a->link.held_back;
		r->no_mbuf += b->no_mbuf - a->no_mbuf;
		r->bad_frames += b->bad_frames - a->bad_frames;
		r->rx_missed += b->control_lost - a->control_lost;
		r->stray += b->stray - a->stray;
		r->answered += b->answered - a->answered;
		r->errors += b->errors - a->errors;
		r->super_sent.frames += b->super_sent.frames - a->super_sent.frames;
		r->super_sent.datagrams += b->super_sent.datagrams - a->super_sent.datagrams;
		r->super_received.frames += b->super_received.frames - a->super_received.frames;
		r->super_received.datagrams +=
			b->super_received.datagrams - a->super_received.datagrams;
		for (unsigned int k = 0; k < RESULT_NB_INJECTED; k++)
			r->injected[k] += b->injected[k] - a->injected[k];
	}
}

// Says if super-frames left, and the reason if not. cut: super-frames that a port had to cut
// itself.
static void judge_uso(const struct engine *e, uint64_t cut, struct result *r)
{
	const struct config *c = e->config;
	bool can = false;

	for (unsigned int side = 0; side < SIDE_NB; side++)
		if (e->port[side] != NULL && e->port[side]->uso.segments > 1)
			can = true;
	r->uso = r->super_sent.frames > cut;
	r->uso_why = NULL;
	if (r->uso)
		return;
	if (!config_media(c))
		r->uso_why = "only media is sent in bursts";
	else if (c->uso == USO_OFF)
		r->uso_why = "switched off with --uso";
	else if (cut > 0)
		r->uso_why = "the port could not send them whole, and cut them itself";
	else if (!can)
		r->uso_why = "the port offers no UDP segmentation";
	else if (c->role != ROLE_PEER && c->burst < 2)
		r->uso_why = "every burst is one datagram (--burst)";
	else
		r->uso_why = "no datagrams that could leave as one frame";
}

// Finds the generator's own limits. resent: requests that needed another transmission. Without such
// requests the server answered them in time; if every client was busy even so, there are too few
// clients.
static void find_bounds(const struct engine *e, uint64_t resent, struct result *r)
{
	const double limit = BOUND_SHARE * (double)r->due;
	const bool flood = e->rate == PACER_FLOOD;
	uint64_t sent = 0, lost = 0;

	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
		sent += r->direction[dir].sent;
		lost += r->direction[dir].lost;
	}
	r->bound[BOUND_SCHEDULE] =
		(double)r->missed > limit || ((double)r->unstarted > limit && resent == 0);
	r->bound[BOUND_TX_FULL] = (r->tx_full > 0 && !flood) || r->reflect_full > 0;
	// all measured datagrams have arrived, so the port missed only others
	r->bound[BOUND_RX_MISSED] = r->rx_missed > 0 && (sent == 0 || lost > 0);
	r->bound[BOUND_NO_MBUF] = r->no_mbuf > 0;
	r->bound[BOUND_FLOOD] = flood && config_media(e->config) && sent > 0 &&
		(double)lost < BOUND_SHARE * (double)sent;
}

static void clear_result(struct result *r)
{
	struct hist *keep[DIRECTION_NB];

	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		keep[dir] = r->direction[dir].latency;
	memset(r, 0, sizeof(*r));
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		r->direction[dir].latency = keep[dir];
}

void snapshot_result(const struct engine *e, const struct snapshot *before,
	const struct snapshot *after, bool whole, struct result *r)
{
	uint64_t cut = 0;

	clear_result(r);
	r->hz = (double)e->hz;
	r->seconds = (double)(after->tsc - before->tsc) / r->hz;
	sum_ways(e, before, after, r);
	sum_lanes(e, before, after, r);
	for (unsigned int side = 0; side < SIDE_NB; side++) {
		const struct port_counters *a = &before->port[side], *b = &after->port[side];

		if (e->port[side] == NULL ||
			(side == SIDE_PEER && e->port[side] == e->port[SIDE_CLIENT]))
			continue;
		r->rx_missed += b->rx_missed - a->rx_missed;
		r->no_mbuf += b->rx_nombuf - a->rx_nombuf;
		cut += b->tx_cut - a->tx_cut;
	}
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++) {
		memcpy(r->direction[dir].latency, &after->latency[dir],
			sizeof(after->latency[dir]));
		if (!whole)
			hist_subtract(r->direction[dir].latency, &before->latency[dir]);
	}
	r->clients = after->clients;
	r->allocations = after->clients.allocations - before->clients.allocations;
	r->releases = after->clients.releases - before->clients.releases;
	judge_uso(e, cut, r);
	find_bounds(e, after->clients.retransmissions - before->clients.retransmissions, r);
}
