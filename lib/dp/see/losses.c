// SPDX-License-Identifier: BSD-3-Clause
// Counts drops by allocation, where the allocation of a packet is still known.
#include "see/losses.h"
#include "drop_of.h"
#include "turn_drop.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

// One more than the loss class of each drop reason of the data path. 0 = the allocation is not
// known: before its look-up, after the outboxes, and for traffic of the kernel and of handshakes.
static const uint8_t loss_of[DP_DROP_END] = {
	[DP_DROP_TTL] = TURN_LOSS_WAY + 1,
	[DP_DROP_MTU] = TURN_LOSS_SIZE + 1,
	[DP_DROP_NO_ROUTE] = TURN_LOSS_WAY + 1,
	[DP_DROP_NEIGH_HELD] = TURN_LOSS_WAY + 1,
	[DP_DROP_NEIGH_FULL] = TURN_LOSS_LIMIT + 1,
	[DP_DROP_NEIGH_RATE] = TURN_LOSS_LIMIT + 1,
	[DP_DROP_NEIGH_FAILED] = TURN_LOSS_WAY + 1,
	[DP_DROP_HEADROOM] = TURN_LOSS_OTHER + 1,
	[DP_DROP_NO_MBUF] = TURN_LOSS_OTHER + 1,
	[DP_DROP_BACKLOG] = TURN_LOSS_LIMIT + 1,
	[DP_DROP_BACKLOG_KNOWN] = TURN_LOSS_LIMIT + 1,
	[DP_DROP_BACKLOG_CLIENT] = TURN_LOSS_LIMIT + 1,
	[DP_DROP_STREAM_FULL] = TURN_LOSS_LIMIT + 1,
	[DP_DROP_DTLS_ENDED] = TURN_LOSS_WAY + 1,
	[DP_DROP_DTLS_CIPHER] = TURN_LOSS_OTHER + 1,
};

unsigned int losses_of(unsigned int reason)
{
	if (reason >= DP_DROP_TURN && reason < DP_DROP_TURN + TURN_DROP_END - 1)
		return turn_loss_of(reason - DP_DROP_TURN + 1);
	return reason < DP_DROP_END && loss_of[reason] != 0 ? loss_of[reason] - 1u : TURN_LOSS_END;
}

static void count_loss(struct worker *w, const struct turn_relayed *r, unsigned int reason)
{
	const unsigned int loss = losses_of(reason);

	if (loss != TURN_LOSS_END)
		turn_usage_lost(w->shard, r, (enum turn_loss)loss);
}

void losses_planned(struct worker *w, unsigned int reason)
{
	w->losses.m = NULL;
	count_loss(w, &w->losses.relayed, reason);
}

void losses_hold(struct worker *w, struct rte_mbuf *m)
{
	struct losses_held *h = &mbuf_meta_of(m)->held;

	*h = (struct losses_held){.relayed.slot = TURN_NONE};
	if (m != w->losses.m)
		return;
	h->relayed = w->losses.relayed;
	h->number = turn_usage_number(w->shard, h->relayed.slot);
}

void losses_held(struct worker *w, struct rte_mbuf *m, unsigned int reason)
{
	const struct losses_held *h = &mbuf_meta_of(m)->held;

	if (h->relayed.slot != TURN_NONE &&
		h->number == turn_usage_number(w->shard, h->relayed.slot))
		count_loss(w, &h->relayed, reason);
}
