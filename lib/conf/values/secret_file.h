// SPDX-License-Identifier: BSD-3-Clause
// Secrets in separate files.
#pragma once

struct conf_ctx;
struct conf_key;
struct conf_node;

// Each reads a secret from the file that a scalar, or an item of a list, names. The secret goes
// into base, and replaces the text of the node, where it is compared and wiped like any other. A
// relative name is looked for in $CREDENTIALS_DIRECTORY if that is set, else in the directory of
// the file that has the node. A line feed at the end is not part of the secret. Errors never quote
// a name, because people write secrets there. 0 or -EINVAL.
int conf_secret_file_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_secret_file_read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
