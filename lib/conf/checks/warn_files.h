// SPDX-License-Identifier: BSD-3-Clause
// Warnings of secrets in files that every user of the host can read.
#pragma once

struct conf;
struct conf_report;

void conf_warn_files(const struct conf *c, struct conf_report *r);
