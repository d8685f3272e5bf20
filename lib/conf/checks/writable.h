// SPDX-License-Identifier: BSD-3-Clause
// Warnings of files that other users may change.
#pragma once

struct conf;
struct conf_report;

// Warns of the file, its included files and its secret files, once each, if everybody or a group
// other than root's may write or replace it.
void conf_warn_writable(const struct conf *c, struct conf_report *r);
