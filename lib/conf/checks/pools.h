// SPDX-License-Identifier: BSD-3-Clause
// Checks of relay.pools.
#pragma once

struct conf_ctx;

// Checks that the addresses of pools are on ports, and that each replaces one relay address. 0 or
// -EINVAL.
int conf_pools_check(struct conf_ctx *x);
