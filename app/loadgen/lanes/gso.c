// SPDX-License-Identifier: BSD-3-Clause
// Super-frames, sent and received. Bursts leave as one frame if the port cuts it into datagrams,
// and a port may receive several datagrams as one frame. Counters count the datagrams, not the
// super-frames.
#include "lanes/gso.h"

#include "coalesce.h"
#include "super/super.h"

_Static_assert(LANE_BURST <= PORT_COALESCE_MAX, "an outbox is coalesced in one call");

// Maximum number of datagrams in a super-frame. Two late bursts that meet in the outbox are not
// joined. A process with peers only does not know the clients' burst, so it joins as many datagrams
// as it can.
static uint16_t burst_most(const struct config *c)
{
	return c->role == ROLE_PEER ? UINT16_MAX : (uint16_t)c->burst;
}

unsigned int gso_make(struct lane *l, unsigned int side, uint8_t frame_of[LANE_BURST])
{
	const struct port *p = l->engine->port[side];
	const uint16_t burst = burst_most(l->engine->config);
	struct outbox *o = &l->out[side];
	struct port_super uso = p->uso;

	uso.segments = RTE_MIN(__atomic_load_n(&p->uso.segments, __ATOMIC_RELAXED), burst);
	if (uso.segments > 1)
		return port_coalesce(&uso, p->vlan, o->m, o->n, frame_of).frames;
	for (unsigned int i = 0; i < o->n; i++)
		frame_of[i] = (uint8_t)i;
	return o->n;
}

void gso_sent(struct lane *l, const uint8_t frame_of[LANE_BURST], unsigned int n, unsigned int sent)
{
	uint8_t members[LANE_BURST] = {0};

	for (unsigned int i = 0; i < n; i++)
		members[frame_of[i]]++;
	for (unsigned int f = 0; f < sent; f++) {
		if (members[f] < 2)
			continue;
		l->stats.super_sent.frames++;
		l->stats.super_sent.datagrams += members[f];
	}
}

// True if a host would accept the super-frame: UDP, datagrams no longer than the link's MTU, and a
// checksum that the port has checked.
static bool is_acceptable(const struct port *p, const struct rte_mbuf *m, struct port_super_info *s)
{
	const uint64_t sum = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	*s = (struct port_super_info){.frames = 1};
	return port_super_read(m, s) && !s->tcp && s->frames <= SUPER_MAX && s->mtu <= p->mtu &&
		(sum == RTE_MBUF_F_RX_L4_CKSUM_GOOD || sum == RTE_MBUF_F_RX_L4_CKSUM_NONE);
}

unsigned int gso_cut(
	struct lane *l, unsigned int side, struct rte_mbuf *m, struct rte_mbuf *out[SUPER_MAX])
{
	struct port_super_info s;
	unsigned int n = 0;

	if (!is_acceptable(l->engine->port[side], m, &s)) {
		l->stats.bad_frames += s.frames;
	} else {
		n = port_super_cut(m, l->engine->pool, out, SUPER_MAX);
		l->stats.no_mbuf += n == 0 ? s.frames : 0;
		l->stats.super_received.frames += n > 0;
		l->stats.super_received.datagrams += n;
	}
	rte_pktmbuf_free(m);
	return n;
}
