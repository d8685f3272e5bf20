// SPDX-License-Identifier: BSD-3-Clause
// denied.c: who is no peer unless the operator says so, whatever the configuration is.
#pragma once

#include <stddef.h>

// Prefixes, as text.
extern const char *const denied_by_default[];
extern const size_t nb_denied_by_default;
