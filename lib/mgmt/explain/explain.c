// SPDX-License-Identifier: BSD-3-Clause
// Shows the last attempts of a user or an address, and the likely cause of trouble.
#include "explain/explain.h"

#include <string.h>

#include "clock.h"
#include "dp_realms.h"
#include "events/event_text.h"
#include "events/events.h"
#include "records/records_line.h"
#include "explain/cause.h"
#include "socket/fields.h"
#include "answers/shown.h"

#define ROWS 16 // default number of attempts
#define ROWS_MAX 64

// An attempt with the fields of records, as far as the store has them, and explanations.
static json_t *row_of(const struct control *k, const struct attempt *a, uint64_t now_ms)
{
	static const char *const unknown[] = {
		"lifetime", "seconds", "from_client", "from_peers", "lost"};
	struct record r = {.event = attempts_event(a), .wall_ms = a->wall_ms};
	json_t *o;

	records_line_realm(&r, dp_realm_name(k->dp, a->realm));
	o = records_line_object(&r, &k->conf->turn);
	if (o == NULL)
		return NULL;
	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		json_object_del(o, unknown[i]);
	json_object_set_new(
		o, "ago", shown_number(now_ms > a->wall_ms ? (now_ms - a->wall_ms) / 1000 : 0));
	json_object_set_new(o, "times", shown_number(a->more > 0 ? a->more : 1));
	json_object_set_new(o, "text", json_string(event_text_why(&r.event).text));
	json_object_set_new(o, "advice", json_string(cause_advice(a)));
	return o;
}

static enum command_end answer_cause(struct command *c, const struct attempt *a, unsigned int n)
{
	const struct cause cause = cause_find(a, n);
	const uint64_t now = clock_wall_ms();
	json_t *rows = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(rows, row_of(c->control, &a[i], now));
	json_object_set_new(c->out, "rows", rows);
	json_object_set_new(c->out, "realms", shown_number(fields_realms(c->control) + 1));
	json_object_set_new(c->out, "cause", cause.wrong ? json_string(cause.text) : json_null());
	json_object_set_new(c->out, "advice", json_string(cause.advice));
	if (cause.row >= 0)
		json_object_set_new(c->out, "row", json_integer(cause.row));
	return COMMAND_DONE;
}

static bool field_source(struct command *c, bool *has, struct addr *out)
{
	const json_t *v = json_object_get(c->in, "source");
	const char *text = json_string_value(v);

	*has = v != NULL;
	if (v == NULL || (text != NULL && addr_parse(text, out) == 0))
		return true;
	commands_refuse(c, "source: must be an address, without a port or prefix");
	return false;
}

enum command_end explain(struct command *c)
{
	struct attempt found[ROWS_MAX];
	char name[FIELDS_NAME_LEN];
	uint64_t max = ROWS;
	struct addr source;
	bool named, placed, in_realm;
	uint8_t realm;
	unsigned int n;

	if (!fields_name(c, &named, name) || !fields_realm(c, &in_realm, &realm) ||
		!field_source(c, &placed, &source) ||
		!fields_number(c, "rows", &(struct fields_range){1, ROWS_MAX}, &max))
		return COMMAND_REFUSED;
	if (named == placed)
		return commands_refuse(c, "say whom: either user or source");
	if (named && !fields_whose(c, in_realm))
		return COMMAND_REFUSED;
	if (named)
		n = mgmt_events_of_user(c->control->events,
			&(struct attempts_who){name, strlen(name), realm}, found,
			(unsigned int)max);
	else
		n = mgmt_events_of_source(c->control->events, &source, found, (unsigned int)max);
	return answer_cause(c, found, n);
}
