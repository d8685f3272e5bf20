// SPDX-License-Identifier: BSD-3-Clause
// Checks of ports that are bonds. Private to lib/conf.
#pragma once

struct conf_ctx;

// Checks that each port of the file has either a device or members. A bond gets the device
// "bond:NAME". Call it once, before VLANs become ports: from then on every port has a device.
// Returns 0, or -EINVAL after reporting each error.
int conf_bonds_decide(struct conf_ctx *x);
// Checks the members of all bonds. Returns 0, or -EINVAL after reporting each error.
int conf_bonds_check(struct conf_ctx *x);
