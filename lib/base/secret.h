// SPDX-License-Identifier: BSD-3-Clause
// Memory for secrets: wiped before it is given back, and kept out of core dumps.
#pragma once

#include <stddef.h>

// len zeroed bytes on pages of their own that are left out of core dumps. NULL when there is no
// memory. Each allocation takes at least a page: for few and long-lived secrets. Free it with
// secret_free.
void *secret_alloc(size_t len);
// A copy of a text in such memory; NULL when there is none.
char *secret_copy(const char *text);
// Wipes and frees memory of secret_alloc or secret_copy.
void secret_free(void *p); // NULL is fine

// Wipes a whole block from malloc, not only the bytes in use, and frees it. NULL is fine.
void secret_wipe(void *p);
