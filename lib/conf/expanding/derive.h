// SPDX-License-Identifier: BSD-3-Clause
// Numbers that follow from the file. Private to lib/conf.
#pragma once

struct conf;

// Sets these numbers. Call it once all entries of ports exist, before they are checked.
void conf_derive(struct conf *c);
