// SPDX-License-Identifier: BSD-3-Clause
// Checks of ports that are bonds. Private to lib/conf.
#pragma once

struct conf_ctx;

// Checks that each port has either a device or members, and the members of all bonds. A bond gets
// the device "bond:NAME". Returns 0, or -EINVAL after each error has been told.
int conf_bonds_check(struct conf_ctx *x);
