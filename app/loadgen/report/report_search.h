// SPDX-License-Identifier: BSD-3-Clause
// A search in words. Main lcore.
#pragma once

#include <stdio.h>

#include "measure/search.h"
#include "options/config.h"

// Prints one trial of a search with its verdict. number counts from 1.
void report_search_trial(FILE *f, const struct search_trial *t, unsigned int number);
// Prints the answer of a search that has ended or was stopped.
void report_search(FILE *f, const struct config *c, const struct search *s);
