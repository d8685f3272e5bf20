// SPDX-License-Identifier: BSD-3-Clause
// The VLANs of a port become ports.
#pragma once

#include <stdint.h>

struct conf_ctx;

// Checks ports[].vlans, and moves each entry to the end of conf.ports, with what it takes over from
// its port: device, steering, rings, and name and MTU where it has none. The places of values in
// the file move with them. To be called before all other checks. 0 or -EINVAL.
int conf_vlans_expand(struct conf_ctx *x);
// Moves the ports, and the places of their values, to an array with room for nb. 0 or -EINVAL.
int conf_vlans_grow(struct conf_ctx *x, uint32_t nb);
