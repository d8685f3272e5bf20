// SPDX-License-Identifier: BSD-3-Clause
// What people read: what is about to run, its phases, a row per period, and the result in words.
// All of it goes to the FILE passed in. The caller owns that and checks it for write errors
// (ferror). The state of the table is kept between calls: main lcore only.
#pragma once

#include <stdio.h>

#include "options/config.h"
#include "measure/result.h"

// Prints what is about to run, in a few lines, before anything is sent.
void report_begin(FILE *f, const struct config *c);
// Prints the progress of set-up. Call it about once a second, and once at the end with `last`. On a
// terminal it rewrites one line; otherwise it prints a line every 5 s at most, and the last one.
void report_setup(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last);
// The same for the tear-down.
void report_teardown(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last);
// Prints the row of one period, with a heading when it is time for one. r covers that period alone,
// latencies included. t: seconds since the traffic began, at the end of the period.
void report_period(FILE *f, const struct config *c, const struct result *r, double t);
// Prints the summary of a run. drops: the server's drops during the run, by name; NULL = not known.
void report_result(
	FILE *f, const struct config *c, const struct result *r, const struct server_drops *drops);
// Prints one trial of a search with its verdict. number counts from 1.
void report_trial(FILE *f, const struct search_trial *t, unsigned int number);
// Prints the answer of a search that has ended or was stopped.
void report_search(FILE *f, const struct config *c, const struct search *s);

// --- for the files of the report and for json.c --------------------------------------------------

// Sums over the directions of media. The way up of an echo is not counted in addition to the echo.
struct report_totals {
	uint64_t sent, received; // received: delivered at the far end, each counted once
	double send_pps, recv_pps;
};
struct report_totals report_totals(const struct result *r);
// Returns a latency in microseconds; below zero when none was measured.
double report_latency_us(const struct result *r, enum direction d, double quantile);
// Returns "ndr", "pdr" or "alloc-rate"; NULL without a search.
const char *report_search_name(enum search_wanted w);
// Returns the reason phrase of a STUN error code; "" when it is not known.
const char *report_error_text(unsigned int code);
