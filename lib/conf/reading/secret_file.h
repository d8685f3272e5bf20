// SPDX-License-Identifier: BSD-3-Clause
// Secrets that stand in files of their own.
#pragma once

struct conf_ctx;
struct conf_key;
struct conf_node;

// Each reads the secret out of the file that a scalar names, or an item of a list, into base and
// into the text of the node, where it is compared and wiped like any other. A relative name is one
// in $CREDENTIALS_DIRECTORY if that is set, else in the directory of the file that has the node. A
// line feed at the end is no part of the secret. No reason tells a name: people put secrets there.
// 0 or -EINVAL.
int conf_secret_file_read(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
int conf_secret_file_read_list(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base);
