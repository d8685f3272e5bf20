// SPDX-License-Identifier: BSD-3-Clause
// Checks of the section nat-discovery. Private to lib/conf.
#pragma once

struct conf_ctx;

// 0 or -EINVAL. The listeners are all there.
int conf_discovery_check(struct conf_ctx *x);
