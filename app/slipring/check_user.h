// SPDX-License-Identifier: BSD-3-Clause
// Checks that the server can still do its work once it has given up its privileges.
#pragma once

struct conf;
struct conf_report;

// Reports an error if process.user does not exist. For root, it warns of each file that this user,
// or root without capabilities, cannot read in a reload or when a certificate is renewed, and of
// directories of records and crash reports in which it cannot create and remove files.
void check_user(const struct conf *c, struct conf_report *r);
