// SPDX-License-Identifier: BSD-3-Clause
// Opens the DPDK device of a device string. port.h has the public functions for such strings.
// Private to lib/port.
#pragma once

#include <rte_dev.h>

#include "port.h"

struct port_request;

struct port_device {
	struct rte_device *dev;
	uint16_t id; // ethdev port id
	bool plugged; // we hot-plugged it, so close removes it
};

// Makes the string for DPDK. If the driver would open queues that nobody polls, the string limits
// the queues to the number of workers. Adds the devargs ("key=value,...", or NULL) whose keys are
// missing. Malloced; NULL without memory.
char *port_device_args(const char *device, uint16_t queues, const char *devargs);
// Finds or hot-plugs the device. Returns 0, or -1 with the reason written.
int port_device_attach(const struct port_request *r, struct port_device *out);
// Removes the device if we hot-plugged it. Its ethdev must be closed already.
void port_device_detach(const struct port_device *d);
