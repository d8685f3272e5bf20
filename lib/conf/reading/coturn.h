// SPDX-License-Identifier: BSD-3-Clause
// Files and keys of coturn, from which many operators migrate.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Writes what to use instead of a coturn key to buf, as words for an error. False if name is not a
// coturn key.
bool conf_coturn_key(const char *name, char *buf, size_t len);
// Returns the number of the first line with content if that line looks like a turnserver.conf, else
// 0.
size_t conf_coturn_line(const char *text, size_t len);
