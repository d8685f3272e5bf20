// SPDX-License-Identifier: BSD-3-Clause
// Included files.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct conf_ctx;

#define CONF_INCLUDES_MAX 256 // files
#define CONF_INCLUDED_MAX (16u << 20) // bytes of all files together

// Merges the files that the key include names into the tree of the main file: mappings are merged,
// lists appended, and a single value given twice is an error that names both places. x->conf keeps
// the names of the files. 0 or -EINVAL.
int conf_include(struct conf_ctx *x);
// Writes the path of the included file or directory to path. False if nothing is included (name is
// NULL or ""), or if path is too short.
bool conf_include_path(const char *file, const char *name, char path[PATH_MAX]);
