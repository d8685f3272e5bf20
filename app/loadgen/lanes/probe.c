// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that need no allocation: Binding requests, Allocate requests without credentials, and
// malformed ones. An answer has the request's transaction id, so the stamp is in the transaction
// id:
//
//	0         12     20         40       64             96 bits
//	| check   | trial | flow     | number | TSC / 16     |
//
// The check is keyed with our tag: no other transaction id is counted as an answer.
#include "lanes/probe.h"

#include "lanes/lane.h"
#include "lanes/sender.h"
#include "links/links.h"
#include "stun.h"

#define TICKS_SHIFT 4
#define PROBE_MAX 1200

// 12 check bits over the other 84 bits. high: the upper 64 bits, without the check.
static uint64_t tid_check(uint32_t tag, uint64_t high, uint32_t low)
{
	uint64_t h = (high ^ (uint64_t)tag << 20) * 0x9e3779b97f4a7c15;

	h = (h ^ h >> 32 ^ low) * 0xd1342543de82ef95;
	return (h ^ h << 27) >> 52;
}

static void tid_write(struct lane *l, uint8_t tid[STUN_TID_LEN], uint32_t flow, uint32_t seq)
{
	const uint64_t high = (uint64_t)(l->sender->trial & 0xff) << 44 |
		(uint64_t)(flow & 0xfffff) << 24 | (seq & 0xffffff);
	const uint32_t low = (uint32_t)(rte_rdtsc() >> TICKS_SHIFT);

	store_be64(tid, tid_check(l->engine->tag, high, low) << 52 | high);
	store_be32(tid + 8, low);
}

bool probe_read(const struct lane *l, const uint8_t *tid, struct stamp *out)
{
	const uint64_t high = load_be64(tid);
	const uint32_t low = load_be32(tid + 8);
	// the 32 bits wrap after half a minute at 2 GHz: take the latest time that fits
	const uint32_t ago = (uint32_t)(l->now >> TICKS_SHIFT) - low;

	if (high >> 52 != tid_check(l->engine->tag, high & UINT64_MAX >> 12, low))
		return false;
	*out = (struct stamp){
		.tag = l->engine->tag,
		.flow = (uint32_t)(high >> 24) & 0xfffff,
		.seq = (uint32_t)high & 0xffffff,
		.dir = DIRECTION_ECHO,
		.epoch = (uint8_t)(high >> 44),
		// the probe was sent later in this round: its time counts as 0
		.ticks = ago < 1u << 31 ? l->now - ((uint64_t)ago << TICKS_SHIFT) : l->now,
	};
	return out->flow < l->engine->config->clients;
}

// --- malformed -----------------------------------------------------------------------------------

// Makes one malformed datagram. seq chooses the fault: each fault that a parser must detect comes
// in turn, and the other bytes are random. out has room for PROBE_MAX bytes. Returns the length (an
// empty datagram is one of the faults).
static size_t invalid_write(struct lane *l, uint8_t *out, uint32_t seq)
{
	const size_t n = csprng_below(&l->rng, PROBE_MAX - 64) + 64;
	const uint8_t kind = seq % 10;

	csprng_bytes(&l->rng, out, n);
	if (kind >= 2) {
		store_be16(out, 0x0003); // looks like Allocate
		store_be16(out + 2, (uint16_t)((n - STUN_HEADER_LEN) & ~3u));
		store_be32(out + 4, STUN_COOKIE);
	}
	switch (kind) {
	case 0: // random bytes
		return n;
	case 1: // nothing, or a few bytes
		return csprng_below(&l->rng, STUN_HEADER_LEN);
	case 2: // length beyond the datagram
		store_be16(out + 2, 0xfffc);
		return n;
	case 3: // length not a multiple of four
		store_be16(out + 2, (uint16_t)(n - STUN_HEADER_LEN) | 1);
		return n;
	case 4: // no magic cookie
		store_be32(out + 4, (uint32_t)csprng_u64(&l->rng));
		return n & ~(size_t)3;
	case 5: // an attribute longer than the message
		store_be16(out + STUN_HEADER_LEN, 0x0006);
		store_be16(out + STUN_HEADER_LEN + 2, 0xffff);
		return n & ~(size_t)3;
	case 6: // a channel that is not bound
		store_be16(out, (uint16_t)(CHANNEL_MIN + csprng_below(&l->rng, 0x4000)));
		store_be16(out + 2, (uint16_t)(n - CHANNEL_HEADER_LEN));
		return n;
	case 7: // ChannelData longer than the datagram
		store_be16(out, CHANNEL_MIN);
		store_be16(out + 2, 0xffff);
		return n;
	case 8: // an unknown method, or an answer to no request
		store_be16(out, (uint16_t)csprng_below(&l->rng, CHANNEL_MIN));
		return n & ~(size_t)3;
	default: // Allocate with attributes of random bytes
		return n & ~(size_t)3;
	}
}

// --- sending -------------------------------------------------------------------------------------

static size_t probe_write(struct lane *l, uint8_t *out, uint32_t flow, uint32_t seq)
{
	const bool unauth = l->engine->mode == MODE_UNAUTH;
	uint8_t tid[STUN_TID_LEN];
	struct stun_writer w;

	if (l->engine->mode == MODE_INVALID)
		return invalid_write(l, out, seq);
	tid_write(l, tid, flow, seq);
	stun_begin(&w, out, PROBE_MAX, STUN_REQUEST, unauth ? STUN_ALLOCATE : STUN_BINDING, tid);
	if (unauth)
		stun_put_u32(&w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	return stun_end(&w);
}

static void send_one(struct lane *l, uint32_t k)
{
	struct sender *s = l->sender;
	struct flow *f = &s->flow[k];
	struct rte_mbuf *m = lane_alloc(l);
	uint8_t *out;
	size_t n;

	if (unlikely(m == NULL))
		return;
	out = rte_pktmbuf_mtod(m, uint8_t *);
	n = probe_write(l, out, s->first + k * s->step, f->seq_up++);
	m->data_len = (uint16_t)n;
	m->pkt_len = (uint32_t)n;
	if (l->links != NULL) {
		links_send(l, k, m, FRAME_ECHO, (uint16_t)n);
		return;
	}
	if (unlikely(!headers_write(l->engine, SIDE_CLIENT, m, &f->up, csum_add(0, out, n)))) {
		l->stats.missed++;
		rte_pktmbuf_free(m);
		return;
	}
	lane_put(l, SIDE_CLIENT, m, FRAME_ECHO, (uint16_t)n);
}

void probe_send(struct lane *l, uint32_t n)
{
	struct sender *s = l->sender;

	for (uint32_t i = 0; i < n && s->nb_ready > 0; i++) {
		send_one(l, s->ready[s->turn]);
		if (++s->turn == s->nb_ready)
			s->turn = 0;
	}
}

uint32_t probe_connect(struct lane *l, uint32_t n)
{
	struct sender *s = l->sender;

	for (uint32_t seen = 0; n > 0 && seen < s->nb_flows; seen++) {
		const uint32_t k = s->cursor;

		s->cursor = k + 1 < s->nb_flows ? k + 1 : 0;
		if (links_open(l, k))
			continue;
		send_one(l, k);
		n--;
	}
	return n;
}
