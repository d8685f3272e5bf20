// SPDX-License-Identifier: BSD-3-Clause
// Checks of exception ports.
#pragma once

struct conf_ctx;

// Checks each exception port, and that each TCP listener on a port has one. 0 or -EINVAL.
int conf_exceptions_check(struct conf_ctx *x);
