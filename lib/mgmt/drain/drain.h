// SPDX-License-Identifier: BSD-3-Clause
// A drain: new allocations are refused and existing ones continue. The server ends when few enough
// are left, or at the deadline. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf;
struct dp;
struct mgmt_drain;
struct mgmt_reload;

// The parameters of an order. Missing ones come from the configuration, or keep their values if the
// server drains already.
struct mgmt_drain_order {
	bool has_deadline, has_below, has_keep;
	uint32_t deadline_s; // seconds after the order; 0 = no deadline
	uint32_t below;
	bool keep; // keep the remaining allocations for the next process instead of closing them
};

struct mgmt_drain_state {
	bool draining; // true from the order on
	uint64_t since_s; // time of day of the order
	bool has_deadline;
	uint64_t left_s; // until the deadline
	uint64_t below;
	bool keep;
	uint64_t allocations; // remaining
	uint64_t refused; // new ones, since the order
};

enum mgmt_drain_step {
	MGMT_DRAIN_WAITS, // a tick is soon enough
	MGMT_DRAIN_SOON, // the next call should come within milliseconds
	MGMT_DRAIN_ENDED, // the server must end now
};

// NULL without memory. All arguments must stay valid until mgmt_drain_close.
struct mgmt_drain *mgmt_drain_open(struct dp *d, const struct conf *c, struct mgmt_reload *r);
// Call it before dp_stop. NULL is fine.
void mgmt_drain_close(struct mgmt_drain *m);
// Orders a drain, or changes the current one. requester: the name for the log. Any thread.
void mgmt_drain_ask(
	struct mgmt_drain *m, const char *requester, const struct mgmt_drain_order *order);
// Cancels the drain. Without a drain it does nothing. Any thread.
void mgmt_drain_undo(struct mgmt_drain *m, const char *requester);
// Advances the drain, and tells workers which new allocations to refuse. now_ms: monotonic.
// Management lcore.
enum mgmt_drain_step mgmt_drain_tick(struct mgmt_drain *m, uint64_t now_ms);
// Copies the state. Any thread.
void mgmt_drain_state(struct mgmt_drain *m, struct mgmt_drain_state *out);
