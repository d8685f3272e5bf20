// SPDX-License-Identifier: BSD-3-Clause
// Sends ICMP errors about received packets.
#pragma once

#include <stdint.h>

struct net_frame;
struct rewrite;
struct rte_mbuf;
struct turn_view;
struct worker;

// Initializes the limits of a worker, whose rng is ready.
void icmp_out_init(struct worker *w);

// Each of these functions reports to the sender of a datagram that it will be dropped, if limits
// allow. The caller keeps m and drops it. Its headers must not have been changed.

// For a relayed datagram that will be dropped for reason: DP_DROP_TTL, or DP_DROP_MTU because the
// datagram that r describes is too long. Other reasons are not reported.
void icmp_out_relayed(struct worker *w, const struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, unsigned int reason);
// For a datagram to a port that nobody listens on.
void icmp_out_unreachable(struct worker *w, const struct rte_mbuf *m, const struct net_frame *f);
