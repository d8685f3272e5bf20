// SPDX-License-Identifier: BSD-3-Clause
// Selects the servers that workers redirect clients to, and when: those of a drain, or those of the
// section alternate. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_alternates.h"

struct conf;
struct dp;
struct mgmt_alternates;

struct mgmt_alternates_state {
	uint32_t servers; // in alternate.servers; 0: all other fields are 0, too
	uint32_t allocations_from, datagrams_from; // of alternate
	bool sends; // new clients are redirected now, without a drain
	enum turn_alternates_when reason; // the reason while `sends` is true
	uint64_t datagrams; // relayed in the last second; 0 unless the rule needs it
	uint64_t sent; // requests refused for it since the start, including repeated ones
};

// NULL without memory. Both arguments must stay valid until mgmt_alternates_close. Management
// lcore.
struct mgmt_alternates *mgmt_alternates_open(struct dp *d, const struct conf *c);
// NULL is fine.
void mgmt_alternates_close(struct mgmt_alternates *a);
// Adopts the current configuration, with the next mgmt_alternates_give. Management lcore.
void mgmt_alternates_reload(struct mgmt_alternates *a);
// Gives the workers a new rule, if it differs from their last one. They must have adopted that one.
// now_ms: monotonic. False without memory: the next call tries again. Management lcore.
bool mgmt_alternates_give(struct mgmt_alternates *a, bool draining, uint64_t now_ms);
// Copies the state. Any thread.
void mgmt_alternates_state(struct mgmt_alternates *a, struct mgmt_alternates_state *out);
