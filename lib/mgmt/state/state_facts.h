// SPDX-License-Identifier: BSD-3-Clause
// Reports the state area of the start to the log, telemetry and the control socket. Private to
// lib/mgmt.
#pragma once

#include <jansson.h>

struct dp;
struct rte_tel_data;

// Logs how many records were restored, and which were not and why. Management lcore.
void state_facts_log(const struct dp *d);
// Adds the report to a dictionary; nothing without a state area. Any thread.
void state_facts_add(struct rte_tel_data *t, const struct dp *d);
// The report as an object, or null without a state area. The control thread only.
json_t *state_facts_shown(const struct dp *d);
