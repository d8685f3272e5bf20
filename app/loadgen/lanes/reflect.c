// SPDX-License-Identifier: BSD-3-Clause
// The peers' echo. It can lose, duplicate, reorder and corrupt exact shares of the datagrams on
// purpose, and delay them by a known time. It counts these faults, so that a measurement can be
// checked against them.
#include "lanes/reflect.h"

#include <stdlib.h>

#include "bytes.h"
#include "lanes/receiver.h"

#define LINE_LEN (1u << 16) // datagrams the delay line holds; any more pass without delay
#define HELD_TICKS_MS 20 // longest wait of a held-back datagram for another to overtake it

enum { INJECT_LOSS, INJECT_DUPLICATE, INJECT_REORDER, INJECT_CORRUPT, INJECT_NB };

struct waiting {
	struct rte_mbuf *m;
	uint64_t until; // TSC
};

struct reflector {
	double share[INJECT_NB]; // as configured, 0..1
	double debt[INJECT_NB]; // part of the share that is not dealt yet, below 1
	uint64_t delay; // TSC ticks
	struct waiting *line; // LINE_LEN entries; NULL without a delay
	uint32_t head, tail;
	struct waiting held; // held back until the next datagram of its flow overtakes it
};

// Spreads a share evenly: true once in every 1 / share calls.
static bool inject_fault(struct lane *l, unsigned int fault)
{
	struct reflector *r = l->receiver->reflector;

	r->debt[fault] += r->share[fault];
	if (r->debt[fault] < 1)
		return false;
	r->debt[fault] -= 1;
	l->stats.injected[fault]++;
	return true;
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t n)
{
	uint8_t t[16];

	memcpy(t, a, n);
	memcpy(a, b, n);
	memcpy(b, t, n);
}

// Swaps source and destination. The checksums remain correct, because the sums do not change.
static void turn_round(struct rte_mbuf *m, const struct net_frame *f)
{
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *), *ip = d + f->l3_off, *udp = d + f->l4_off;

	swap_bytes(d, d + 6, 6);
	if (f->is_v4)
		swap_bytes(ip + 12, ip + 16, 4);
	else
		swap_bytes(ip + 8, ip + 24, 16);
	swap_bytes(udp, udp + 2, 2);
	m->ol_flags = 0;
	m->data_len = (uint16_t)(f->payload_off + f->payload_len); // drops Ethernet padding
	m->pkt_len = m->data_len;
}

// Flips bits of the payload's last byte and corrects the UDP checksum, so that only the stamp's
// check finds it.
static void corrupt_payload(struct rte_mbuf *m, const struct net_frame *f)
{
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *), *udp = d + f->l4_off;
	uint8_t *last = d + f->payload_off + f->payload_len - 1;
	const bool odd = (f->payload_len & 1) != 0; // then it is the high byte of its word
	const uint16_t old = load_be16(udp + NET_UDP_CHECKSUM_AT);
	uint32_t before = *last, after;

	if (f->payload_len == 0)
		return;
	*last ^= 0x55;
	after = *last;
	if (odd) {
		before <<= 8;
		after <<= 8;
	}
	if (old != 0)
		store_be16(udp + NET_UDP_CHECKSUM_AT, csum_update(old, before, after));
}

static void send_frame(struct lane *l, struct rte_mbuf *m)
{
	lane_put(l, SIDE_PEER, m, FRAME_REFLECTED, 0);
}

// Sends m, through the delay line if there is one.
static void pass_frame(struct lane *l, struct rte_mbuf *m)
{
	struct reflector *r = l->receiver->reflector;

	if (r->line == NULL || r->tail - r->head == LINE_LEN) {
		send_frame(l, m);
		return;
	}
	r->line[r->tail++ % LINE_LEN] = (struct waiting){.m = m, .until = l->now + r->delay};
}

// True if two reflected frames belong to the same flow.
static bool same_flow(const struct rte_mbuf *a, const struct rte_mbuf *b)
{
	// addresses and ports: bytes 26..37 of an IPv4 frame, 22..57 of an IPv6 one
	const uint8_t *x = rte_pktmbuf_mtod(a, const uint8_t *);
	const uint8_t *y = rte_pktmbuf_mtod(b, const uint8_t *);
	const bool v4 = (x[14] >> 4) == 4;

	return memcmp(x + (v4 ? 26 : 22), y + (v4 ? 26 : 22), v4 ? 12 : 36) == 0;
}

static void release_held(struct lane *l)
{
	struct reflector *r = l->receiver->reflector;
	struct rte_mbuf *m = r->held.m;

	r->held.m = NULL;
	if (m != NULL)
		pass_frame(l, m);
}

void reflect_input(struct lane *l, struct rte_mbuf *m, const struct net_frame *f)
{
	struct reflector *r = l->receiver->reflector;
	struct rte_mbuf *copy;

	if (inject_fault(l, INJECT_LOSS)) {
		rte_pktmbuf_free(m);
		return;
	}
	turn_round(m, f);
	if (inject_fault(l, INJECT_CORRUPT)) {
		// no other fault is added: a corrupted datagram shows neither its number nor its
		// order
		corrupt_payload(m, f);
		pass_frame(l, m);
		return;
	}
	if (r->held.m == NULL && inject_fault(l, INJECT_REORDER)) {
		r->held = (struct waiting){
			.m = m, .until = l->now + l->engine->hz / 1000 * HELD_TICKS_MS};
		return;
	}
	if (inject_fault(l, INJECT_DUPLICATE)) {
		copy = rte_pktmbuf_copy(m, l->engine->pool, 0, UINT32_MAX);
		if (copy != NULL)
			pass_frame(l, copy);
		else
			l->stats.injected[INJECT_DUPLICATE]--;
	}
	if (r->held.m != NULL && same_flow(r->held.m, m)) {
		pass_frame(l, m);
		release_held(l);
		return;
	}
	pass_frame(l, m);
}

void reflect_tick(struct lane *l)
{
	struct reflector *r = l->receiver->reflector;

	if (unlikely(r->held.m != NULL && l->now >= r->held.until)) {
		l->stats.injected[INJECT_REORDER]--; // not reordered: nothing overtook it
		release_held(l);
	}
	while (r->head != r->tail && l->now >= r->line[r->head % LINE_LEN].until)
		send_frame(l, r->line[r->head++ % LINE_LEN].m);
}

struct reflector *reflector_create(const struct config *c)
{
	struct reflector *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->share[INJECT_LOSS] = c->impair.loss;
	r->share[INJECT_DUPLICATE] = c->impair.duplicate;
	r->share[INJECT_REORDER] = c->impair.reorder;
	r->share[INJECT_CORRUPT] = c->impair.corrupt;
	if (c->impair.delay_us == 0)
		return r;
	r->delay = rte_get_tsc_hz() / 1000000 * c->impair.delay_us;
	r->line = calloc(LINE_LEN, sizeof(*r->line));
	if (r->line == NULL) {
		free(r);
		return NULL;
	}
	return r;
}

void reflector_free(struct reflector *r)
{
	if (r == NULL)
		return;
	for (; r->head != r->tail; r->head++)
		rte_pktmbuf_free(r->line[r->head % LINE_LEN].m);
	rte_pktmbuf_free(r->held.m);
	free(r->line);
	free(r);
}
