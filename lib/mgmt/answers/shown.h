// SPDX-License-Identifier: BSD-3-Clause
// Converts structures of the data path to JSON. Untrusted text is escaped, so that it cannot be
// taken for anything else (mgmt_rows_text). Private to lib/mgmt. The control thread only.
#pragma once

#include <jansson.h>

#include "dp.h"

json_t *shown_text(const char *text);
json_t *shown_number(uint64_t n);
json_t *shown_endpoint(const struct endpoint *e);
json_t *shown_id(uint64_t id); // as a string: many readers of JSON keep only 53 bits of a number
// The name that identifies a user: for a REST name the id after its expiry.
json_t *shown_user(const struct turn_info *i);
json_t *shown_allocation(const struct dp *d, const struct turn_info *i);
json_t *shown_detail(const struct dp *d, const struct dp_detail *t, unsigned int page);
json_t *shown_neighbour(const struct dp *d, const struct neigh_info *n);
