// SPDX-License-Identifier: BSD-3-Clause
// Checks of the addresses of this box.
#pragma once

struct conf_ctx;

// Checks the addresses of ports, their external addresses and routers, listeners and relay
// addresses. Call it after turn.local and turn.gateways have been gathered. 0 or -EINVAL.
int conf_own_addrs_check(struct conf_ctx *x);
