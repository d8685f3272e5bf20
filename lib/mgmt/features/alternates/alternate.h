// SPDX-License-Identifier: BSD-3-Clause
// Decides when workers redirect clients, and to which servers: those of a drain, or those of the
// section alternate. The state has file scope: a process has one set of workers. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "turn_alternates.h"

struct conf;
struct dp;
struct rte_tel_data;
struct turn_intake;

struct mgmt_alternates_state {
	uint32_t servers; // in alternate.servers; 0: all other fields are 0, too
	uint32_t allocations_from, datagrams_from; // thresholds of the section alternate
	bool sends; // new clients are redirected now, without a drain
	enum turn_alternates_when reason; // the reason while `sends` is true
	uint64_t datagrams; // relayed in the last second; 0 unless the rule needs it
	uint64_t sent; // requests answered by a redirection since the start, repeated ones, too
};

// Call it before any other function here. Both arguments must stay valid. Management lcore.
void mgmt_alternates_open(struct dp *d, const struct conf *c);
// Adopts the current configuration, with the next mgmt_alternates_choose. Management lcore.
void mgmt_alternates_reload(void);
// Sets next->alternates and *changed, if the workers need a rule that differs from the last one.
// now_ms: monotonic. False without memory: the next call tries again. Management lcore.
bool mgmt_alternates_choose(bool drains, uint64_t now_ms, struct turn_intake *next, bool *changed);
// Copies the state. Any thread.
void mgmt_alternates_state(struct mgmt_alternates_state *out);

// --- alternate_shown.c ---------------------------------------------------------------------------

// Answers a telemetry command. Without servers, the answer is only their number. Any thread.
int alternate_telemetry(const char *params, struct rte_tel_data *out);
// The state as a JSON object. Without servers, it has only their number. Any thread.
json_t *alternate_json(void);
