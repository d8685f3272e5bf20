// SPDX-License-Identifier: BSD-3-Clause
// Reports conflicts between a packet port and the kernel of this machine.
#pragma once

#include "conf.h"

// sysctl is the directory of net.ipv4 (/proc/sys/net/ipv4), net the directory of the kernel's lists
// of sockets (/proc/net). Tests use others.
void check_packets(
	const struct conf *c, const char *sysctl, const char *net, struct conf_report *r);
