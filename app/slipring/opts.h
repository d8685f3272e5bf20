// SPDX-License-Identifier: BSD-3-Clause
// The command line.
#pragma once

#include <stddef.h>
#include <stdio.h>

enum opts_action {
	OPTS_RUN,
	OPTS_CHECK,
	OPTS_DRIVER,
	OPTS_NEEDS,
	OPTS_MANUAL,
	OPTS_LAYOUT,
	OPTS_VERSION,
	OPTS_HELP
};

struct opts {
	enum opts_action action;
	const char *config; // path; NULL unless the action needs a file
	const char *drivers; // directory of driver profiles; NULL = that of the configuration
	const char *driver; // driver whose values OPTS_DRIVER shows
	char **eal; // the arguments after --
	unsigned int nb_eal;
};

// Parses the command line. 0, or -1 with a reason in error. o points into argv.
int opts_parse(struct opts *o, int argc, char **argv, char *error, size_t len);
void opts_help(FILE *out);
