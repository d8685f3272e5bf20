// SPDX-License-Identifier: BSD-3-Clause
// Checks realms and their credentials, and gives realms their numbers. Private to lib/conf.
#pragma once

#include <stdbool.h>

struct conf_ctx;
struct turn_config;

// Returns 0, or -EINVAL after reporting the errors.
int conf_realms_check(struct conf_ctx *x);
// True if the peers of some realm can be in both of two relay pools, given by name.
bool conf_realms_share(const struct turn_config *t, const char *pool, const char *other_pool);
