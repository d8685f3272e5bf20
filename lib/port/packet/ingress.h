// SPDX-License-Identifier: BSD-3-Clause
// Programs of other owners at the ingress of an interface (TCX). Packet ports attach theirs before
// them.
#pragma once

#include <stddef.h>

// Writes the names of the first 64, "a, b", to names (len bytes), and returns their number. 0 if
// there are no programs, or without CAP_NET_ADMIN. Names need CAP_SYS_ADMIN ("?" without).
// Management lcore.
unsigned int port_ingress_others(const char *interface, char *names, size_t len);
