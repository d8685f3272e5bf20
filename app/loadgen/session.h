// SPDX-License-Identifier: BSD-3-Clause
// One run of the program as the main lcore sees it: orders to the lanes, snapshots, what people are
// told. Used by run.c (the phases), seek.c (searches) and prompt.c.
#pragma once

#include <stdio.h>

#include "run.h"
#include "lanes/trial.h"

struct session {
	struct engine *e;
	const struct config *c;
	FILE *out; // for humans
	struct snapshot *before, *last, *now; // of a trial, of the last row, of this moment
	struct result *result; // of the last trial
	struct result *row;
	struct search *search; // NULL without one
	struct server_drops drops, drops_before;
	bool has_drops;
	double setup_s;
};

// 0, or 1 with the reason told.
int session_init(struct session *s, struct engine *e);
void session_fini(struct session *s);

// Tells why on stderr; always 1, the exit status.
int session_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// Since a TSC value.
double session_seconds(const struct session *s, uint64_t from);
// Sleeps for a moment, or until a signal.
void session_step(void);
// Returns when all lanes have begun with it: nothing of the phase before is under way in them.
void session_order(struct engine *e, enum phase phase);

// Traffic at a rate until traffic_end, which makes s->result of it. traffic_row tells a row of the
// table; t is the time since the begin.
void traffic_begin(struct session *s, double rate);
void traffic_end(struct session *s);
void traffic_row(struct session *s, double t);
// Another rate for the traffic under way.
void traffic_rate(struct session *s, double rate);
// Sends at a rate for a time, with rows of the table if told so; the result is in s->result.
void traffic_run(struct session *s, double rate, double duration, bool tell);
// The same load once, not measured: caches, neighbours, the server's own warming up.
void traffic_warm_up(struct session *s, double rate);

// The server's drop counters, if they were asked for: before and after what is measured.
void session_drops_before(struct session *s);
void session_drops_after(struct session *s);

// seek.c: all trials of a search; s->search is its state. 0 or 1.
int seek_run(struct session *s);
// prompt.c: commands from standard input until "quit" or its end.
void prompt_run(struct session *s);
