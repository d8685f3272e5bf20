// SPDX-License-Identifier: BSD-3-Clause
// Which port has sent a frame, where several share a device.
#pragma once

#include <stdint.h>

struct dp_world;

// Returns the port that a frame which left this port's device is sent by: its own, or that of the
// VLAN with the frame's tag.
unsigned int sender_of(const struct dp_world *w, unsigned int port, const uint8_t *frame);
