// SPDX-License-Identifier: BSD-3-Clause
// rewrite.c: executing plans.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "net.h"
#include "turn.h"
#include "worker.h"

// A datagram to make of a received one, in place.
struct rewrite {
	const struct endpoint *src, *dst;
	const struct net_l2 *l2;
	const uint8_t *front; // goes in front of what is kept
	uint16_t front_len;
	uint16_t off, len; // what is kept of the payload
	uint16_t pad; // zero bytes behind it
	uint16_t csum; // sum of src and dst with their ports
	uint16_t ip_id;
	uint16_t mtu;
	bool df;
	bool may_fragment; // what is longer than mtu leaves in fragments
	bool fresh; // there is no old checksum to go by
};

// Rewrites m, which f describes as parsed; f then describes the new frame. DP_OK or a reason, and
// then nothing has been changed.
unsigned int rewrite_frame(struct rte_mbuf *m, struct net_frame *f, const struct rewrite *r);

// Sets start and length of what m holds now, and forgets what its port said about the old headers.
static inline void rewrite_set_frame(struct rte_mbuf *m, const uint8_t *frame, uint32_t len)
{
	m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
}

enum rewrite_hop {
	REWRITE_WIRE,
	REWRITE_HAIRPIN, // to a relayed address of ours: to its home, never to the wire
	REWRITE_PROGRAM, // to a program of this machine at an own address: by the loopback
};

// Where a datagram goes.
struct rewrite_way {
	struct turn_path path;
	const struct addr *client; // on whose account
	uint32_t owner_slot; // slot of the allocation whose datagram it is
	uint32_t slot; // REWRITE_HAIRPIN
	uint16_t neigh; // REWRITE_WIRE
	uint8_t hop; // enum rewrite_hop
	uint8_t place; // REWRITE_HAIRPIN: worker; else the port
};

// Finds the way along way->path, or follows its note. DP_OK or a reason.
unsigned int rewrite_find_way(struct worker *w, struct rewrite_way *route);
// Makes and sends front + payload[off, off + len) along a path. Takes the packet.
void rewrite_forward(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_way *route, struct rewrite *r);
// Whether a datagram may leave in fragments for an address of a family: v and f tell how it came,
// df is what it will say of itself over IPv4.
bool rewrite_may_fragment(
	const struct turn_view *v, const struct net_frame *f, bool to_v4, bool df);
// Sends a rewritten packet, which f describes, to the neighbour of way; in fragments if it is
// longer than mtu. Takes the packet.
void rewrite_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct rewrite_way *route, uint16_t mtu);
// Sends what m holds from REWRITE_ANSWER_AT on, of len bytes, to a client from a listener, in
// fragments if it is longer than the path's MTU. Takes the packet.
#define REWRITE_ANSWER_AT (RTE_PKTMBUF_HEADROOM + NET_HEADERS_MAX)
void rewrite_answer(struct worker *w, struct rte_mbuf *m, uint8_t listener,
	const struct endpoint *client, uint16_t len);
// Executes a plan of any kind for packet m with its view.
void rewrite_plan(struct worker *w, struct rte_mbuf *m, struct turn_view *v,
	const struct turn_plan *plan, const struct turn_side *side);
// A bijection of 16 bits under a secret of the worker: no identification comes back before 65536
// others have been used (RFC 6864). It is cheap and no cipher: who sees six in a row can work out
// the rest. What leaves in fragments has identifications of its own (net_fragment_id).
static inline uint16_t rewrite_ip_id(struct worker *w)
{
	uint32_t x = w->ip_id++;

	x = (uint16_t)(x * w->ip_id_key[0]);
	x ^= x >> 7;
	x = (uint16_t)(x * w->ip_id_key[1]);
	x ^= x >> 9;
	return (uint16_t)(x ^ w->ip_id_key[2]);
}
