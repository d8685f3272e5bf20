// SPDX-License-Identifier: BSD-3-Clause
// Memory of secrets: wiped before it is given back, and kept out of core dumps.
#pragma once

#include <stddef.h>

// Zeroed memory on pages of its own that no core dump has. NULL without memory. For few and lasting
// things, as each takes a page.
void *secret_alloc(size_t len);
// A copy of a text in such memory.
char *secret_copy(const char *text);
void secret_free(void *p); // NULL is fine

// Wipes all of an allocation of malloc's, whatever of it is in use, and frees it. NULL is fine.
void secret_wipe(void *p);
