// SPDX-License-Identifier: BSD-3-Clause
// Reads prefixes from separate files, for lists that programs generate. Private to lib/conf.
#pragma once

#include "reading/ctx.h"

struct conf_key;
struct conf_node;

// Appends the prefixes of the file that n names to the list of k. Adds a digest of the file's
// content to the text of n, for comparing. 0, or -EINVAL after reporting the errors at their lines.
int conf_prefix_file_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
