// SPDX-License-Identifier: BSD-3-Clause
// Listeners on all addresses.
#pragma once

struct conf_ctx;

// Puts a listener on each address in place of one on all of them. turn.local has been gathered. 0
// or -EINVAL.
int conf_listeners_expand(struct conf_ctx *x);
