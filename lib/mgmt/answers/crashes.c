// SPDX-License-Identifier: BSD-3-Clause
// The command crash, which lists crash reports, and the command fault, which causes faults for
// tests.
#include "answers/crashes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crash/crash_files.h"
#include "crash/crash_out.h"
#include "log/log.h"
#include "socket/fields.h"
#include "answers/shown.h"
#include "watch/watch.h"

#define ROWS 100

// --- reports -------------------------------------------------------------------------------------

static json_t *row_of(const struct crash_file *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", shown_text(f->name));
	json_object_set_new(o, "at", shown_number((uint64_t)f->at_s));
	json_object_set_new(o, "bytes", shown_number(f->bytes));
	return o;
}

// A report consists of printable ASCII.
static json_t *lines_of(char *text)
{
	json_t *lines = json_array();
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0')
			json_array_append_new(lines, shown_text(line));
	return lines;
}

static enum command_end show_report(struct command *c, const char *name)
{
	char *text = malloc(CRASH_REPORT_MAX + 1);
	const int n = text != NULL
		? crash_files_read(watch_crashes(), name, text, CRASH_REPORT_MAX + 1)
		: -ENOMEM;

	if (n >= 0) {
		json_object_set_new(c->out, "name", shown_text(name));
		json_object_set_new(c->out, "lines", lines_of(text));
	}
	free(text);
	if (n == -EINVAL || n == -ENOENT)
		return commands_refuse(c, "name: there is no such report");
	return n >= 0 ? COMMAND_DONE : commands_refuse(c, "%s", strerror(-n));
}

enum command_end crashes_crash(struct command *c)
{
	const json_t *name = json_object_get(c->in, "name");
	const struct crash_files *files = watch_crashes();
	struct crash_file *rows;
	json_t *list;
	int n;

	if (name != NULL && json_string_value(name) == NULL)
		return commands_refuse(c, "name: must be a string");
	if (name != NULL)
		return show_report(c, json_string_value(name));
	rows = calloc(ROWS, sizeof(*rows));
	if (rows == NULL)
		return commands_refuse(c, "no memory");
	n = crash_files_list(files, rows, ROWS);
	list = json_array();
	for (int i = 0; i < n; i++)
		json_array_append_new(list, row_of(&rows[i]));
	free(rows);
	json_object_set_new(
		c->out, "directory", shown_text(files->fd >= 0 ? files->directory : ""));
	json_object_set_new(c->out, "rows", list);
	return COMMAND_DONE;
}

// --- faults --------------------------------------------------------------------------------------

#define MS_MAX 3600000

static bool read_fault(struct command *c, struct dp_fault_order *o)
{
	static const char *names[DP_FAULT_END + 1];
	unsigned int fault = DP_FAULT_END;
	uint64_t ms = 0;

	for (unsigned int i = 0; i < DP_FAULT_END; i++)
		names[i] = dp_fault_name(i);
	if (!fields_word(c, "what", names, &fault) ||
		!fields_number(c, "ms", &(struct fields_range){0, MS_MAX}, &ms))
		return false;
	*o = (struct dp_fault_order){.fault = (uint8_t)fault,
		.ms = (uint32_t)ms,
		.in_burst = json_is_true(json_object_get(c->in, "burst"))};
	return true;
}

static enum command_end order_fault(struct command *c, int worker, const struct dp_fault_order *o)
{
	const struct dp_question q = {.kind = DP_ASK_FAULT, .fault = *o};
	struct dp *d = c->control->dp;
	int rc;

	if (worker < 0) {
		if (o->fault != DP_FAULT_CALL && (o->fault != DP_FAULT_BLOCK || o->ms == 0))
			return commands_refuse(
				c, "management: only block, with ms, and call are supported");
		watch_fault(o);
		return COMMAND_DONE;
	}
	rc = dp_ask(d, (unsigned int)worker, &q);
	if (rc != 0)
		return commands_refuse(c, "worker: %s", strerror(-rc));
	dp_answer_done(d, (unsigned int)worker, q.kind); // the worker may never answer
	return COMMAND_DONE;
}

enum command_end crashes_fault(struct command *c)
{
	struct dp_fault_order o;
	int worker = -1;
	char *text;

	if (!c->control->conf->debug.faults)
		return commands_refuse(c, "faults are disabled: they are for tests alone");
	if (!read_fault(c, &o) || !fields_worker(c, &worker))
		return COMMAND_REFUSED;
	if (o.fault == DP_FAULT_END)
		return commands_refuse(c, "what: missing; see doc/slipringctl.md");
	text = commands_order(c);
	if (text == NULL)
		return commands_refuse(c, "no memory");
	LOG(CONTROL, NOTICE, "fault by order %s", text);
	free(text);
	return order_fault(c, worker, &o);
}
