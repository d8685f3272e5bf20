// SPDX-License-Identifier: BSD-3-Clause
// Orders the lanes to begin a phase and waits until they have; reads the server's drop counters.
#include "session.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>

#include "lanes/lane.h"
#include "report/telemetry.h"

#define STEP_MS 10
#define FOLLOW_NS (20 * 1000) // pause between checks that all lanes have begun a phase

int session_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("slipring-loadgen: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return 1;
}

double session_seconds(const struct session *s, uint64_t since)
{
	return (double)(rte_rdtsc() - since) / (double)s->e->hz;
}

void session_step(void)
{
	const struct timespec ts = {.tv_nsec = STEP_MS * 1000000L};

	nanosleep(&ts, NULL);
}

void session_order(struct engine *e, enum phase phase)
{
	const struct timespec ts = {.tv_nsec = FOLLOW_NS};

	e->since = rte_rdtsc();
	__atomic_store_n(&e->phase, phase, __ATOMIC_RELEASE);
	while (!lane_all_follow(e))
		nanosleep(&ts, NULL);
}

// --- drop counters of the server -----------------------------------------------------------------

void session_drops_before(struct session *s)
{
	char error[256];

	if (s->c->telemetry == NULL)
		return;
	s->has_drops =
		telemetry_drops(s->c->telemetry, &s->drops_before, error, sizeof(error)) == 0;
	if (!s->has_drops)
		session_fail("%s: the server's drop counters will be missing", error);
}

void session_drops_after(struct session *s)
{
	char error[256];

	if (!s->has_drops)
		return;
	s->has_drops = telemetry_drops(s->c->telemetry, &s->drops, error, sizeof(error)) == 0;
	if (!s->has_drops)
		session_fail("%s: the server's drop counters are missing", error);
	else
		telemetry_drops_delta(&s->drops, &s->drops_before);
}

// --- creating and freeing ------------------------------------------------------------------------

int session_init(struct session *s, struct engine *e)
{
	const bool json_out = e->config->json != NULL && strcmp(e->config->json, "-") == 0;

	*s = (struct session){.e = e, .c = e->config, .out = json_out ? stderr : stdout};
	s->before = calloc(1, sizeof(*s->before));
	s->last = calloc(1, sizeof(*s->last));
	s->now = calloc(1, sizeof(*s->now));
	s->result = result_create();
	s->row = result_create();
	if (s->before == NULL || s->last == NULL || s->now == NULL || s->result == NULL ||
		s->row == NULL)
		return session_fail("out of memory");
	return 0;
}

void session_fini(struct session *s)
{
	free(s->before);
	free(s->last);
	free(s->now);
	free(s->search);
	result_free(s->result);
	result_free(s->row);
}
