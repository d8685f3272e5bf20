// SPDX-License-Identifier: BSD-3-Clause
// Derives the number of allocations, in total and per user, if the file does not give it.
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// Fills limits.allocations and limits.per-user if the file does not give them. Returns 0.
int conf_places_fill(struct conf_ctx *x);
// Warns if one of several users may take all relay ports of a family.
void conf_places_warn(const struct conf *c, struct conf_report *r);
