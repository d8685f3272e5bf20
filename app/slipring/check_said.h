// SPDX-License-Identifier: BSD-3-Clause
// The output of --check: all problems of a file, in the order of their places, each once.
#pragma once

#include <stdio.h>

#include "conf.h"

struct check_said {
	struct said_line *line;
	unsigned int nb, room;
};

// Stores a problem; a callback for conf_report, whose ctx is a struct check_said. Ends the process
// without memory.
void check_said_keep(void *said, enum conf_weight weight, const char *line);
// Prints the problems, those in `file` before those in other files: "error: FILE:LINE:COL: ...".
// prefix: returns the text before each line. nb: becomes the number of printed lines, by weight.
void check_said_print(struct check_said *s, const char *file, FILE *out,
	const char *(*prefix)(enum conf_weight weight), unsigned int nb[2]);
// Frees the stored problems.
void check_said_free(struct check_said *s);
