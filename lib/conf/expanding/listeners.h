// SPDX-License-Identifier: BSD-3-Clause
// Listeners on all addresses.
#pragma once

struct conf_ctx;

// Replaces each listener on all addresses by one for each address. Call it after turn.local has
// been gathered. 0 or -EINVAL.
int conf_listeners_expand(struct conf_ctx *x);
