// SPDX-License-Identifier: BSD-3-Clause
// Carries frames between a device and the kernel interfaces of its ports before there are workers.
#pragma once

#include <stdint.h>

#include "rates/bucket.h"
#include "conf.h"
#include "exception/learn_rules.h"

struct port;

// State of one port. All zero except rules and ports. Management lcore.
struct learn_carry {
	struct learn_rules rules;
	struct port *wire, *kernel;
	struct bucket in[LEARN_KINDS], out[LEARN_KINDS];
	uint64_t carried[2]; // frames to the kernel, and from it
};

// A device, and the ports on it that learn addresses: itself, VLANs, or both. All zero at first.
struct learn_device {
	struct port *port;
	struct learn_carry *carry[CONF_PORTS_MAX];
	unsigned int nb_carried;
	uint64_t ticked_ms;
};

// Carries frames that came in on the device to the kernel interface of their port, and the frames
// of these interfaces back. Once a millisecond it runs the device's periodic work, like a worker.
// Returns the number of frames read, including those that were not carried.
unsigned int learn_carry(struct learn_device *d, uint64_t now_ns);
