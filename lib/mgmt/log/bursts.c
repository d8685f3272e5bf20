// SPDX-License-Identifier: BSD-3-Clause
// Logs batching: how full the recent bursts of each worker were. DPDK gets its speed from full
// bursts, so short bursts are the first thing to look for.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "log/bursts.h"
#include "log/text_line.h"
#include "log/log.h"

const char *const mgmt_bursts_classes[DP_BURST_CLASSES] = {"1", "2", "3-4", "5-8", "9-16", "17-32"};

// Writes a number in up to five characters: 9999, 12.3k, 456k, 1.23M.
static void put_count(struct mgmt_line *l, uint64_t v)
{
	static const char units[] = "kMGTPE";
	unsigned int unit = 0;
	double x = (double)v / 1000;

	if (v < 10000) {
		mgmt_line_add(l, "%" PRIu64, v);
		return;
	}
	// 999.5 and more would print as 1000 of this unit, so use the next unit
	for (; x >= 999.5; unit++)
		x /= 1000;
	mgmt_line_add(l, "%.*f%c", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[unit]);
}

static void put_hist(struct mgmt_line *l, const char *name, const uint64_t hist[DP_BURST_CLASSES])
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < DP_BURST_CLASSES; i++)
		sum += hist[i];
	mgmt_line_add(l, "; %s%s", name, sum == 0 ? " none" : "");
	for (unsigned int i = 0; i < DP_BURST_CLASSES && sum > 0; i++) {
		mgmt_line_add(l, " %s:", mgmt_bursts_classes[i]);
		put_count(l, hist[i]);
	}
}

double mgmt_bursts_ratio(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

size_t mgmt_bursts_line(char *buf, size_t len, unsigned int worker, const struct dp_stats *s)
{
	struct mgmt_line l = {.buf = buf, .len = len};
	const uint64_t polls = s->rx_bursts + s->rx_empty;

	mgmt_line_add(&l, "worker %u: ", worker);
	put_count(&l, polls);
	mgmt_line_add(&l, " polls, %.1f %% empty, else %.1f packets",
		100 * mgmt_bursts_ratio(s->rx_empty, polls),
		mgmt_bursts_ratio(s->rx, s->rx_bursts));
	put_hist(&l, "rx", s->rx_hist);
	put_hist(&l, "tx", s->tx_hist);
	put_hist(&l, "hand-over", s->hand_hist);
	mgmt_line_add(&l, "; no-mbuf %" PRIu64 "; tx short %" PRIu64 ", retried %" PRIu64,
		s->drop[DP_DROP_NO_MBUF], s->tx_short, s->tx_retried);
	if (s->uso_frames > 0) {
		mgmt_line_add(&l, "; uso ");
		put_count(&l, s->uso_frames);
		mgmt_line_add(&l, " frames of %.1f, %.1f %% of tx",
			mgmt_bursts_ratio(s->uso_segments, s->uso_frames),
			100 * mgmt_bursts_ratio(s->uso_segments, s->tx));
	}
	return l.used;
}

int mgmt_bursts_start(struct mgmt_bursts *b, const struct dp *d, uint32_t every_s, uint64_t now_ms)
{
	*b = (struct mgmt_bursts){.every_ms = (uint64_t)every_s * 1000};
	b->due_ms = now_ms + b->every_ms;
	if (every_s == 0)
		return 0;
	b->before = calloc(dp_workers(d), sizeof(*b->before));
	return b->before != NULL ? 0 : -ENOMEM;
}

void mgmt_bursts_tick(struct mgmt_bursts *b, const struct dp *d, uint64_t now_ms)
{
	if (b->before == NULL || now_ms < b->due_ms)
		return;
	// due_ms stays on the grid of every_ms: a late tick does not shorten the next interval
	b->due_ms = now_ms + b->every_ms - (now_ms - b->due_ms) % b->every_ms;
	for (unsigned int w = 0; w < dp_workers(d); w++) {
		char text[MGMT_LOG_LINE_LEN];
		struct dp_stats now, lately;

		if (!dp_worker_stats(d, w, &now))
			continue;
		dp_stats_since(&now, &b->before[w], &lately);
		b->before[w] = now;
		mgmt_bursts_line(text, sizeof(text), w, &lately);
		LOG(WORKERS, INFO, "%s", text);
	}
}

void mgmt_bursts_stop(struct mgmt_bursts *b)
{
	free(b->before);
	b->before = NULL;
}
