// SPDX-License-Identifier: BSD-3-Clause
// Configurations as text, for the tests of lib/conf.
#pragma once

#include <stddef.h>

#include "conf.h"

// Two ports, both families, and every section with a required key. Tests replace pieces of it. The
// compiler checks the size, which counts the NUL.
extern const char conf_good[908];

// The file that tests write. It is in memory, because some tests write it many thousand times.
extern int conf_fd;
extern char conf_path[32];

// Set-up of a test or a group: opens the file. Returns 0 or -1.
int conf_file_open(void **state);
// Teardown: closes the file. Returns 0 or -1.
int conf_file_close(void **state);
// Replaces the file's content by len bytes. Fails the test if they have a mark.
void conf_file_write(const char *text, size_t len);
// Writes len bytes to the file and loads it. The caller frees the result with conf_free. On an
// error it returns NULL and writes the reason to error, which has CONF_ERROR_LEN bytes.
struct conf *conf_file_load(const char *text, size_t len, char *error);
// Loads a text for conf_changes and conf_merge: keeps values for comparison. Fails the test if the
// text is refused.
struct conf *conf_file_said(const char *text);
// Returns a copy of text with the first occurrence of piece replaced; the caller frees it. Aborts
// if piece does not occur.
char *conf_text_edit(const char *text, const char *piece, const char *replacement);
// conf_text_edit() of conf_good.
char *conf_file_edit(const char *piece, const char *replacement);
// Loads conf_good with a piece replaced, and fails the test if it is refused. The caller frees the
// result with conf_free.
struct conf *conf_file_changed(const char *piece, const char *replacement);

// Marks the place in a text at which an error or a warning is expected. No text has it otherwise.
#define CONF_MARK '^'
#define CONF_PLACE_LEN 24

// Removes the only mark from len bytes of text, adds a NUL, and writes "LINE:COL: " to place.
// Returns the new length. Fails the test if there is no mark, or a second one.
size_t conf_text_unmark(char *text, size_t len, char place[CONF_PLACE_LEN]);
// Returns "FILE:LINE:COL: reason", with the place of the first occurrence of piece in the file that
// was written last, in a static buffer. For messages that a mark cannot show.
const char *conf_file_at(const char *piece, const char *reason);
// Asserts that a text is refused, at its mark and with an error that continues with `want` after
// "FILE:LINE:COL: ", and that the error contains none of the passwords, secrets and keys of
// conf_good and of the tests. Returns the error, in a static buffer.
const char *conf_file_refused(const char *text, size_t len, const char *want);

// One mistake: `piece` of a text is replaced; the message continues with `error` after its place.
// The mark is in the replacement, or the message is at the beginning of `where` in the new text.
struct conf_file_mistake {
	const char *piece, *replacement, *error, *where;
};

// Returns text with the mistake and the mark; the caller frees it.
char *conf_text_mistake(const char *text, const struct conf_file_mistake *m);
// Asserts that conf_good with each of nb mistakes is refused with its error.
void conf_file_mistakes(const struct conf_file_mistake *m, size_t nb);
