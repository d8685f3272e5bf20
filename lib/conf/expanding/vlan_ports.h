// SPDX-License-Identifier: BSD-3-Clause
// Turns the VLANs of ports into ports.
#pragma once

#include <stdint.h>

struct conf_ctx;

// Checks ports[].vlans, and moves each entry to the end of conf.ports. An entry inherits device,
// steering and rings from its port, and name and MTU unless it has its own. The places of
// values in the file move with the entries. Call it before all other checks. 0 or -EINVAL.
int conf_vlans_expand(struct conf_ctx *x);
// Moves the ports, and the places of their values, to an array with room for nb ports. 0 or
// -EINVAL.
int conf_vlans_grow(struct conf_ctx *x, uint32_t nb);
