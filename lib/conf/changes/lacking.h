// SPDX-License-Identifier: BSD-3-Clause
// Which elements of one list another one lacks. Private to lib/conf.
#pragma once

#define LACKING_LEN 256 // bytes of what is told, with the NUL

// Writes the elements of list that other lacks, in their order, as far as there is room; then how
// many more there are. Elements have a '\n' between them. NULL when there are none.
const char *lacking(const char *list, const char *reference, char buf[LACKING_LEN]);
