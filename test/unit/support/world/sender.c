// SPDX-License-Identifier: BSD-3-Clause
// The port that has sent a frame, from its VLAN tag.
#include "sender.h"

#include "bytes.h"
#include "datapath.h"
#include "dp_world.h"

unsigned int sender_of(const struct dp_world *w, unsigned int port, const uint8_t *frame)
{
	const struct port *device = w->dp->port[port].port;

	for (unsigned int i = 0; i < w->dp->nb_ports; i++) {
		const struct port *p = w->dp->port[i].port;

		if (p->on == device && load_be16(frame + 12) == 0x8100 &&
			(load_be16(frame + 14) & 0x0fff) == p->vlan)
			return i;
	}
	return port;
}
