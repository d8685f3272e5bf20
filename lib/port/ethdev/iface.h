// SPDX-License-Identifier: BSD-3-Clause
// What the kernel tells of the interface behind an ethdev, for ports with a control socket. Private
// to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ethdev;

// Whether the interface is up and has a carrier.
bool port_iface_running(const struct ethdev *e);
// The number of frames the interface has received since it exists; false when the kernel does not
// tell.
bool port_iface_received(const struct ethdev *e, uint64_t *frames);
