// SPDX-License-Identifier: BSD-3-Clause
// Which other servers the workers send clients to, and when: those of a drain, or those of the
// section alternate. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_alternates.h"

struct conf;
struct dp;
struct mgmt_alternates;

struct mgmt_alternates_state {
	uint32_t servers; // in alternate.servers; 0 = the rest is 0, too
	uint32_t allocations_from, datagrams_from; // of alternate.when
	bool sends; // new clients are sent there now, while the box does not drain
	enum turn_alternates_when reason; // where it sends
	uint64_t datagrams; // relayed in the last second; 0 where that does not matter
	uint64_t sent; // refused for it since the start, repeated requests, too
};

// NULL without memory. Both must stay valid until mgmt_alternates_close. Management lcore.
struct mgmt_alternates *mgmt_alternates_open(struct dp *d, const struct conf *c);
// NULL is fine.
void mgmt_alternates_close(struct mgmt_alternates *a);
// Takes up the configuration as it is now; the next give has it. Management lcore.
void mgmt_alternates_reload(struct mgmt_alternates *a);
// Gives the workers what they should have, where that is something else than what they have. What
// was given last they have taken. now_ms: monotonic. False without memory: the next call tries
// again. Management lcore.
bool mgmt_alternates_give(struct mgmt_alternates *a, bool draining, uint64_t now_ms);
// Any thread.
void mgmt_alternates_state(struct mgmt_alternates *a, struct mgmt_alternates_state *out);
