// SPDX-License-Identifier: BSD-3-Clause
// conf_good (conf_file.h) with one section more, for tests of that section: what it becomes, what
// is doubted, and what a reload of it would change. Asserts with cmocka.
#pragma once

#include "conf_changes.h"
#include "conf_file.h"

// The line of conf_good behind which the section stands: an edit may put it there itself.
#define CONF_SECTION_AT "log: {to: stderr, level: info}\n"

// Loads it with `NAME: {TEXT}`. The caller frees the result with conf_free.
struct conf *conf_section(const char *name, const char *text);
// The same, for conf_changes and conf_merge: what is said is kept.
struct conf *conf_section_said(const char *name, const char *text);

// What warnings that name the section are to contain; "" = there is none.
struct conf_section_doubt {
	const char *text, *want;
};
void conf_section_doubts(const char *name, const struct conf_section_doubt *t, size_t nb);

// Asserts how many keys that a reload takes, and how many that it does not, are others in the
// second text.
void conf_section_changes(const char *name, const char *before, const char *after,
	unsigned int nb_hot, unsigned int nb_cold);
// Gives running what fresh says, as a reload does, and frees fresh.
void conf_section_adopt(struct conf *running, struct conf *fresh);
// Counts a conf_change in ctx, unsigned int [2]: those that take a restart, those that do not.
void conf_section_count(void *ctx, const struct conf_change *c);
