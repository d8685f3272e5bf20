// SPDX-License-Identifier: BSD-3-Clause
// State of reading and checking one file.
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
	char *error; // CONF_ERROR_LEN bytes, for the first error
	struct conf_report *report; // receives every error; may be NULL
	uint32_t errors;
	struct conf_node *root; // NULL until the text has become a tree
	const struct conf_table *keys; // all keys the file may hold
	const struct hash_key *hash; // for secrets in the recorded values; NULL = no recording
	struct conf *conf; // NULL when the file is a driver profile
};
