// SPDX-License-Identifier: BSD-3-Clause
// The port that has sent a frame, if several share a device.
#pragma once

#include <stdint.h>

struct dp_world;

// Returns the port of a frame that left the device of this port: this port, or the VLAN with the
// frame's tag.
unsigned int sender_of(const struct dp_world *w, unsigned int port, const uint8_t *frame);
