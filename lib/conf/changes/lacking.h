// SPDX-License-Identifier: BSD-3-Clause
// Finds elements of one list that another list lacks. Private to lib/conf.
#pragma once

#define LACKING_LEN 256 // bytes of the text, with the NUL

// Writes to buf the elements of list that reference lacks, in their order, as many as fit, then the
// number of those left out. Elements are separated by '\n'. NULL if reference lacks no element.
const char *lacking(const char *list, const char *reference, char buf[LACKING_LEN]);
