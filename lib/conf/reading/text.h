// SPDX-License-Identifier: BSD-3-Clause
// The text of a file.
#pragma once

#include <stddef.h>

struct conf_ctx;

#define CONF_FILE_MAX (1u << 20) // bytes

// Reads the whole text of the file that is being read or included. conf_text_wipe frees it. NULL
// after reporting an error.
char *conf_text_read(struct conf_ctx *x, size_t *len);
// Wipes a text of len bytes, because it may contain secrets, and frees it. NULL is fine.
void conf_text_wipe(char *text, size_t len);
