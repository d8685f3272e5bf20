// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text, for the tests of lib/conf.
#pragma once

#include <stddef.h>

#include "conf.h"

// Two ports, both families, and every section with a required key. Tests replace pieces of it.
// The size, which counts the NUL, is checked by the compiler.
extern const char conf_good[908];

// The file that tests write: it is in memory, as some tests write it many thousand times.
extern int conf_fd;
extern char conf_path[32];

// Opens the file: set-up of a test or a group. Returns 0 or -1.
int conf_file_open(void **state);
// Closes the file: teardown. Returns 0 or -1.
int conf_file_close(void **state);
// Makes the file one of len bytes.
void conf_file_write(const char *text, size_t len);
// Writes len bytes to the file and loads it. The caller frees the result with conf_free. NULL with
// the reason in error, which has CONF_ERROR_LEN bytes.
struct conf *conf_file_load(const char *text, size_t len, char *error);
// The same, for conf_changes and conf_merge: what is said is kept. Fails the test if it is refused.
struct conf *conf_file_said(const char *text);
// Returns a copy of text with the first occurrence of a piece replaced; the caller frees it. Aborts
// when the piece does not occur.
char *conf_text_edit(const char *text, const char *piece, const char *replacement);
// The same, with conf_good as the text.
char *conf_file_edit(const char *piece, const char *replacement);
// Loads conf_good with a piece replaced, and fails the test if it is refused. The caller frees the
// result with conf_free.
struct conf *conf_file_changed(const char *piece, const char *replacement);
// Asserts that a text is refused, that its error goes on with `want` after "FILE:", and that the
// error contains none of the passwords, secrets and keys of conf_good and of the tests.
void conf_file_refused(const char *text, size_t len, const char *want);

// One mistake: `piece` of conf_good replaced `by` another, and the error after "FILE:".
struct conf_file_mistake {
	const char *piece, *replacement, *error;
};

// Asserts that conf_good with each of nb mistakes is refused with its error.
void conf_file_mistakes(const struct conf_file_mistake *m, size_t nb);
