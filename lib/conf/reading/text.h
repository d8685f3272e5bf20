// SPDX-License-Identifier: BSD-3-Clause
// The text of a file.
#pragma once

#include <stddef.h>

struct conf_ctx;

#define CONF_FILE_MAX (1u << 20) // bytes

// The whole text of the file that is being read or included; conf_text_wipe takes it back. NULL
// with the error told.
char *conf_text_read(struct conf_ctx *x, size_t *len);
// Wipes a text of len bytes, because some of it are secrets, and frees it. NULL is fine.
void conf_text_wipe(char *text, size_t len);
