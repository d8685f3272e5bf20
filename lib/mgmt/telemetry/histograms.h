// SPDX-License-Identifier: BSD-3-Clause
// Telemetry of histograms and of the datagrams of a realm. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"
#include "dp_realms.h"

struct rte_tel_data;

// Each adds fields to the dictionary t. u: the totals of all realms, for the worker or workers of
// *s.
void mgmt_sums_add_histograms(
	struct rte_tel_data *t, const struct dp_stats *s, const struct turn_sums *u);
// Adds the datagrams that a realm has relayed and lost.
void mgmt_sums_add_realm(struct rte_tel_data *t, const char *realm, const struct dp_realm *r);
