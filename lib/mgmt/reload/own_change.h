// SPDX-License-Identifier: BSD-3-Clause
// The changes of a reload to management itself: the log, the sinks of records, the lines on
// batching. Private to lib/mgmt.
#pragma once

struct conf;
struct dp;
struct mgmt_bursts;
struct mgmt_events;
struct mgmt_events_change;

// The parts that a change is applied to.
struct own_parts {
	struct dp *dp;
	struct mgmt_events *events;
	struct mgmt_bursts *bursts;
};

// The prepared change: everything that had to be opened first.
struct own_change {
	struct mgmt_events_change *events; // NULL: records keep their sinks
};

// Opens the sinks that fresh configures and running does not. 0, or -1 with the reason in error.
// Any thread, one at a time.
int own_change_prepare(struct own_change *o, const struct own_parts *p, const struct conf *running,
	const struct conf *fresh, char error[512]);
// Applies the change, and takes ownership of its parts. It cannot fail. Management lcore.
void own_change_take(struct own_change *o, const struct own_parts *p, const struct conf *running,
	const struct conf *fresh);
// Closes an unused change. o may be all zero.
void own_change_free(struct own_change *o);
