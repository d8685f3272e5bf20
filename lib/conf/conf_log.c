// SPDX-License-Identifier: BSD-3-Clause
// Names of the log's areas and levels, for the schema and for changing them at run time.
#include <string.h>
#include <syslog.h>

#include "conf_log.h"
#include "schema/schema.h"

const struct conf_choice conf_level_choices[] = {{"error", LOG_ERR}, {"warning", LOG_WARNING},
	{"notice", LOG_NOTICE}, {"info", LOG_INFO}, {"debug", LOG_DEBUG}, {NULL, 0}};

static const char *const area_names[] = {
#define X(id, name, meaning) [id] = name,
	CONF_AREAS(X)
#undef X
};

const char *conf_area_name(unsigned int area)
{
	return area < CONF_AREA_END ? area_names[area] : NULL;
}

int conf_area_find(const char *name)
{
	for (unsigned int i = 0; i < CONF_AREA_END; i++)
		if (strcmp(area_names[i], name) == 0)
			return (int)i;
	return -1;
}

const char *conf_level_name(int level)
{
	for (const struct conf_choice *c = conf_level_choices; c->name != NULL; c++)
		if (c->value == level)
			return c->name;
	return NULL;
}

int conf_level_find(const char *name)
{
	for (const struct conf_choice *c = conf_level_choices; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0)
			return c->value;
	return -1;
}

int conf_area_level(const struct conf_log *l, enum conf_area area)
{
	return l->areas[area] != 0 ? l->areas[area] : l->level;
}
