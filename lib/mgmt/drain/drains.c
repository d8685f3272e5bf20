// SPDX-License-Identifier: BSD-3-Clause
// The drain commands of the control socket.
#include "drain/drains.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf.h"
#include "drain/drain.h"
#include "log/log.h"
#include "socket/fields.h"
#include "answers/shown.h"

#define DEADLINE_MAX 2592000 // like drain.deadline
#define BELOW_MAX 16777216 // like drain.below

json_t *drains_shown(struct mgmt_drain *m)
{
	json_t *o = json_object();
	struct mgmt_drain_state s;

	mgmt_drain_state(m, &s);
	json_object_set_new(o, "draining", json_boolean(s.draining));
	if (!s.draining)
		return o;
	json_object_set_new(o, "since", shown_number(s.since_s));
	json_object_set_new(o, "deadline", s.has_deadline ? shown_number(s.left_s) : json_null());
	json_object_set_new(o, "below", shown_number(s.below));
	json_object_set_new(o, "keep", json_boolean(s.keep));
	json_object_set_new(o, "allocations", shown_number(s.allocations));
	json_object_set_new(o, "refused", shown_number(s.refused));
	return o;
}

bool drains_told(struct mgmt_drain *m, char *buf, size_t len)
{
	struct mgmt_drain_state s;

	mgmt_drain_state(m, &s);
	if (s.draining)
		snprintf(buf, len,
			"this server is draining: allocations left: %" PRIu64 ", new ones refused: "
			"%" PRIu64,
			s.allocations, s.refused);
	return s.draining;
}

static enum command_end answer_drain(struct command *c)
{
	json_object_set_new(c->out, "drain", drains_shown(c->control->drain));
	return COMMAND_DONE;
}

// Reads an optional number of the request. False if it is not a valid number; c->error has the
// reason.
static bool read_optional(
	struct command *c, const char *name, uint64_t hi, bool *has, uint32_t *out)
{
	const struct fields_range range = {0, hi};
	uint64_t value = 0;

	*has = json_object_get(c->in, name) != NULL;
	if (!fields_number(c, name, &range, &value))
		return false;
	*out = (uint32_t)value;
	return true;
}

enum command_end drains_drain(struct command *c)
{
	struct mgmt_drain_order o;
	char *order;

	if (!read_optional(c, "deadline", DEADLINE_MAX, &o.has_deadline, &o.deadline_s) ||
		!read_optional(c, "below", BELOW_MAX, &o.has_below, &o.below))
		return COMMAND_REFUSED;
	o.has_keep = json_object_get(c->in, "keep") != NULL;
	o.keep = json_is_true(json_object_get(c->in, "keep"));
	if (o.keep && c->control->conf->state.file == NULL)
		return commands_refuse(c,
			"keep: there is no state.file in the configuration that calls could be "
			"kept in");
	order = commands_order(c);
	if (order == NULL)
		return commands_refuse(c, "no memory");
	mgmt_drain_ask(c->control->drain, order, &o);
	free(order);
	return answer_drain(c);
}

enum command_end drains_undrain(struct command *c)
{
	char *order = commands_order(c);

	if (order == NULL)
		return commands_refuse(c, "no memory");
	mgmt_drain_undo(c->control->drain, order);
	free(order);
	return answer_drain(c);
}
