// SPDX-License-Identifier: BSD-3-Clause
// Flow rules for the NIC (see port_ops). Private to lib/port.
#pragma once

#include "port.h"

// port_ops.flow_create and port_ops.flow_destroy of an ethdev.
int port_flow_create(
	struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len);
void port_flow_destroy(struct port *p, void *flow);
