// SPDX-License-Identifier: BSD-3-Clause
// Values that are numbers, shares, texts and lists. Only the files of options/ include it.
#pragma once

#include "options/option.h"

// Each reads the value of an option, as struct opt_row says. Returns 0, or -1 with the reason
// written.
int opts_values_flag(struct opts *o, const struct opt_row *row, const char *text);
int opts_values_count(struct opts *o, const struct opt_row *row, const char *text); // whole number
int opts_values_real(struct opts *o, const struct opt_row *row, const char *text);
int opts_values_share(struct opts *o, const struct opt_row *row, const char *text);
int opts_values_text(struct opts *o, const struct opt_row *row, const char *text); // copies it
int opts_values_string(struct opts *o, const struct opt_row *row, const char *text); // keeps text
int opts_values_sizes(struct opts *o, const struct opt_row *row, const char *text);
int opts_values_impair(struct opts *o, const struct opt_row *row, const char *text);
// Reads a number that k, M or G may follow; false if it is not a number.
bool opts_values_number(const char *text, double *out);
