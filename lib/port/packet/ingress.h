// SPDX-License-Identifier: BSD-3-Clause
// Programs that others have at the ingress of an interface (TCX). Packet ports put theirs before
// them.
#pragma once

#include <stddef.h>

// Writes their names, "a, b", to names (len bytes), and returns how many there are, of the first
// 64. 0: there are none, or they cannot be asked for: this takes CAP_NET_ADMIN, and CAP_SYS_ADMIN
// for names ("?" without). Management lcore.
unsigned int port_ingress_others(const char *interface, char *names, size_t len);
