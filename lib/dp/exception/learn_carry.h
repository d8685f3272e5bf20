// SPDX-License-Identifier: BSD-3-Clause
// learn_carry.c: frames between a device and the kernel interfaces of its ports before there are
// workers.
#pragma once

#include <stdint.h>

#include "bucket.h"
#include "conf.h"
#include "exception/learn_rules.h"

struct port;

// The way of one port. All zero but rules and ports. Mgmt lcore.
struct learn_carry {
	struct learn_rules rules;
	struct port *wire, *kernel;
	struct bucket in[LEARN_KINDS], out[LEARN_KINDS];
	uint64_t carried[2]; // frames to the kernel, from it
};

// A device, and the ports on it that learn: itself, VLANs, or both. All zero at first.
struct learn_device {
	struct port *port;
	struct learn_carry *carry[CONF_PORTS_MAX];
	unsigned int nb_ways;
	uint64_t ticked_ms;
};

// Carries what has come on the device to the kernel interface whose port it is for, and what these
// send back. Once a millisecond it lets the device do what is due by time, as a worker would.
// Returns how many frames there were, those included that were not carried.
unsigned int learn_carry(struct learn_device *d, uint64_t now_ns);
