// SPDX-License-Identifier: BSD-3-Clause
// Ports that are bonds: which of their links are up and in use, for the log and for telemetry.
// Private to lib/mgmt.
#pragma once

#include "dp.h"

// What the log was told last, as bits by member. Management lcore only.
struct mgmt_bonds {
	struct {
		uint32_t up, used;
		bool told;
	} port[CONF_PORTS_MAX];
};

// Logs what has changed in the bonds since the last call.
void mgmt_bonds_tick(struct mgmt_bonds *b, const struct dp *d);
// Writes the members of a port and their states as text, cut where len is too short:
// "0000:3b:00.0=used 0000:3b:00.1=up". Empty for a port that is no bond. Returns buf. Any thread.
char *mgmt_bonds_text(struct port *p, char *buf, size_t len);
