// SPDX-License-Identifier: BSD-3-Clause
// What people see: what is about to run, its phases, a row a period, the result in words. Written
// to the FILE handed in, which belongs to the caller; write errors are his to find (ferror). Keeps
// the state of the table between calls: main lcore only.
#pragma once

#include <stdio.h>

#include "options/config.h"
#include "measure/result.h"

// A few lines before anything is sent.
void report_begin(FILE *f, const struct config *c);
// Progress of set-up, to be called about once a second and at its end (last). A terminal gets one
// line that is rewritten; anything else a line every 5 s at most, and the last.
void report_setup(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last);
// The same for the tear-down.
void report_teardown(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last);
// One period: r covers it alone, latencies included; t: seconds since the traffic began, at its
// end. Prints the heading when it is time for one.
void report_period(FILE *f, const struct config *c, const struct result *r, double t);
// The summary of a run. drops: what the server has dropped meanwhile, by name; NULL = not known.
void report_result(
	FILE *f, const struct config *c, const struct result *r, const struct server_drops *drops);
// One trial of a search, which has its verdict; number counts from 1.
void report_trial(FILE *f, const struct search_trial *t, unsigned int number);
// The answer of a search that is over, or has been stopped.
void report_search(FILE *f, const struct config *c, const struct search *s);

// --- for the files of the report and for json.c --------------------------------------------------

// Sums over ways of media: an echo's way up is not counted beside it.
struct report_totals {
	uint64_t sent, received; // received: delivered at the far end, once each
	double send_pps, recv_pps;
};
struct report_totals report_totals(const struct result *r);
// A latency in microseconds; below zero when nothing was measured.
double report_latency_us(const struct result *r, enum direction d, double quantile);
// "ndr", "pdr", "alloc-rate"; NULL without a search.
const char *report_search_name(enum search_wanted w);
// Reason phrase of a STUN error code; "" when it is not known.
const char *report_error_text(unsigned int code);
