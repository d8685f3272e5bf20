// SPDX-License-Identifier: BSD-3-Clause
// One run of the program as the main lcore sees it: the orders it gives to the lanes, the snapshots
// it takes of their counters, and what it prints. Used by run.c (the phases), traffic.c, seek.c
// (searches) and prompt.c.
#pragma once

#include <stdio.h>

#include "run.h"
#include "lanes/snapshot.h"

struct session {
	struct engine *e;
	const struct config *c;
	FILE *out; // text for people: stdout, or stderr when the JSON object goes to stdout
	// taken when the trial began, when the last row was printed, and just now
	struct snapshot *before, *last, *now;
	struct result *result; // of the last trial
	struct result *row; // of the last row of the table
	struct search *search; // NULL without a search
	struct server_drops drops, drops_before;
	bool has_drops; // the server has answered the request for its drop counters
	double setup_s; // duration of the set-up phase
};

// Returns 0, or 1 with the reason on stderr.
int session_init(struct session *s, struct engine *e);
void session_fini(struct session *s);

// Prints the reason on stderr. Always returns 1, the exit status.
int session_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// Returns the seconds that have passed since the TSC value `since`.
double session_seconds(const struct session *s, uint64_t since);
// Sleeps for a moment; a signal ends the sleep.
void session_step(void);
// Orders a phase and returns when all lanes have begun it: none of them is still at work on the
// phase before.
void session_order(struct engine *e, enum phase phase);

// Read the server's drop counters before and after the measurement, if --telemetry asked for it.
void session_drops_before(struct session *s);
void session_drops_after(struct session *s);
