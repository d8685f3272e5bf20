// SPDX-License-Identifier: BSD-3-Clause
// What a file includes.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct conf_ctx;

#define CONF_INCLUDES_MAX 256 // files
#define CONF_INCLUDED_MAX (16u << 20) // bytes of all of them

// Puts the keys of the files that the key include names into the tree of the file: mappings are
// joined, lists appended, and what can be there only once is an error that names both places. The
// names of the files are kept in x->conf. 0 or -EINVAL.
int conf_include(struct conf_ctx *x);
// Writes to path where what a file includes by a name is. False when it includes nothing (NULL or
// ""), or when path has no room.
bool conf_include_path(const char *file, const char *name, char path[PATH_MAX]);
