// SPDX-License-Identifier: BSD-3-Clause
// The command config: the running configuration and the file.
#include "answers/configs.h"

#include <stdlib.h>
#include <string.h>

#include "conf_changes.h"
#include "log/log.h"
#include "reload/in_use.h"
#include "reload/reload.h"
#include "answers/diffs.h"
#include "answers/shown.h"
#include "socket/fields.h"

#define SHOW_BYTES (CLIENTS_ANSWER_MAX / 4) // of lines in a page; JSON may triple them

// The result of the last reload, and whether one is running.
static enum command_end show_state(struct command *c)
{
	static const char *const ends[] = {[MGMT_RELOAD_NONE] = "none",
		[MGMT_RELOAD_SAME] = "same",
		[MGMT_RELOAD_DONE] = "done",
		[MGMT_RELOAD_REFUSED] = "refused"};
	struct mgmt_reload_state s;

	mgmt_reload_state(c->control->reload, &s);
	json_object_set_new(c->out, "file", shown_text(c->control->conf->path));
	json_object_set_new(c->out, "asked", shown_number(s.asked));
	json_object_set_new(c->out, "ended", shown_number(s.ended));
	json_object_set_new(c->out, "how", json_string(ends[s.how]));
	json_object_set_new(c->out, "at", shown_number(s.at_s));
	json_object_set_new(c->out, "changes", shown_number(s.changes));
	json_object_set_new(c->out, "allocations", shown_number(s.allocations));
	json_object_set_new(c->out, "text", shown_text(s.text));
	return COMMAND_DONE;
}

static void add_line(void *ctx, const char *line)
{
	json_array_append_new(ctx, json_string(line));
}

// The running configuration, from the place where the page before ended. `ended` tells a client
// that a reload came between two pages.
static enum command_end show_keys(struct command *c)
{
	struct conf_show how = {.effective = json_is_true(json_object_get(c->in, "effective")),
		.origin = json_is_true(json_object_get(c->in, "origin")),
		.hashes = c->client->role == ROLE_OWNER,
		.max = SHOW_BYTES};
	uint64_t first = 0;
	struct mgmt_reload_state s;
	json_t *lines;

	if (!fields_number(c, "from", &(struct fields_range){0, UINT32_MAX}, &first))
		return COMMAND_REFUSED;
	lines = json_array();
	mgmt_reload_state(c->control->reload, &s);
	in_use_read();
	first = conf_show(c->control->conf, &how, (uint32_t)first, add_line, lines);
	in_use_done();
	json_object_set_new(c->out, "file", shown_text(c->control->conf->path));
	json_object_set_new(c->out, "ended", shown_number(s.ended));
	json_object_set_new(c->out, "hashes", json_boolean(how.hashes));
	json_object_set_new(c->out, "lines", lines);
	if (first > 0)
		json_object_set_new(c->out, "next", shown_number(first));
	return COMMAND_DONE;
}

enum command_end configs_config(struct command *c)
{
	const json_t *action = json_object_get(c->in, "do");
	const char *text = json_string_value(action);
	char *order;

	if (action == NULL)
		return show_state(c);
	if (text != NULL && strcmp(text, "diff") == 0)
		return diffs_begin(c);
	if (text != NULL && strcmp(text, "show") == 0)
		return show_keys(c);
	if (text == NULL || strcmp(text, "reload") != 0)
		return commands_refuse(c, "do: must be reload, diff or show");
	order = commands_order(c);
	if (order == NULL)
		return commands_refuse(c, "no memory");
	mgmt_reload_ask(c->control->reload, order, true);
	free(order);
	return show_state(c);
}
