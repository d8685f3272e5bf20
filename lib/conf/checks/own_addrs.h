// SPDX-License-Identifier: BSD-3-Clause
// Checks of the addresses that are this box's.
#pragma once

struct conf_ctx;

// Checks the addresses of ports, their external addresses and routers, listeners and relay
// addresses. turn.local and turn.gateways have been gathered. 0 or -EINVAL.
int conf_own_addrs_check(struct conf_ctx *x);
