// SPDX-License-Identifier: BSD-3-Clause
// Files and keys of coturn, which many operators come from.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Writes what to use instead of a key of coturn to buf, as words for an error. False when name is
// no key of coturn.
bool conf_coturn_key(const char *name, char *buf, size_t len);
// Returns the number of the first line with content when that line belongs to a turnserver.conf,
// else 0.
size_t conf_coturn_line(const char *text, size_t len);
