// SPDX-License-Identifier: BSD-3-Clause
// Prefixes out of files of their own, for lists that a person does not write. Private to lib/conf.
#pragma once

#include "reading/ctx.h"

struct conf_key;
struct conf_node;

// Appends the prefixes of the file that n names to the list of k. n then says, for comparing, what
// is in it, too. 0, or -EINVAL with the errors told at their lines.
int conf_prefix_file_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
