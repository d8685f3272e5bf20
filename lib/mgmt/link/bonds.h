// SPDX-License-Identifier: BSD-3-Clause
// Reports which links of bonded ports are up and in use, to the log and telemetry. Private to
// lib/mgmt.
#pragma once

#include "dp.h"

// The states that were logged last, one bit per member. Management lcore only.
struct mgmt_bonds {
	struct {
		uint32_t up, used;
		bool told;
	} port[CONF_PORTS_MAX];
};

// Logs changes of the bonds since the last call.
void mgmt_bonds_tick(struct mgmt_bonds *b, const struct dp *d);
// Writes the members of a port and their states as text, truncated to len bytes: "0000:3b:00.0=used
// 0000:3b:00.1=up". Empty for a port that is not a bond. Returns buf. Any thread.
char *mgmt_bonds_text(struct port *p, char *buf, size_t len);
