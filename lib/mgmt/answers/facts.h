// SPDX-License-Identifier: BSD-3-Clause
// The commands that are answered at once, from counters and other data that any thread may read.
// Rates cover the last second or two, however often they are read. Private to lib/mgmt. The control
// thread only.
#pragma once

#include "dp.h"

struct command;
struct control;

// Counters of all workers at one time.
struct facts_look {
	uint64_t at_ms;
	struct dp_stats *stats; // by worker
};

struct facts {
	uint64_t started_ms;
	struct facts_look last, before; // a second apart
	struct facts_look now; // for the current request
};

// Allocates the counters. Returns 0 or -ENOMEM. Call facts_tick about once a second.
int facts_open(struct control *k);
void facts_tick(struct control *k);
void facts_close(struct control *k);

enum command_end facts_status(struct command *c);
enum command_end facts_drops(struct command *c);
enum command_end facts_workers(struct command *c);
enum command_end facts_steering(struct command *c);
enum command_end facts_ports(struct command *c); // ports_fact.c
