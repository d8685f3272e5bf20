// SPDX-License-Identifier: BSD-3-Clause
// What --check says: all problems of a file, in the order of their places, each once.
#pragma once

#include <stdio.h>

#include "conf.h"

struct check_said {
	struct said_line *line;
	unsigned int nb, room;
};

// Keeps a problem; for conf_report, with a struct check_said. Ends the process without memory.
void check_said_keep(void *said, enum conf_weight weight, const char *line);
// Prints what was kept, the problems of `file` before those of others: "error: FILE:LINE:COL: ...".
// prefix: what stands before each line. nb: how many were printed, by weight.
void check_said_print(struct check_said *s, const char *file, FILE *out,
	const char *(*prefix)(enum conf_weight weight), unsigned int nb[2]);
// Frees what was kept.
void check_said_free(struct check_said *s);
