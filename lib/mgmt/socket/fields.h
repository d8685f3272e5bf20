// SPDX-License-Identifier: BSD-3-Clause
// Reads the fields of requests that select allocations and pages. Each function returns false with
// a reason in c->error if a field is invalid. Private to lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

#define FIELDS_ROWS 50 // default of a page
#define FIELDS_ROWS_MAX 512

// A number from lo to hi. *out does not change if the request has no such field.
struct fields_range {
	uint64_t lo, hi;
};
bool fields_number(
	struct command *c, const char *name, const struct fields_range *range, uint64_t *out);
// user: a name as answers write it, where %XX is an escaped byte; at most 512 bytes and a NUL.
// *has: the field exists.
#define FIELDS_NAME_LEN 513 // STUN's longest USERNAME, and more
bool fields_name(struct command *c, bool *has, char out[FIELDS_NAME_LEN]);
// realm: the name of a realm as answers write it. *has: the field exists; otherwise the number is
// that of the first realm.
#define FIELDS_REALM_LEN 764 // STUN's longest REALM, and a NUL
bool fields_realm(struct command *c, bool *has, uint8_t *number);
// Checks that a user comes with a realm if there are several.
bool fields_whose(struct command *c, bool in_realm);
// The number of realms besides the first.
uint32_t fields_realms(const struct control *k);
// id, user, realm, client or source, peer and transport, as far as the request has them.
bool fields_filter(struct command *c, struct turn_filter *f);
// One of the words of a list that ends with NULL: *out becomes its index, or does not change if the
// request has no such field.
bool fields_word(struct command *c, const char *name, const char *const *words, unsigned int *out);
// Reads the page and its number of rows.
bool fields_page(struct command *c, unsigned int *page, unsigned int *rows);
// worker: its number, or -1 if the request has no such field.
bool fields_worker(struct command *c, int *worker);
// Names of transports, by enum turn_transport, and NULL.
extern const char *const fields_transports[];
