// SPDX-License-Identifier: BSD-3-Clause
// Output of the results.
#pragma once

#include <stdio.h>

#include "result.h"

struct report {
	const char *server; // as the user wrote it
	const char *host;
	bool ok; // all transports that count work
	int64_t now_s; // Unix time
	unsigned int n;
	struct result result[NB_TRANSPORTS];
};

// Sets p->ok: every transport that is not absent must work, and at least one must not be absent. If
// all are absent, they become faults.
void report_judge(struct report *p);
// Write the results: for people, as one JSON object, or as metrics of Prometheus.
void report_text(FILE *out, const struct report *p);
void report_json(FILE *out, const struct report *p);
void report_prometheus(FILE *out, const struct report *p);
