// SPDX-License-Identifier: BSD-3-Clause
// Checks of the section nat-discovery. Private to lib/conf.
#pragma once

struct conf_ctx;

// Returns 0 or -EINVAL. Call it after listeners have been expanded.
int conf_discovery_check(struct conf_ctx *x);
