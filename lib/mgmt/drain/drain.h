// SPDX-License-Identifier: BSD-3-Clause
// A drain: new allocations are refused, live ones go on, and when there are few enough, or its time
// is up, the appliance ends. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct dp;
struct mgmt_alternates;
struct mgmt_drain;
struct mgmt_reload;

// What an order says. What it leaves out is the configuration's at first, and stays as it is where
// the appliance drains already.
struct mgmt_drain_order {
	bool has_deadline, has_below, has_keep;
	uint32_t deadline_s; // from the order on; 0 = none
	uint32_t below;
	bool keep; // what is left at the end is kept for the next process, and does not end
};

struct mgmt_drain_state {
	bool draining; // from the order on
	uint64_t since_s; // time of day of the order
	bool has_deadline;
	uint64_t left_s; // until the deadline
	uint64_t below;
	bool keep;
	uint64_t allocations; // left
	uint64_t refused; // new ones, since
};

enum mgmt_drain_step {
	MGMT_DRAIN_WAITS, // a tick is soon enough
	MGMT_DRAIN_SOON, // to be called again within milliseconds
	MGMT_DRAIN_ENDED, // the appliance has to end
};

// NULL without memory. All must stay valid until mgmt_drain_close.
struct mgmt_drain *mgmt_drain_open(struct dp *d, const struct conf *c, struct mgmt_reload *r);
// Before dp_stop. NULL is fine.
void mgmt_drain_close(struct mgmt_drain *m);
// Orders a drain, or changes the one that goes on. by: who orders it, for the log. Any thread.
void mgmt_drain_ask(
	struct mgmt_drain *m, const char *requester, const struct mgmt_drain_order *order);
// Takes it back. Without a drain it does nothing. Any thread.
void mgmt_drain_undo(struct mgmt_drain *m, const char *requester);
// Goes on with what was ordered, and with what the load asks for (drain/alternates.h). now_ms:
// monotonic. Management lcore.
enum mgmt_drain_step mgmt_drain_tick(struct mgmt_drain *m, uint64_t now_ms);
// Any thread.
void mgmt_drain_state(struct mgmt_drain *m, struct mgmt_drain_state *out);
// What workers are told of other servers; it is the drain's. Any thread.
struct mgmt_alternates *mgmt_drain_alternates(const struct mgmt_drain *m);
