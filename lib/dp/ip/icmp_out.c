// SPDX-License-Identifier: BSD-3-Clause
// Sends ICMP errors (RFC 1122 section 3.2.2, RFC 1812 section 4.3, RFC 4443 section 2.4, RFC 8656
// sections 13 and 14). They are only about UDP datagrams that are complete, have valid checksums,
// were sent to our address and came from a valid source. So they are never about an ICMP error, a
// fragment, or a broadcast or multicast packet.
#include "ip/icmp_out.h"
#include "addr.h"
#include "clients/client.h"
#include "ask/hot.h"
#include "datapath.h"
#include "dp_view.h"
#include "drop_of.h"
#include "icmp_error.h"
#include "rates/limiter.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "net.h"
#include "path/rewrite.h"
#include "turn.h"
#include "path/worker.h"

#define DATA_ROOM 48 // for the longest header of a Data indication (RFC 8656 section 13.2)
#define LEAST4 68 // the MTU of the smallest links (RFC 791, RFC 8200)
#define LEAST6 1280

void icmp_out_init(struct worker *w)
{
	csprng_bytes(&w->rng, &w->errors_each.key, sizeof(w->errors_each.key));
	limiter_init(&w->errors_each, w->errors_due, RTE_DIM(w->errors_due), 0);
}

// Takes one error to this address from the limits: the address's own limit first, so that an
// address that exceeds it does not use up the common limit.
static bool take_error(struct worker *w, const struct addr *dst)
{
	const struct limit all = {w->hot->errors_out, w->hot->errors_out};
	const struct limit each = {w->hot->errors_each, w->hot->errors_each};

	if (all.rate == 0)
		return false;
	if (limiter_take(&w->errors_each, &each, dst, w->now_ms) &&
		bucket_take(&w->errors_out, &all, w->now_ms * BUCKET_MS))
		return true;
	w->live.icmp_errors_held_back++;
	return false;
}

// Sends the error along the route to the sender, not to the MAC that the datagram came from.
static void report_error(struct worker *w, const struct rte_mbuf *m, const struct net_frame *f,
	struct net_icmp_report *r)
{
	const struct nexthop_lookup lookup = {&f->dst, &f->src, &f->src, 0};
	const uint8_t *packet = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->l3_off);
	struct rte_mbuf *error;
	uint16_t neigh;
	uint8_t port;

	if (local_addrs_ours(w->local, &f->src) || !take_error(w, &f->src) ||
		nexthop_resolve(w, &lookup, &port, &neigh) != DP_OK)
		return;
	error = rte_pktmbuf_alloc(w->dp->pool);
	w->live.made++;
	if (error == NULL) {
		w->live.drop[DP_DROP_NO_MBUF]++;
		return;
	}
	r->id = rewrite_ip_id(w);
	error->data_len = (uint16_t)net_icmp_error_write(rte_pktmbuf_mtod(error, uint8_t *),
		&w->dp->port[port].l2, packet, (size_t)f->payload_off + f->payload_len - f->l3_off,
		r);
	error->pkt_len = error->data_len;
	w->live.icmp_errors_sent++;
	nexthop_send(w, error, port, neigh);
}

// Length of the sender's packets with which the relayed ones will fit. A peer is told 48 bytes less
// than the path MTU, because it does not know the overhead on the way to the client.
static uint32_t mtu_for_sender(
	const struct net_frame *f, const struct turn_view *v, const struct rewrite *r)
{
	const uint32_t came = (uint32_t)f->payload_off + f->payload_len - f->l3_off;
	const uint32_t made = net_headers_len(addr_is_v4(&r->src->addr), 0) - NET_ETH_LEN +
		(uint32_t)r->front_len + r->len + r->pad;
	const uint32_t least = f->is_v4 ? LEAST4 : LEAST6, excess = made - r->mtu;
	uint32_t mtu = came > excess ? came - excess : 0;

	if (v->leg == TURN_FROM_PEER)
		mtu = RTE_MIN(mtu, (uint32_t)r->mtu - DATA_ROOM);
	return RTE_MAX(mtu, least);
}

void icmp_out_relayed(struct worker *w, const struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, unsigned int reason)
{
	struct net_icmp_report about = {.kind = NET_ICMP_TTL};
	struct net_frame f;

	if ((reason != DP_DROP_TTL && reason != DP_DROP_MTU) || client_is_connected(v) ||
		(v->leg == TURN_FROM_PEER && v->inside == TURN_INSIDE_RELAYED))
		return;
	client_describe(m, v, &f);
	if (reason == DP_DROP_MTU) {
		if (f.is_v4 && !f.df) // without DF any length is allowed
			return;
		about.kind = NET_ICMP_TOO_BIG;
		about.mtu = mtu_for_sender(&f, v, r);
	}
	report_error(w, m, &f, &about);
}

void icmp_out_unreachable(struct worker *w, const struct rte_mbuf *m, const struct net_frame *f)
{
	struct net_icmp_report about = {.kind = NET_ICMP_PORT};

	if (w->hot->unreachable)
		report_error(w, m, f, &about);
}
