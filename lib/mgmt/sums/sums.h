// SPDX-License-Identifier: BSD-3-Clause
// Telemetry of histograms and of what a realm has relayed. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"
#include "dp_realms.h"

struct rte_tel_data;

// Each adds fields to the dictionary t.
// u: the sums of all realms, of the worker or workers that *s is of.
void mgmt_sums_add_histograms(
	struct rte_tel_data *t, const struct dp_stats *s, const struct turn_sums *u);
// What a realm has relayed.
void mgmt_sums_add_realm(struct rte_tel_data *t, const char *name, const struct dp_realm *r);
