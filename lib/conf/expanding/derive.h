// SPDX-License-Identifier: BSD-3-Clause
// Numbers that follow from what the file says. Private to lib/conf.
#pragma once

struct conf;

// Sets them. Call it once all entries of ports are there, and before these are checked.
void conf_derive(struct conf *c);
