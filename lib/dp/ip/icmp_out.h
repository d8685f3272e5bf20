// SPDX-License-Identifier: BSD-3-Clause
// icmp_out.c: ICMP errors about what others have sent.
#pragma once

#include <stdint.h>

struct net_frame;
struct rewrite;
struct rte_mbuf;
struct turn_view;
struct worker;

// Sets up the limits of a worker whose rng is ready.
void icmp_out_init(struct worker *w);

// Each tells the sender of a datagram that it has been of no use, if limits allow; m stays the
// caller's, who drops it. Nothing of its headers has been changed.

// A relayed datagram, which f describes, will be dropped as reason says: DP_DROP_TTL, or
// DP_DROP_MTU because of what was to be made of it. No other reason is reported.
void icmp_out_relayed(struct worker *w, const struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, unsigned int reason);
// Nobody has a use for what comes to its port.
void icmp_out_unreachable(struct worker *w, const struct rte_mbuf *m, const struct net_frame *f);
