// SPDX-License-Identifier: BSD-3-Clause
// Marks received datagrams with the DSCP of their client's listener. This is a separate pass over a
// burst, so relaying costs nothing extra if no listener has a DSCP.
#include "ip/dscp.h"
#include "bytes.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "dtls_hello.h"
#include "path/fastpath.h"
#include "link/local_addrs.h"
#include "net.h"
#include "turn.h"
#include "turn_line.h"
#include "turn_mark.h"

bool dscp_wanted(const struct turn_config *c)
{
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		if (c->listeners[i].dscp != TURN_DSCP_COPY &&
			!turn_listener_is_stream(&c->listeners[i]))
			return true;
	return false;
}

// Listener that received a client's datagram, or NULL if the datagram is not marked here. A message
// from a stream has no IP header: streams_describe invents one. A DTLS record comes here again
// after decryption, with the DTLS listener, which may share its UDP port with another listener.
static const struct source *client_listener(const struct worker *w, const struct turn_view *v)
{
	if ((v->flags & DP_STREAM) != 0 || v->listener == LOCAL_ONLY_DTLS || v->len == 0 ||
		dtls_first_byte(v->data[0]))
		return NULL;
	return fastpath_listener_source(w, v->listener);
}

// The listener of the client that a peer's datagram is for, or NULL without an allocation.
static const struct source *peer_listener(const struct worker *w, const struct turn_view *v)
{
	uint32_t mark;

	if (v->slot == TURN_NONE)
		return NULL;
	mark = w->lines[v->slot].mark[TURN_FROM_CLIENT];
	if (turn_mark_state(mark) != TURN_MARK_STATE_LIVE)
		return NULL;
	return &w->source[TURN_FROM_PEER][turn_mark_from(mark)];
}

// The IP header of a received datagram. In a plain frame it is right before the UDP header.
static uint8_t *ip_of(struct rte_mbuf *m, const struct turn_view *v)
{
	const uint16_t len = (v->flags & DP_IPV4) != 0 ? NET_IP4_LEN : NET_IP6_LEN;
	uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
	struct net_frame f;

	if (likely((v->flags & DP_PLAIN) != 0))
		return data + (v->data - data) - NET_UDP_LEN - len;
	net_frame_describe(data, (uint16_t)(v->data - data), v->len, &f);
	return data + f.l3_off;
}

static void write_tos(uint8_t *ip, const struct source *listener)
{
	const uint16_t old = load_be16(ip);
	uint16_t new;

	if (ip[0] >> 4 == 4) {
		new = (uint16_t)((old & (0xff00 | listener->tos_kept)) | listener->tos);
		store_be16(ip + 10, csum_update(load_be16(ip + 10), old, new));
	} else { // IPv6: the field begins four bits later
		new = (uint16_t)((old & (0xf00f | listener->tos_kept << 4)) | listener->tos << 4);
	}
	store_be16(ip, new);
}

void dscp_mark(struct worker *w)
{
	const struct turn_burst *b = &w->burst.turn;

	for (unsigned int leg = 0; leg < 2; leg++) {
		for (unsigned int n = 0; n < b->nb[leg]; n++) {
			const unsigned int i = b->by_leg[leg][n];
			const struct turn_view *v = &b->view[i];
			const struct source *listener = leg == TURN_FROM_CLIENT
				? client_listener(w, v)
				: peer_listener(w, v);

			if (listener != NULL && listener->tos_kept != 0xff)
				write_tos(ip_of(w->burst.m[i], v), listener);
		}
	}
}
