// SPDX-License-Identifier: BSD-3-Clause
// Checks of the sections alternate and drain. Private to lib/conf.
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// 0 or -EINVAL. Own addresses have been gathered.
int conf_alternates_check(struct conf_ctx *x);
// Warns of doubtful values.
void conf_alternates_warn(const struct conf *c, struct conf_report *r);
