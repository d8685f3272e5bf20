// SPDX-License-Identifier: BSD-3-Clause
// How many allocations there can be, and how many of them one user may have, where the file does
// not say it.
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// Fills limits.allocations and limits.per-user where the file has none. 0.
int conf_places_fill(struct conf_ctx *x);
// Warns where one of several users may have all relay ports of a family.
void conf_places_warn(const struct conf *c, struct conf_report *r);
