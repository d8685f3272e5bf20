// SPDX-License-Identifier: BSD-3-Clause
// Cuts a super-frame for a queue, and keeps the frames that cannot be sent at once. Later frames
// wait until all of them are sent, so that the order within a flow stays; frames without progress
// for a second are dropped.
#include "counter.h"
#include "super/super_kept.h"

#include "invariant.h"
#include "super/super.h"

bool super_kept_send(struct super_kept *k)
{
	while (k->nb > 0) {
		const uint16_t sent = k->send(k->queue, k->frame + k->first, k->nb);

		ASSERT(sent <= k->nb && k->first + k->nb <= SUPER_KEPT_MAX);
		if (sent == 0)
			return false;
		k->first = (uint16_t)(k->first + sent);
		k->nb = (uint16_t)(k->nb - sent);
		k->ticks = 0;
	}
	return true;
}

bool super_kept_cut(struct super_kept *k, struct rte_mbuf *m)
{
	const unsigned int n = port_super_cut(m, k->pool, k->frame, k->most);

	ASSERT(k->nb == 0 && k->most <= SUPER_KEPT_MAX && n <= k->most);
	if (n == 0) {
		const unsigned int frames = port_super_frames(m);
		const bool wrong = frames == 1 || frames > k->most;

		if (wrong) { // headers contradict it, or it is longer than we accept
			counter_add(k->errors, 1);
			rte_pktmbuf_free(m);
		}
		return wrong;
	}
	k->first = k->ticks = 0;
	k->nb = (uint16_t)n;
	if (!super_kept_send(k) && k->nb == n) {
		rte_pktmbuf_free_bulk(k->frame, n);
		k->nb = 0;
		return false;
	}
	counter_add(&k->cut, 1);
	rte_pktmbuf_free(m);
	return true;
}

void super_kept_tick(struct super_kept *k)
{
	if (likely(k->nb == 0) || super_kept_send(k))
		return;
	if (++k->ticks >= SUPER_KEPT_TICKS)
		super_kept_drop(k);
}

void super_kept_drop(struct super_kept *k)
{
	if (k->nb == 0)
		return;
	counter_add(k->errors, k->nb);
	rte_pktmbuf_free_bulk(k->frame + k->first, k->nb);
	k->nb = 0;
}
