// SPDX-License-Identifier: BSD-3-Clause
// Writes lines about the changes of a reload, and logs them later.
#include "reload/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_changes.h"
#include "log/log.h"

void told_write(void *ctx, const struct conf_change *c)
{
	struct told *t = ctx;
	char **line = &t->line[t->nb];
	int rc;

	t->all++;
	if (t->nb == TOLD_MAX)
		return;
	if (c->entry)
		rc = asprintf(line, "%s: %s", c->key, c->after != NULL ? "new" : "removed");
	else if (c->secret)
		rc = asprintf(line, "%s: changed", c->key);
	else
		rc = asprintf(line, "%s: %s -> %s", c->key,
			c->before != NULL ? c->before : "(none)",
			c->after != NULL ? c->after : "(none)");
	t->nb += rc >= 0;
}

void told_log(const struct told *t)
{
	for (unsigned int i = 0; i < t->nb; i++)
		LOG(CONFIG, NOTICE, "reload: %s", t->line[i]);
	if (t->all > t->nb)
		LOG(CONFIG, NOTICE, "reload: and %u more changes", t->all - t->nb);
}

void told_free(struct told *t)
{
	for (unsigned int i = 0; i < t->nb; i++)
		free(t->line[i]);
	memset(t, 0, sizeof(*t));
}
