// SPDX-License-Identifier: BSD-3-Clause
// The fields of requests: which allocations are meant, which page of how many rows. Each function
// returns false with a reason in c->error when a field is not what it has to be. Private to
// lib/mgmt. The control thread only.
#pragma once

#include "socket/commands.h"

#define FIELDS_ROWS 50 // a page, unless the request says otherwise
#define FIELDS_ROWS_MAX 512

// A number from lo to hi; *out stays as it is when the request has none.
struct fields_range {
	uint64_t lo, hi;
};
bool fields_number(
	struct command *c, const char *name, const struct fields_range *range, uint64_t *out);
// user: a name as answers write it, where %XX stands for a byte; at most 512 bytes and a NUL. *has:
// whether there is one.
#define FIELDS_NAME_LEN 513 // STUN's longest USERNAME, and more
bool fields_name(struct command *c, bool *has, char out[FIELDS_NAME_LEN]);
// realm: the name of a realm as answers write it. *has: whether there is one; if not, the number is
// that of the first.
#define FIELDS_REALM_LEN 764 // STUN's longest REALM, and a NUL
bool fields_realm(struct command *c, bool *has, uint8_t *number);
// Whether it is said whose user is meant: where there are several realms, a user needs one.
bool fields_whose(struct command *c, bool in_realm);
// How many realms there are beside the first.
uint32_t fields_realms(const struct control *k);
// id, user, realm, client or source, peer and transport, as far as the request has them.
bool fields_filter(struct command *c, struct turn_filter *f);
// One of the words of a list that ends with NULL: its number in *out, which stays as it is when the
// request has none.
bool fields_word(struct command *c, const char *name, const char *const *words, unsigned int *out);
// A page and its rows.
bool fields_page(struct command *c, unsigned int *page, unsigned int *rows);
// worker: its number, or -1 when the request has none.
bool fields_worker(struct command *c, int *worker);
// Names of transports, by enum turn_transport, and NULL.
extern const char *const fields_transports[];
