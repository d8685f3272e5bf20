// SPDX-License-Identifier: BSD-3-Clause
// Helpers of all kinds of ports for the request to open them.
#include "open_request.h"

#include <stdarg.h>
#include <stdio.h>

void port_request_fail(const struct port_request *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (r->error_len == 0)
		return;
	n = snprintf(r->error, r->error_len, "port %s: device %s: ", r->c->name, r->c->device);
	if (n < 0 || (size_t)n >= r->error_len)
		return;
	va_start(ap, fmt);
	vsnprintf(r->error + n, r->error_len - (size_t)n, fmt, ap);
	va_end(ap);
}

void port_request_rings(const struct port_request *r, struct port *p)
{
	struct port_profile by_driver = {0};

	if (r->c->by_driver != NULL)
		r->c->by_driver(r->c->ctx, p->driver, &by_driver);
	p->rx_ring = r->c->rx_ring != 0 ? r->c->rx_ring : by_driver.rx_ring;
	p->tx_ring = r->c->tx_ring != 0 ? r->c->tx_ring : by_driver.tx_ring;
}
