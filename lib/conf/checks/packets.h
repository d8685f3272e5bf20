// SPDX-License-Identifier: BSD-3-Clause
// Checks of ports that share an interface with the kernel.
#pragma once

struct conf_ctx;

// Checks the device string of each packet port, and that the port has no key for something that the
// kernel keeps on such an interface. 0 or -EINVAL.
int conf_packets_check(struct conf_ctx *x);
