// SPDX-License-Identifier: BSD-3-Clause
// Makes the steering rules of shared relay ports, and checks that their slots suffice for a reload.
#include "features/shared/shared_rules.h"

#include <errno.h>
#include <stdio.h>

#include "datapath.h"
#include "turn_relay_map.h"

bool shared_rules_used(const struct flow_rules_want *w)
{
	return w->turn->shared.enabled;
}

int shared_rules_make(const struct flow_rules_want *w, enum flow_rules_step step,
	struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN])
{
	int rc = 0;

	if (step == FLOW_RULES_ADDRESS) {
		snprintf(reason, FLOW_RULES_WHY_LEN,
			"relay.mode is shared: every port has its worker");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < w->port->nb_addresses; i++) {
		const int relay = flow_rules_relay(w, i);

		for (uint32_t p = w->turn->port_lo; p <= w->turn->port_hi && rc == 0; p++) {
			unsigned int worker;
			uint32_t number;

			if (relay < 0 ||
				!turn_relay_map_home(
					w->map, (unsigned int)relay, (uint16_t)p, &worker, &number))
				continue;
			rc = flow_rules_add(out,
				&(struct port_rule){.dst = w->port->addresses[i].addr,
					.vlan = w->port->vlan,
					.port = (uint16_t)p,
					.mask = UINT16_MAX,
					.queue = (uint16_t)worker},
				reason);
		}
	}
	return rc;
}

const char *shared_too_small(const struct dp *d, const struct turn_config *c)
{
	if (c->shared.enabled && turn_shared_slots(c) > turn_relay_map_slots(d->map, 0))
		return "limits.allocations: a larger value needs a restart, because shared relay "
		       "ports have room for the old one only";
	return NULL;
}
