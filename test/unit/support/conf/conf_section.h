// SPDX-License-Identifier: BSD-3-Clause
// conf_good (conf_file.h) with one more section, for tests of that section: its values, its
// warnings, and the changes that a reload would make. Asserts with cmocka.
#pragma once

#include "conf_changes.h"
#include "conf_file.h"

// The section follows this line of conf_good. An edit may put it there itself.
#define CONF_SECTION_AT "log: {to: stderr, level: info}\n"

// Loads it with `NAME: {TEXT}`. The caller frees the result with conf_free.
struct conf *conf_section(const char *name, const char *text);
// conf_section() for conf_changes and conf_merge: keeps values for comparison.
struct conf *conf_section_said(const char *name, const char *text);

// Expected text of the warnings that name the section; "" = no warning.
struct conf_section_doubt {
	const char *text, *want;
};
void conf_section_doubts(const char *name, const struct conf_section_doubt *t, size_t nb);

// Asserts the numbers of keys that differ in the second text: those that a reload applies, and
// those that it does not.
void conf_section_changes(const char *name, const char *before, const char *after,
	unsigned int nb_hot, unsigned int nb_cold);
// Applies fresh to running, as a reload does, and frees fresh.
void conf_section_adopt(struct conf *running, struct conf *fresh);
// Counts a conf_change in ctx, unsigned int [2]: changes that need a restart, and the others.
void conf_section_count(void *ctx, const struct conf_change *c);
