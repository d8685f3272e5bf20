// SPDX-License-Identifier: BSD-3-Clause
// The request to open a port: its configuration, and the buffer for the reason of a failure.
// Private to lib/port.
#pragma once

#include "port.h"

struct port_request {
	const struct port_config *c;
	char *error;
	size_t error_len;
};

// Writes the reason of a failure: "port NAME: device DEVICE: ...".
__attribute__((format(printf, 2, 3))) void port_request_fail(
	const struct port_request *r, const char *fmt, ...);

// Sets the lengths of the port's rings from the configuration, else from the driver's profile.
void port_request_rings(const struct port_request *r, struct port *p);
