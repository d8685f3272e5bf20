// SPDX-License-Identifier: BSD-3-Clause
// Tells where the kernel of this machine may choose a port of ours for a socket of its own, on an
// interface that both have.
#pragma once

#include "conf.h"

// sysctl is the directory of net.ipv4 (/proc/sys/net/ipv4). Tests use another.
void check_range(const struct conf *c, const char *sysctl, struct conf_report *r);
