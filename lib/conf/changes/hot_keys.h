// SPDX-License-Identifier: BSD-3-Clause
// Tells which keys a reload can change in a running server. Private to lib/conf.
#pragma once

#include <stdbool.h>

// True if a reload can change the key. path is a path in the schema, such as "ports[].name".
bool hot_is_hot(const char *path);
// True if the value of the key is a secret.
bool hot_is_secret(const char *path);
