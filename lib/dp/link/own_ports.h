// SPDX-License-Identifier: BSD-3-Clause
// Lists our UDP ports on a port.
#pragma once

#include <stdint.h>

struct conf;
struct port_own;

// Lists, for the addresses of a port, the UDP ports of listeners and the relay ports. The caller
// frees the list of *nb rows, which may be 0. NULL if memory is short.
struct port_own *own_ports_list(const struct conf *c, uint32_t port, uint32_t *nb);
