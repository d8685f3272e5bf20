// SPDX-License-Identifier: BSD-3-Clause
// Chooses the implementation for a device string.

#include <stdio.h>

#include "ethdev/ethdev.h"
#include "packet/packet.h"
#include "port.h"
#include "port_log.h"
#include "replay.h"
#include "open_request.h"
#include "vtap.h"

RTE_LOG_REGISTER(port_logtype, port, INFO)

int port_log_type(void)
{
	return port_logtype;
}

static struct port *open_kind(const struct port_request *r)
{
	if (vtap_spec_is(r->c->device))
		return port_vtap_open(r);
	if (packet_spec_is(r->c->device))
		return port_packet_open(r);
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

static size_t add_super(char *buf, size_t len, const char *name, const struct port_super *s)
{
	const uint16_t segments = __atomic_load_n(&s->segments, __ATOMIC_RELAXED);

	return segments == 0 ? 0
			     : (size_t)snprintf(buf, len, "%s %ux%u, ", name, segments, s->bytes);
}

const char *port_offloads(const struct port *p, char *buf, size_t len)
{
	size_t pos = add_super(buf, len, "uso", &p->uso);

	if (pos < len)
		pos += add_super(buf + pos, len - pos, "tso", &p->tso);
	if (pos < len && p->l4_checksum_good)
		pos += (size_t)snprintf(buf + pos, len - pos, "checksums, ");
	if (pos == 0)
		snprintf(buf, len, "none");
	else if (pos <= len)
		buf[pos - 2] = '\0';
	return buf;
}
