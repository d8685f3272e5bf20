// SPDX-License-Identifier: BSD-3-Clause
// Compares two configuration files key by key.
#include "conf_changes.h"

#include <stdio.h>
#include <string.h>

#include "changes/hot_keys.h"
#include "changes/lacking.h"
#include "changes/said.h"
#include "conf.h"
#include "expanding/beside.h"
#include "reading/value.h"
#include "schema/schema.h"

#define SHOWN LACKING_LEN // bytes of a value that are shown

struct telling {
	void (*tell)(void *ctx, const struct conf_change *c);
	void *ctx;
	unsigned int nb;
	const char *under; // an entry that was added or removed: no key below it is reported
};

static const char *cut_text(const char *text, char buf[SHOWN])
{
	if (text == NULL || strlen(text) < SHOWN)
		return text;
	snprintf(buf, SHOWN, "%.*s...", SHOWN - 4, text);
	return buf;
}

// Reports a key that only one file has, or that has another value in each.
static void tell_change(struct telling *t, const struct said *old, const struct said *new)
{
	const struct said *any = old != NULL ? old : new;
	char before[SHOWN], after[SHOWN];
	struct conf_change c = {.key = any->path,
		.entry = any->text == NULL,
		.secret = any->secret,
		.hot = hot_is_hot(any->key->path)};

	t->nb++;
	if (c.entry) {
		t->under = any->path;
		c.before = old != NULL ? "" : NULL;
		c.after = new != NULL ? "" : NULL;
	} else if (!c.secret && conf_value_kind(any->key->type) == CONF_LIST) {
		c.before = old != NULL ? lacking(old->text, new != NULL ? new->text : "", before)
				       : NULL;
		c.after = new != NULL ? lacking(new->text, old != NULL ? old->text : "", after)
				      : NULL;
		if (old != NULL && new != NULL && c.before == NULL &&c.after == NULL)
			c.after = "(the same, in another order)";
		// a list without elements differs from a missing list
		if (new == NULL && c.before == NULL)
			c.before = "[]";
		if (old == NULL && c.after == NULL)
			c.after = "[]";
	} else if (!c.secret) {
		c.before = cut_text(old != NULL ? old->text : NULL, before);
		c.after = cut_text(new != NULL ? new->text : NULL, after);
	}
	if (t->tell != NULL)
		t->tell(t->ctx, &c);
}

static bool is_under(const struct telling *t, const char *path)
{
	const size_t len = t->under != NULL ? strlen(t->under) : 0;

	return len > 0 && strncmp(path, t->under, len) == 0 && path[len] == '.';
}

static void only_in(struct telling *t, const struct said *old, const struct said *new)
{
	if (!is_under(t, old != NULL ? old->path : new->path))
		tell_change(t, old, new);
}

// peers.allow is hot, except where it needs a port on the loopback: that is made at the start.
static void tell_beside(struct telling *t, const struct conf *before, const struct conf *after)
{
	const struct conf_change c = {.key = "peers.allow",
		.after = "(an address of this box, as the first one)",
		.hot = false};

	if (conf_beside_loopback(before) >= 0 || conf_beside_loopback(after) < 0)
		return;
	t->nb++;
	if (t->tell != NULL)
		t->tell(t->ctx, &c);
}

unsigned int conf_changes(const struct conf *before, const struct conf *after,
	void (*to_tell)(void *ctx, const struct conf_change *c), void *ctx)
{
	const struct conf_said *a = before->said, *b = after->said;
	struct telling t = {.tell = to_tell, .ctx = ctx};
	uint32_t i = 0, j = 0;

	while (i < a->nb_sorted || j < b->nb_sorted) {
		const struct said *old = i < a->nb_sorted ? a->sorted[i] : NULL;
		const struct said *new = j < b->nb_sorted ? b->sorted[j] : NULL;
		const int order = old == NULL ? 1 : new == NULL ? -1 : strcmp(old->path, new->path);

		if (order < 0)
			only_in(&t, old, NULL);
		else if (order > 0)
			only_in(&t, NULL, new);
		else if (old->text != NULL && strcmp(old->text, new->text) != 0)
			tell_change(&t, old, new);
		i += order <= 0;
		j += order >= 0;
	}
	tell_beside(&t, before, after);
	return t.nb;
}
