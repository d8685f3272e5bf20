// SPDX-License-Identifier: BSD-3-Clause
// What one file takes along while it is read and checked.
#pragma once

#include <stdint.h>

struct conf;
struct hash_key;
struct conf_node;
struct conf_report;
struct conf_table;

struct conf_ctx {
	const char *path; // of the file
	const char *included; // the file that is being included; NULL = the file itself
	char *error; // CONF_ERROR_LEN bytes: the first error
	struct conf_report *report; // is told every error; NULL = nobody is told
	uint32_t errors;
	struct conf_node *root; // NULL until the text has become a tree
	const struct conf_table *keys; // all keys the file may hold
	const struct hash_key *hash; // of secrets, in what is noted of the file; NULL = nothing is
	struct conf *conf; // NULL when the file is a driver profile
};
