// SPDX-License-Identifier: BSD-3-Clause
// Warns of rates of a realm that one user can exhaust for all others.
#include "checks/checks.h"
#include "conf.h"
#include "conf_features.h"

void conf_rates_warn(const struct conf *c, struct conf_report *r)
{
	const struct turn_rates *rates = &c->turn.limits.rates;

	for (unsigned int leg = 0; leg < 2; leg++) {
		const struct turn_flow_rate *realm = &rates->flow[TURN_RATE_REALM][leg];
		const struct turn_flow_rate *user = &rates->flow[TURN_RATE_USER][leg];

		if (realm->kbits == 0 || user->kbits != 0 || conf_warned(r))
			continue;
		conf_tell(r, CONF_WARNING, (struct conf_at){c, &realm->kbits, 0, "limits.rates"},
			"one user can use it up for all others: limit users, too");
	}
}
