// SPDX-License-Identifier: BSD-3-Clause
// Checks that involve more than one key.
#pragma once

struct conf_ctx;

// Checks rules that involve more than one key, and gathers turn.local and turn.gateways. 0 or
// -EINVAL.
int conf_validate(struct conf_ctx *x);
