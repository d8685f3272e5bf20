// SPDX-License-Identifier: BSD-3-Clause
// What a reload changes of the management side itself: the log, the sinks of records, the lines on
// batching. Private to lib/mgmt.
#pragma once

struct conf;
struct dp;
struct mgmt_bursts;
struct mgmt_events;
struct mgmt_events_change;

// What takes up a change.
struct own_parts {
	struct dp *dp;
	struct mgmt_events *events;
	struct mgmt_bursts *bursts;
};

// What had to be opened first.
struct own_change {
	struct mgmt_events_change *events; // NULL: records go where they went
};

// Opens what fresh asks for and running does not. 0, or -1 with the reason in error. Any thread,
// one at a time.
int own_change_prepare(struct own_change *o, const struct own_parts *p, const struct conf *running,
	const struct conf *fresh, char error[512]);
// Takes it all up; o is used up. It cannot fail. Management lcore.
void own_change_take(struct own_change *o, const struct own_parts *p, const struct conf *running,
	const struct conf *fresh);
// Closes what was not taken. o may be all zero.
void own_change_free(struct own_change *o);
