// SPDX-License-Identifier: BSD-3-Clause
// proxies.c: balancers of listeners.
#pragma once

#include <stdint.h>

struct conf;
struct conf_ctx;
struct conf_report;

// Checks the balancers of a listener, once for an entry that is several. 0 or -EINVAL.
int conf_proxies_check_listener(struct conf_ctx *x, uint32_t i);
// Checks streams.trusted. 0 or -EINVAL.
int conf_proxies_check_trusted(struct conf_ctx *x);
// Warns of balancers that can be anybody.
void conf_proxies_warn(const struct conf *c, struct conf_report *r);
