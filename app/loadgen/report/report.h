// SPDX-License-Identifier: BSD-3-Clause
// Text for people during a run: the request, its phases, and a row per period. report_result.h has
// the result in words, report_search.h the trials and the answer of a search. All of it goes to the
// FILE passed in. The caller owns that and checks it for write errors (ferror). The state of the
// table is kept between calls: main lcore only.
#pragma once

#include <stdio.h>

#include "options/config.h"
#include "measure/result.h"

// Describes the run in a few lines, before anything is sent.
void report_begin(FILE *f, const struct config *c);
// Prints the progress of set-up. Call it about once a second, and once at the end with `last`. On a
// terminal it rewrites one line; otherwise it prints a line every 5 s at most, and the last one.
void report_setup(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last);
// Prints the progress of the tear-down, like report_setup.
void report_teardown(
	FILE *f, const struct client_stats *s, uint32_t clients, double elapsed_s, bool last);
// Prints the row of one period, with a heading when it is time for one. r covers that period alone,
// latencies included. t: seconds since the traffic began, at the end of the period.
void report_period(FILE *f, const struct config *c, const struct result *r, double t);
