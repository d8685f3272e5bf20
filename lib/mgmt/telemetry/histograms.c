// SPDX-License-Identifier: BSD-3-Clause
// Histograms include the bounds of their classes, so that readers need not know them. The last
// class has no upper bound.
#include "telemetry/histograms.h"

#include "dpdk_compat.h"
#include "telemetry/rows.h"

// A histogram: its counts, their number, and the bound of each class.
struct histogram {
	const char *bounds, *hist, *sum; // names of its fields
	const uint64_t *counts;
	unsigned int nb;
	uint64_t (*bound)(unsigned int class);
	uint64_t total;
};

static void add_histogram(struct rte_tel_data *t, const struct histogram *h)
{
	uint64_t bounds[64];

	for (unsigned int i = 0; i < h->nb; i++)
		bounds[i] = h->bound(i);
	mgmt_rows_add_array(t, h->bounds, bounds, h->nb - 1);
	mgmt_rows_add_array(t, h->hist, h->counts, h->nb);
	rte_tel_data_add_dict_u64(t, h->sum, h->total);
}

void mgmt_sums_add_histograms(
	struct rte_tel_data *t, const struct dp_stats *s, const struct turn_sums *u)
{
	const struct histogram all[] = {
		{"time_bounds_ns", "time_hist", "time_sum_ns", s->time_hist, DP_TIME_CLASSES,
			dp_time_bound, s->time_ns},
		{"lifetime_bounds_s", "lifetime_hist", "lifetime_sum_s", u->lifetimes,
			TURN_LIFETIME_CLASSES, turn_lifetime_bound, u->lifetime_s},
		{"bytes_bounds", "bytes_hist", "bytes_sum", u->sizes, TURN_SIZE_CLASSES,
			turn_size_bound, u->ended_bytes},
	};

	for (unsigned int i = 0; i < RTE_DIM(all); i++)
		add_histogram(t, &all[i]);
}

void mgmt_sums_add_realm(struct rte_tel_data *t, const char *realm, const struct dp_realm *r)
{
	const struct turn_sums *u = &r->sums;
	char text[128], name[64];

	rte_tel_data_add_dict_string(t, "realm", mgmt_rows_text(realm, text, sizeof(text)));
	rte_tel_data_add_dict_u64(t, "allocations", r->allocations);
	rte_tel_data_add_dict_u64(t, "allocations_total", u->made);
	rte_tel_data_add_dict_u64(t, "rx", u->datagrams[TURN_FROM_CLIENT]);
	rte_tel_data_add_dict_u64(t, "tx", u->datagrams[TURN_FROM_PEER]);
	rte_tel_data_add_dict_u64(t, "rx_bytes", u->bytes[TURN_FROM_CLIENT]);
	rte_tel_data_add_dict_u64(t, "tx_bytes", u->bytes[TURN_FROM_PEER]);
	for (unsigned int i = 0; i < TURN_LOSS_END; i++) {
		snprintf(name, sizeof(name), "lost_%s", turn_loss_name(i));
		rte_tel_data_add_dict_u64(t, name, u->lost[i]);
	}
}
