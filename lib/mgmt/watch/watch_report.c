// SPDX-License-Identifier: BSD-3-Clause
// Describes the workers in a crash report: the stage of each one's round, and the headers of the
// packets that the crashed worker was processing.
#include "watch/watch_report.h"

#include <stdio.h>

#include "crash/crash.h"
#include "crash/crash_out.h"
#include "dp.h"
#include "port.h"
#include "watch/watched.h"

static struct {
	const struct dp *dp;
	const struct watched *by_lcore;
} state;

static bool has_number(unsigned int stage)
{
	return stage == DP_STAGE_PORT || stage == DP_STAGE_WORKER || stage == DP_STAGE_STREAM;
}

const char *watch_report_stage(
	const struct dp *d, const struct dp_progress *p, char *buf, size_t len)
{
	const char *stage = dp_stage_name(p->stage);

	if (stage == NULL)
		stage = "?";
	if (p->stage == DP_STAGE_PORT && p->source_id < dp_ports(d))
		snprintf(buf, len, "%s %s, %u packets", stage, dp_port(d, p->source_id)->name,
			p->taken);
	else if (has_number(p->stage))
		snprintf(buf, len, "%s %u, %u packets", stage, p->source_id, p->taken);
	else
		snprintf(buf, len, "%s", stage);
	return buf;
}

static void put_frames(struct crash_out *o, unsigned int worker, const struct dp_progress *p)
{
	static struct dp_headers h; // too large for the handler's stack
	const char *port = NULL;

	if (p->stage == DP_STAGE_PORT && p->source_id < dp_ports(state.dp))
		port = dp_port(state.dp, p->source_id)->name;
	for (unsigned int i = 0; i < p->taken; i++) {
		crash_out_text(o, "frame ");
		crash_out_number(o, i);
		if (dp_progress_headers(state.dp, worker, i, crash_copy, &h)) {
			crash_out_text(o, port != NULL ? " of port " : "");
			crash_out_text(o, port != NULL ? port : "");
			crash_out_text(o, ": ");
			crash_out_number(o, h.len);
			crash_out_text(o, " bytes, headers ");
			crash_out_bytes(o, h.bytes, h.nb);
		} else {
			crash_out_text(o, ": no headers");
		}
		crash_out_end(o);
	}
}

static void put_worker(struct crash_out *o, unsigned int i)
{
	const struct watched *t = &state.by_lcore[dp_worker_lcore(state.dp, i)];
	struct dp_progress p;

	if (!dp_progress(state.dp, i, &p))
		return;
	crash_out_text(o, "worker ");
	crash_out_number(o, i);
	crash_out_text(o, ": thread ");
	crash_out_number(o, (uint64_t)t->tid);
	crash_out_text(o, ", round ");
	crash_out_number(o, p.rounds);
	crash_out_text(o, ", stage ");
	crash_out_text(o, dp_stage_name(p.stage) != NULL ? dp_stage_name(p.stage) : "?");
	if (has_number(p.stage)) {
		crash_out_text(o, " ");
		crash_out_number(o, p.source_id);
		crash_out_text(o, ", packets ");
		crash_out_number(o, p.taken);
	}
	crash_out_end(o);
	if (t == watched_self())
		put_frames(o, i, &p);
}

static void report_workers(struct crash_out *o, void *ctx)
{
	for (unsigned int i = 0; i < dp_workers(state.dp); i++)
		put_worker(o, i);
}

void watch_report_open(const struct dp *d, const struct watched *by_lcore)
{
	if (d == NULL)
		crash_about(NULL, NULL);
	state.dp = d;
	state.by_lcore = by_lcore;
	if (d != NULL)
		crash_about(report_workers, NULL);
}
