// SPDX-License-Identifier: BSD-3-Clause
// From the string in the configuration to a DPDK device. port.h has what others may ask about such
// a string. Private to lib/port.
#pragma once

#include <rte_dev.h>

#include "port.h"

struct port_request;

struct port_device {
	struct rte_device *dev;
	uint16_t id; // ethdev port id
	bool plugged; // we hot-plugged it, so close removes it
};

// Makes the string to hand to DPDK. Where the driver would open queues that nobody polls, the
// string asks for as many queues as there are workers. It adds those of devargs ("key=value,...",
// or NULL) whose keys it lacks. Malloced; NULL without memory.
char *port_device_args(const char *device, uint16_t queues, const char *devargs);
// Finds or hot-plugs the device. 0, or -1 with the reason written.
int port_device_attach(const struct port_request *r, struct port_device *out);
// Removes the device if we hot-plugged it. The ethdev is closed already.
void port_device_detach(const struct port_device *d);
