// SPDX-License-Identifier: BSD-3-Clause
// Loads the file without applying it, and reports the differences.
#include "answers/diffs.h"

#include <string.h>

#include "conf_changes.h"
#include "reload/reload.h"
#include "socket/commands.h"
#include "answers/shown.h"

#define LOOK_US 2000 // interval of checks of the thread

#define ROWS 1000 // changes in an answer

static json_t *text_or_null(const char *text)
{
	return text != NULL ? shown_text(text) : json_null();
}

static void add_change(void *ctx, const struct conf_change *c)
{
	json_t *rows = ctx, *o = json_object();

	if (json_array_size(rows) == ROWS) {
		json_decref(o);
		return;
	}
	json_object_set_new(o, "key", shown_text(c->key));
	if (!c->secret && !c->entry) {
		json_object_set_new(o, "from", text_or_null(c->before));
		json_object_set_new(o, "to", text_or_null(c->after));
	}
	json_object_set_new(o, "change",
		json_string(!c->entry              ? "changed"
				: c->after != NULL ? "new"
						   : "gone"));
	json_object_set_new(o, "restart", json_boolean(!c->hot));
	json_array_append_new(rows, o);
}

static void *run_diff(void *arg)
{
	struct diffs *d = arg;

	d->changes =
		mgmt_reload_diff(d->reload, add_change, d->rows, d->error, sizeof(d->error) - 1);
	__atomic_store_n(&d->done, true, __ATOMIC_RELEASE);
	return NULL;
}

enum command_end diffs_begin(struct command *c)
{
	struct diffs *d = &c->control->diffs;

	if (d->runs)
		return commands_refuse(c, "another diff is under way: there is one at a time");
	*d = (struct diffs){.reload = c->control->reload,
		.rows = json_array(),
		.client = c->client,
		.out = c->out};
	if (d->rows == NULL || pthread_create(&d->thread, NULL, run_diff, d) != 0) {
		json_decref(d->rows);
		return commands_refuse(c, "no memory, or no thread");
	}
	pthread_setname_np(d->thread, "slipring-diff");
	d->runs = true;
	return COMMAND_LATER;
}

static void answer_client(struct control *k, struct diffs *d)
{
	const char *reason = d->error[0] != '\0' ? d->error : "no memory";

	if (d->changes < 0) {
		json_decref(d->rows);
		commands_answer(k, d->client, d->out, reason);
		return;
	}
	json_object_set_new(d->out, "rows", d->rows);
	json_object_set_new(d->out, "changes", shown_number((uint64_t)d->changes));
	json_object_set_new(
		d->out, "restart_keeps_calls", json_boolean(conf_restart_keeps(&k->conf->state)));
	commands_answer(k, d->client, d->out, NULL);
}

static void join_thread(struct diffs *d)
{
	pthread_join(d->thread, NULL);
	d->runs = false;
}

static void free_answer(struct diffs *d)
{
	json_decref(d->rows);
	json_decref(d->out);
}

int64_t diffs_step(struct control *k)
{
	struct diffs *d = &k->diffs;

	if (!d->runs)
		return -1;
	if (!__atomic_load_n(&d->done, __ATOMIC_ACQUIRE))
		return LOOK_US;
	join_thread(d);
	if (d->client != NULL)
		answer_client(k, d);
	else
		free_answer(d);
	return -1;
}

void diffs_gone(struct control *k, const struct client *c)
{
	if (k->diffs.client == c)
		k->diffs.client = NULL;
}

void diffs_close(struct control *k)
{
	if (!k->diffs.runs)
		return;
	join_thread(&k->diffs);
	free_answer(&k->diffs);
}
