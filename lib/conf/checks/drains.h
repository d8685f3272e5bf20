// SPDX-License-Identifier: BSD-3-Clause
// Checks of the section drain. Private to lib/conf.
#pragma once

struct conf;
struct conf_ctx;
struct conf_report;

// 0 or -EINVAL. Own addresses have been gathered.
int conf_drains_check(struct conf_ctx *x);
// Tells what is dubious.
void conf_drains_warn(const struct conf *c, struct conf_report *r);
