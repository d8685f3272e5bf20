// SPDX-License-Identifier: BSD-3-Clause
// Checks of the balancers in front of listeners.
#pragma once

#include <stdint.h>

struct conf;
struct conf_ctx;
struct conf_report;

// Checks the balancers of a listener. Call it once for an entry that became several listeners. 0 or
// -EINVAL.
int conf_proxies_check_listener(struct conf_ctx *x, uint32_t i);
// Checks streams.trusted. 0 or -EINVAL.
int conf_proxies_check_trusted(struct conf_ctx *x);
// Warns of prefixes of balancers that include the whole Internet.
void conf_proxies_warn(const struct conf *c, struct conf_report *r);
