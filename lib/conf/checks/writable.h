// SPDX-License-Identifier: BSD-3-Clause
// Warnings of files that others may change.
#pragma once

struct conf;
struct conf_report;

// Warns of the file, of those that it includes and of secret files, each once: where a group other
// than root's, or everybody, may write it, or put another in its place.
void conf_warn_writable(const struct conf *c, struct conf_report *r);
