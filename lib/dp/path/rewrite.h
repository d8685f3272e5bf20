// SPDX-License-Identifier: BSD-3-Clause
// Executes plans.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "net.h"
#include "turn.h"
#include "path/worker.h"

// Describes a datagram to make from a received one, in place.
struct rewrite {
	const struct endpoint *src, *dst;
	const struct net_l2 *l2;
	const uint8_t *front; // bytes to put in front of the kept ones
	uint16_t front_len;
	uint16_t off, len; // part of the payload that is kept
	uint16_t pad; // zero bytes to append
	uint16_t csum; // sum of src and dst with their ports
	uint16_t ip_id;
	uint16_t mtu;
	bool df;
	bool may_fragment; // may leave in fragments if it is longer than mtu
	bool fresh; // there is no old checksum to update
};

// Rewrites m, whose headers f describes. f then describes the new frame. Returns DP_OK or a drop
// reason, and then nothing has been changed.
unsigned int rewrite_frame(struct rte_mbuf *m, struct net_frame *f, const struct rewrite *r);

// Sets start and length of the frame in m, and clears the port's flags about the old headers.
static inline void rewrite_set_frame(struct rte_mbuf *m, const uint8_t *frame, uint32_t len)
{
	m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
}

enum rewrite_hop {
	REWRITE_WIRE,
	REWRITE_HAIRPIN, // to our relayed address: goes to its home worker, never to the wire
	REWRITE_PROGRAM, // to a program of this machine at our address: through the loopback
};

// The route of a datagram.
struct rewrite_route {
	struct turn_path path;
	const struct addr *client; // the client whose traffic it is
	uint32_t owner_slot; // slot of the allocation that the datagram belongs to
	uint32_t slot; // REWRITE_HAIRPIN
	uint16_t neigh; // REWRITE_WIRE
	uint8_t hop; // enum rewrite_hop
	uint8_t port_or_worker; // REWRITE_HAIRPIN: the worker; else the port
};

// Looks up the route of route->path, or uses the note of its line. Returns DP_OK or a drop reason.
unsigned int rewrite_find_route(struct worker *w, struct rewrite_route *route);
// Makes and sends front + payload[off, off + len) along a path. Consumes the packet.
void rewrite_forward(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_route *route, struct rewrite *r);
// True if a datagram may leave in fragments to an address of a family. v and f describe it as
// received, df is its DF bit over IPv4 from now on.
bool rewrite_may_fragment(
	const struct turn_view *v, const struct net_frame *f, bool to_v4, bool df);
// Sends a rewritten packet, which f describes, to the neighbour of route, in fragments if it is
// longer than mtu. Consumes the packet.
void rewrite_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct rewrite_route *route, uint16_t mtu);
// Sends len bytes at REWRITE_ANSWER_AT of m from a listener to a client, in fragments if they
// exceed the path's MTU. Consumes the packet.
#define REWRITE_ANSWER_AT (RTE_PKTMBUF_HEADROOM + NET_HEADERS_MAX)
void rewrite_answer(struct worker *w, struct rte_mbuf *m, uint8_t listener,
	const struct endpoint *client, uint16_t len);
// Executes a plan of any kind for packet m with its view.
void rewrite_plan(struct worker *w, struct rte_mbuf *m, struct turn_view *v,
	const struct turn_plan *plan, const struct turn_side *side);
// Next IPv4 identification: a bijection of 16 bits, keyed by a secret of the worker, so no value
// repeats before 65536 others were used (RFC 6864). It is cheap and not a cipher: from six
// consecutive values the others can be computed. Datagrams that leave in fragments have their own
// identifications (net_fragment_id).
static inline uint16_t rewrite_ip_id(struct worker *w)
{
	uint32_t x = w->ip_id++;

	x = (uint16_t)(x * w->ip_id_key[0]);
	x ^= x >> 7;
	x = (uint16_t)(x * w->ip_id_key[1]);
	x ^= x >> 9;
	return (uint16_t)(x ^ w->ip_id_key[2]);
}
