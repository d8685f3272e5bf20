// SPDX-License-Identifier: BSD-3-Clause
// Collects the messages of --check, for its tests.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "test.h"

struct heard {
	unsigned int nb[2];
	char text[2048];
};

static inline void hear(void *ctx, enum conf_weight weight, const char *line)
{
	struct heard *h = ctx;

	h->nb[weight]++;
	snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s\n",
		line + strlen(conf_path) + 1);
}

static inline struct conf *load(const char *piece, const char *replacement)
{
	char *text = conf_file_edit(piece, replacement), error[CONF_ERROR_LEN];
	struct conf *c = conf_file_load(text, strlen(text), error);

	free(text);
	if (c == NULL)
		fail_msg("%s", error);
	return c;
}

static inline void assert_heard(
	const struct heard *h, unsigned int errors, unsigned int warnings, const char *text)
{
	if (h->nb[CONF_ERROR] != errors || h->nb[CONF_WARNING] != warnings ||
		strncmp(h->text, text, strlen(text)) != 0)
		fail_msg("wanted: %s\n   got: %s", text, h->text);
}
