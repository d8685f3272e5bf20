// SPDX-License-Identifier: BSD-3-Clause
// Telemetry of histograms and of what a realm has relayed. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

struct rte_tel_data;

// Each adds fields to the dictionary t.
void mgmt_sums_add_histograms(struct rte_tel_data *t, const struct dp_stats *s);
// There is one realm, so all that is relayed is its.
void mgmt_sums_add_realm(struct rte_tel_data *t, const struct conf *c, const struct dp_stats *s);
