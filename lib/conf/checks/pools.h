// SPDX-License-Identifier: BSD-3-Clause
// Checks of relay.pools.
#pragma once

struct conf_ctx;

// Checks that the addresses of pools are on ports and stand for relay addresses one for one. 0 or
// -EINVAL.
int conf_pools_check(struct conf_ctx *x);
