// SPDX-License-Identifier: BSD-3-Clause
// Reports where the kernel of this machine may choose one of our ports for its own socket, on a
// shared interface.
#pragma once

#include "conf.h"

// sysctl is the directory of net.ipv4 (/proc/sys/net/ipv4). Tests use another.
void check_range(const struct conf *c, const char *sysctl, struct conf_report *r);
