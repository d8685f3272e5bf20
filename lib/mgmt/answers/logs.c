// SPDX-License-Identifier: BSD-3-Clause
// The log command: areas, their levels and counts of lines. The records command, and the order to
// reopen the files of records. The watch command: the newest events.
#include "answers/logs.h"

#include <stdlib.h>
#include <string.h>

#include "events/events.h"
#include "log/log.h"
#include "socket/fields.h"
#include "records/records.h"
#include "answers/shown.h"

#define WATCHED 256 // events of an answer

static enum command_end show_areas(struct command *c)
{
	json_t *rows = json_array();
	struct mgmt_log_area a;

	for (unsigned int i = 0; mgmt_log_area(i, &a); i++) {
		json_t *o = json_object();

		json_object_set_new(o, "area", json_string(conf_area_name(i)));
		json_object_set_new(o, "level", json_string(conf_level_name(a.level)));
		json_object_set_new(o, "lines", shown_number(a.lines));
		json_object_set_new(o, "suppressed", shown_number(a.suppressed));
		json_array_append_new(rows, o);
	}
	json_object_set_new(c->out, "rows", rows);
	json_object_set_new(c->out, "lost", shown_number(mgmt_log_lost()));
	return COMMAND_DONE;
}

// Logs an order and its sender, before it is executed, because it may disable such lines.
static bool log_order(const struct command *c, const char *action)
{
	char *order = commands_order(c);

	if (order == NULL)
		return false;
	LOG(CONTROL, NOTICE, "%s by order %s", action, order);
	free(order);
	return true;
}

// The existing names, separated by commas.
static const char *list_names(const char *(*name)(unsigned int i), unsigned int n, char buf[160])
{
	buf[0] = '\0';
	for (unsigned int i = 0; i < n; i++) {
		const size_t used = strlen(buf);

		if (name(i) != NULL)
			snprintf(buf + used, 160 - used, "%s%s", used > 0 ? ", " : "", name(i));
	}
	return buf;
}

static const char *level_name(unsigned int i)
{
	return conf_level_name((int)i);
}

static enum command_end set_level(struct command *c)
{
	const char *area_text = json_string_value(json_object_get(c->in, "area"));
	const char *level_text = json_string_value(json_object_get(c->in, "level"));
	const int area = area_text != NULL ? conf_area_find(area_text) : -1;
	const int level = level_text != NULL ? conf_level_find(level_text) : -1;
	char names[160];

	if (area < 0)
		return commands_refuse(c, "area: must be one of %s",
			list_names(conf_area_name, CONF_AREA_END, names));
	if (level < 0)
		return commands_refuse(c, "level: must be one of %s",
			list_names(level_name, LOG_DEBUG + 1, names));
	if (!log_order(c, "log level set"))
		return commands_refuse(c, "no memory");
	mgmt_log_set((unsigned int)area, level);
	return show_areas(c);
}

static enum command_end reopen_files(struct command *c)
{
	struct records *r = mgmt_events_records(c->control->events);
	char buf[4096];
	const char *file = records_path(r, RECORDS_SESSIONS, buf, sizeof(buf));

	if (!json_is_true(json_object_get(c->in, "reopen")))
		return commands_refuse(c, "reopen: must be true");
	if (file == NULL)
		return commands_refuse(
			c, "reopen: records are not written to a file: see records.file");
	if (!log_order(c, "files of records reopened"))
		return commands_refuse(c, "no memory");
	records_reopen(r);
	json_object_set_new(c->out, "reopened", shown_text(file));
	return COMMAND_DONE;
}

enum command_end logs_log(struct command *c)
{
	const bool sets =
		json_object_get(c->in, "area") != NULL || json_object_get(c->in, "level") != NULL;

	if (json_object_get(c->in, "reopen") == NULL)
		return sets ? set_level(c) : show_areas(c);
	if (sets)
		return commands_refuse(c, "reopen: not together with area and level");
	return reopen_files(c);
}

enum command_end logs_records(struct command *c)
{
	struct records *r = mgmt_events_records(c->control->events);
	const struct records_counters n = records_counters(r);
	static const char *const name[RECORDS_FILES] = {"file", "refusals", "peers"};
	char buf[4096];

	for (enum records_sinks_file i = 0; i < RECORDS_FILES; i++)
		if (records_path(r, i, buf, sizeof(buf)) != NULL)
			json_object_set_new(c->out, name[i], shown_text(buf));
	json_object_set_new(c->out, "written", shown_number(n.written));
	json_object_set_new(c->out, "lost", shown_number(n.lost));
	json_object_set_new(c->out, "unsent", shown_number(n.unsent));
	json_object_set_new(c->out, "waiting", shown_number(n.waiting));
	return COMMAND_DONE;
}

// A client asks again and again, with the number that the last answer gave it. So nothing is kept
// for it, and it delays nobody.
enum command_end logs_watch(struct command *c)
{
	static struct record taken[WATCHED]; // too large for a stack
	uint64_t next = INT64_MAX, lost = 0;
	json_t *rows;
	unsigned int n;

	if (!fields_number(c, "after", &(struct fields_range){0, INT64_MAX}, &next))
		return COMMAND_REFUSED;
	rows = json_array();
	n = mgmt_events_recent(c->control->events, &next, &lost, taken, WATCHED);
	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(
			rows, records_line_object(&taken[i], &c->control->conf->turn));
	json_object_set_new(c->out, "rows", rows);
	json_object_set_new(c->out, "next", shown_number(next));
	json_object_set_new(c->out, "lost", shown_number(lost));
	return COMMAND_DONE;
}
