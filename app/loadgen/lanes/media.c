// SPDX-License-Identifier: BSD-3-Clause
// Measured datagrams: ChannelData and Send indications from clients, plain datagrams from peers and
// in MODE_DIRECT.
#include "lanes/media.h"

#include "client/clients.h"
#include "lanes/lane.h"
#include "lanes/sender.h"
#include "links/links.h"
#include "measure/stamp.h"

#define SEND_INDICATION 0x0016 // the Data indication is 0x0017 (RFC 8656 section 17)

// --- turns ---------------------------------------------------------------------------------------

// Returns the direction whose turn comes next. wrapped: all have had their turn.
static uint8_t next_way(const struct config *c, uint8_t dir, bool *wrapped)
{
	*wrapped = false;
	do {
		dir++;
		if (dir == DIRECTION_NB) {
			dir = 0;
			*wrapped = true;
		}
	} while (!c->direction[dir]);
	return dir;
}

void media_begin(struct lane *l)
{
	const struct config *c = l->engine->config;
	struct sender *s = l->sender;
	bool wrapped;

	s->nb_ready = 0;
	for (uint32_t k = 0; k < s->nb_flows; k++) {
		struct flow *f = &s->flow[k];

		f->seq_up = 0;
		f->seq_down = 0;
		if (s->clients != NULL && clients_at(s->clients, k)->state != CLIENT_READY)
			continue;
		if (c->direction[DIRECTION_DOWN] && config_media(c) && f->down.hop == HOP_NONE)
			continue;
		s->ready[s->nb_ready++] = k;
	}
	s->turn = 0;
	s->run = c->burst;
	s->size = 0;
	s->dir = config_media(c) ? next_way(c, DIRECTION_NB - 1, &wrapped) : DIRECTION_ECHO;
}

// Counts a datagram. After a run of them it moves on to the next direction, size and flow.
static void advance_turn(struct sender *s, const struct config *c)
{
	bool wrapped;

	if (--s->run > 0)
		return;
	s->run = c->burst;
	s->dir = next_way(c, s->dir, &wrapped);
	if (!wrapped)
		return;
	if (++s->turn < s->nb_ready)
		return;
	s->turn = 0;
	if (++s->size == c->nb_sizes)
		s->size = 0;
}

// --- contents ------------------------------------------------------------------------------------

// Writes the stamp to the start of m, and the pattern after it. Returns the sum of the payload's
// 16-bit words.
static uint32_t payload_write(struct lane *l, struct rte_mbuf *m, struct flow *f, uint32_t flow)
{
	const struct engine *e = l->engine;
	const struct sender *s = l->sender;
	const uint16_t size = e->config->size[s->size];
	uint8_t *payload = rte_pktmbuf_mtod(m, uint8_t *);
	const struct stamp stamp = {
		.tag = e->tag,
		.flow = flow,
		.seq = s->dir == DIRECTION_DOWN ? f->seq_down++ : f->seq_up++,
		.len = size,
		.dir = s->dir,
		.epoch = (uint8_t)s->trial,
		.ticks = rte_rdtsc(),
	};

	m->data_len = size;
	m->pkt_len = size;
	memcpy(payload + STAMP_LEN, stamp_pattern() + STAMP_LEN, (size_t)size - STAMP_LEN);
	return stamp_write(payload, &stamp) + e->pattern_sum[s->size];
}

// Writes the ChannelData header before the payload (RFC 8656 12.4). Over UDP it needs no padding.
static uint32_t channel_write(struct rte_mbuf *m, uint16_t channel)
{
	const uint16_t len = m->data_len;
	char *front = rte_pktmbuf_prepend(m, CHANNEL_HEADER_LEN);

	store_be16(front, channel);
	store_be16(front + 2, len);
	return (uint32_t)channel + len;
}

// Writes a Send indication around the payload (RFC 8656 11.1). Only its type differs from a Data
// indication's.
static uint32_t send_write(struct lane *l, struct rte_mbuf *m, const struct endpoint *peer)
{
	const uint16_t len = m->data_len, padding = (uint16_t)(-len & 3);
	uint8_t tid[STUN_TID_LEN], front[64];
	uint16_t n;

	csprng_bytes(&l->rng, tid, sizeof(tid));
	n = stun_data_indication(front, tid, peer, len);
	store_be16(front, SEND_INDICATION);
	memcpy(rte_pktmbuf_prepend(m, n), front, n);
	memset(rte_pktmbuf_append(m, padding), 0, padding);
	return csum_add(0, front, n);
}

static void send_one(struct lane *l, uint32_t k)
{
	const struct engine *e = l->engine;
	const struct sender *s = l->sender;
	struct flow *f = &s->flow[k];
	const bool down = s->dir == DIRECTION_DOWN;
	const enum frame_kind kind = down ? FRAME_DOWN
		: s->dir == DIRECTION_UP  ? FRAME_UP
					  : FRAME_ECHO;
	struct rte_mbuf *m = lane_alloc(l);
	uint32_t sum;
	uint16_t len;

	if (unlikely(m == NULL))
		return;
	sum = payload_write(l, m, f, s->first + k * s->step);
	len = m->data_len;
	if (!down && e->mode == MODE_CHANNEL)
		sum += channel_write(m, f->channel);
	else if (!down && e->mode == MODE_SEND)
		sum += send_write(l, m, &f->peer);
	if (!down && l->links != NULL) {
		links_send(l, k, m, kind, len);
		return;
	}
	if (unlikely(!headers_write(
		    e, down ? SIDE_PEER : SIDE_CLIENT, m, down ? &f->down : &f->up, sum))) {
		l->stats.missed++;
		rte_pktmbuf_free(m);
		return;
	}
	lane_put(l, down ? SIDE_PEER : SIDE_CLIENT, m, kind, len);
}

void media_send(struct lane *l, uint32_t n)
{
	const uint32_t burst = l->engine->config->burst;
	struct sender *s = l->sender;

	if (s->nb_ready == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (burst > 1 && s->run == burst)
			lane_reserve(l, s->dir == DIRECTION_DOWN ? SIDE_PEER : SIDE_CLIENT,
				RTE_MIN(burst, (uint32_t)LANE_BURST));
		send_one(l, s->ready[s->turn]);
		advance_turn(s, l->engine->config);
	}
}
