// SPDX-License-Identifier: BSD-3-Clause
// Warnings of values that reach less than the operator may think.
#pragma once

struct conf;
struct conf_report;

// Warns of ports without a gateway, of relay addresses that cannot be reached from the Internet,
// and of entries of peers.allow and peers.deny that never apply.
void conf_reach_all(const struct conf *c, struct conf_report *r);
