// SPDX-License-Identifier: BSD-3-Clause
// State of the kernel interface behind an ethdev, for ports with a control socket. Private to
// lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ethdev;

// True if the interface is up and has a carrier.
bool port_iface_running(const struct ethdev *e);
// Gets the number of frames that the interface has received since its creation. False if the kernel
// does not provide it.
bool port_iface_received(const struct ethdev *e, uint64_t *frames);
