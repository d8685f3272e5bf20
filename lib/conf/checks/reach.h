// SPDX-License-Identifier: BSD-3-Clause
// Warnings of what reaches less than the operator may think.
#pragma once

struct conf;
struct conf_report;

// Warns of ports without a gateway, of relay addresses that the Internet does not reach, and of
// entries of peers.allow and peers.deny that never apply.
void conf_reach_all(const struct conf *c, struct conf_report *r);
