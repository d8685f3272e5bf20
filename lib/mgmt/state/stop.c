// SPDX-License-Identifier: BSD-3-Clause
// Handles the command stop of slipringctl: notes whether to keep calls, then sends SIGTERM to this
// process.
#include "state/stop.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dp_state.h"
#include "log/log.h"
#include "answers/shown.h"

enum order { AS_CONFIGURED, KEEP, FORGET };

// The last order to stop. The control thread writes it for a command, the management lcore for a
// drain that has ended. The management lcore reads it while the process stops.
static enum order ordered;

// True if calls can be kept. Otherwise reason says why not; it is empty if no file is configured.
static bool can_keep(const struct dp *d, char *reason, size_t len)
{
	struct dp_state s;

	reason[0] = '\0';
	if (!dp_state(d, &s))
		return false;
	snprintf(reason, len, "%s", s.unkept);
	return s.unkept[0] == '\0';
}

static bool keeps_calls(const struct dp *d, const struct conf *c, enum order o)
{
	char reason[320];

	return can_keep(d, reason, sizeof(reason)) &&
		(o == KEEP || (o == AS_CONFIGURED && c->state.on_stop == CONF_ON_STOP_KEEP));
}

enum command_end stop_command(struct command *c)
{
	const bool keep = json_is_true(json_object_get(c->in, "keep"));
	const bool forget = json_is_true(json_object_get(c->in, "forget"));
	const enum order o = keep ? KEEP : forget ? FORGET : AS_CONFIGURED;
	const struct conf *conf = c->control->conf;
	struct dp_stats s;
	char *text, reason[320];

	if (keep && forget)
		return commands_refuse(c, "keep, forget: only one of them makes sense");
	if (keep && conf->state.file == NULL)
		return commands_refuse(c,
			"keep: there is no state.file in the configuration that calls could be "
			"kept in");
	if (keep && !can_keep(c->control->dp, reason, sizeof(reason)))
		return commands_refuse(c, "keep: calls cannot be kept: %s", reason);
	text = commands_order(c);
	if (text == NULL)
		return commands_refuse(c, "no memory");
	LOG(CONTROL, NOTICE, "%s", text);
	free(text);
	dp_total_stats(c->control->dp, &s);
	json_object_set_new(c->out, "kept", json_boolean(keeps_calls(c->control->dp, conf, o)));
	json_object_set_new(c->out, "allocations", shown_number(s.turn.allocations));
	__atomic_store_n(&ordered, o, __ATOMIC_RELEASE);
	kill(getpid(), SIGTERM);
	return COMMAND_DONE;
}

void stop_drained(bool keep)
{
	enum order none = AS_CONFIGURED;

	__atomic_compare_exchange_n(
		&ordered, &none, keep ? KEEP : FORGET, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void stop_settle(struct dp *d, const struct conf *c)
{
	const enum order o = __atomic_load_n(&ordered, __ATOMIC_ACQUIRE);

	if (c->state.file == NULL)
		return;
	dp_state_forget(d, !keeps_calls(d, c, o));
	LOG(START, INFO,
		keeps_calls(d, c, o) ? "calls are kept in %s for the next process"
				     : "calls end, and %s is removed",
		c->state.file);
}
