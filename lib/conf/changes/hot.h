// SPDX-License-Identifier: BSD-3-Clause
// Which keys a running server can take up anew. Private to lib/conf.
#pragma once

#include <stdbool.h>

// path: of the schema, as "ports[].name".
bool hot_is_hot(const char *path);
// Whether what the key has is a secret.
bool hot_is_secret(const char *path);
