// SPDX-License-Identifier: BSD-3-Clause
// Applies log.* and records.* of a configuration file that was read again.
#include "reload/own_change.h"

#include <string.h>

#include "log/bursts.h"
#include "clock.h"
#include "conf.h"
#include "events/events.h"
#include "log/log.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_sinks(const struct conf_records *a, const struct conf_records *b)
{
	return same_text(a->file, b->file) && a->rotate == b->rotate && a->keep == b->keep &&
		a->max_age_s == b->max_age_s && a->journal == b->journal &&
		a->syslog == b->syslog && a->refusals == b->refusals && a->peers == b->peers;
}

int own_change_prepare(struct own_change *o, const struct own_parts *p, const struct conf *running,
	const struct conf *fresh, char error[CONF_ERROR_LEN])
{
	if (same_sinks(&running->records, &fresh->records))
		return 0;
	o->events = mgmt_events_prepare(p->events, fresh, error, CONF_ERROR_LEN);
	return o->events != NULL ? 0 : -1;
}

void own_change_take(struct own_change *o, const struct own_parts *p, const struct conf *running,
	const struct conf *fresh)
{
	if (o->events != NULL)
		mgmt_events_change(p->events, o->events);
	o->events = NULL;
	if (running->log.bursts_s != fresh->log.bursts_s) {
		mgmt_bursts_stop(p->bursts);
		if (mgmt_bursts_start(
			    p->bursts, p->dp, fresh->log.bursts_s, clock_monotonic_ms()) != 0)
			LOG(WORKERS, ERR, "out of memory: lines on bursts are disabled");
	}
	mgmt_log_change(&running->log, &fresh->log);
}

void own_change_free(struct own_change *o)
{
	mgmt_events_change_free(o->events);
	o->events = NULL;
}
