// SPDX-License-Identifier: BSD-3-Clause
// Which implementation a device string asks for.

#include <stdarg.h>
#include <stdio.h>

#include "port_int.h"

RTE_LOG_REGISTER(port_logtype, port, INFO)

void port_fail(const struct port_request *r, const char *fmt, ...)
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

static struct port *open_kind(const struct port_request *r)
{
	if (strncmp(r->c->device, "vtap:", 5) == 0) {
		port_fail(r, "vtap ports are not built yet");
		return NULL;
	}
	if (strncmp(r->c->device, "replay:", 7) == 0)
		return port_replay_open(r);
	return port_ethdev_open(r);
}

struct port *port_open(const struct port_config *c, char *error, size_t len)
{
	const struct port_request r = {.c = c, .error = error, .error_len = len};
	struct port *p = open_kind(&r);

	if (p != NULL && c->uso == PORT_USO_OFF)
		p->uso = (struct port_super){0};
	return p;
}
