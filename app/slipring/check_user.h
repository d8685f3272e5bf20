// SPDX-License-Identifier: BSD-3-Clause
// Whether the server can do what is left to it once it has given up its privileges.
#pragma once

struct conf;
struct conf_report;

// An error when there is no process.user of that name. Where root asks, a warning for each file
// that this user, or root without capabilities, cannot read when the configuration is reloaded or a
// certificate renewed, and for directories of records and crash reports where it cannot
// make and remove files.
void check_user(const struct conf *c, struct conf_report *r);
