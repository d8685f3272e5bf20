// SPDX-License-Identifier: BSD-3-Clause
// Memory for secrets: wiped before it is freed, and excluded from core dumps.
#pragma once

#include <stddef.h>

// Allocates len zeroed bytes on separate pages that are excluded from core dumps. NULL without
// memory. Each allocation takes at least a page, so use it for few and long-lived secrets. Free it
// with secret_free.
void *secret_alloc(size_t len);
// Copies a text to such memory; NULL without memory.
char *secret_copy(const char *text);
// Wipes and frees memory of secret_alloc or secret_copy.
void secret_free(void *p); // NULL is fine

// Wipes a whole block from malloc, not only the bytes in use, and frees it. NULL is fine.
void secret_wipe(void *p);
