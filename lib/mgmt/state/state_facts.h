// SPDX-License-Identifier: BSD-3-Clause
// What became of the state area at the start: for the log, telemetry and the control socket.
// Private to lib/mgmt.
#pragma once

#include <jansson.h>

struct dp;
struct rte_tel_data;

// Logs it: what was taken up, what was not and why. Management lcore.
void state_facts_log(const struct dp *d);
// Adds it to a dictionary; nothing where there is no area. Any thread.
void state_facts_add(struct rte_tel_data *t, const struct dp *d);
// An object, or null where there is no area. The control thread only.
json_t *state_facts_shown(const struct dp *d);
