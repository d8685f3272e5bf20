// SPDX-License-Identifier: BSD-3-Clause
// Limits the duration of a start: it may zero many gigabytes of memory and wait for addresses of
// the network.
#include "watch/watch_start.h"

#include "conf.h"
#include "watch/notify.h"

#define EVERY_S 2
#define MORE_US 15000000
#define MOST_S 600 // besides the waits of the configuration
#define SECOND UINT64_C(1000000000)

void watch_start_begin(struct watch_starting *s, const struct conf *c, uint64_t now_ns)
{
	uint64_t most_s = MOST_S;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		if (conf_learns(p, true) || conf_learns(p, false))
			// 0: wait without limit
			most_s += p->learn_wait_s > 0 ? p->learn_wait_s : UINT32_MAX;
	}
	*s = (struct watch_starting){.until_ns = now_ns + most_s * SECOND};
}

void watch_start_tell(struct watch_starting *s, uint64_t now_ns)
{
	if (now_ns < s->told_ns + EVERY_S * SECOND || now_ns > s->until_ns)
		return;
	s->told_ns = now_ns;
	notify_send("EXTEND_TIMEOUT_USEC=%u\nSTATUS=starting", MORE_US);
}
