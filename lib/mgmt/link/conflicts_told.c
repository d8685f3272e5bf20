// SPDX-License-Identifier: BSD-3-Clause
// Logs hosts that use our addresses. Any host on the link can claim any address, so neither many
// claims of one address nor claims of many addresses fill the log.
#include "link/conflicts_told.h"

#include <stdio.h>

#include "addr.h"
#include "log/log.h"

#define WORKER_MOST 8 // conflicts taken from each worker per tick, even if it has more

bool mgmt_conflicts_tell(struct mgmt_conflicts *m, const struct addr *a, uint64_t now_ms)
{
	unsigned int index = MGMT_CONFLICTS;

	for (unsigned int i = 0; i < MGMT_CONFLICTS; i++) {
		if (now_ms >= m->told[i].until_ms)
			index = i;
		else if (addr_eq(&m->told[i].addr, a))
			return false;
	}
	if (index == MGMT_CONFLICTS)
		return false;
	m->told[index].addr = *a;
	m->told[index].until_ms = now_ms + MGMT_CONFLICTS_MS;
	return true;
}

static void log_conflict(struct dp *d, const struct dp_conflict *c)
{
	const char *port = dp_port(d, c->port)->name;
	char address[ADDR_TEXT_LEN], mac[18];

	addr_format(&c->addr, address, sizeof(address));
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", c->mac[0], c->mac[1], c->mac[2],
		c->mac[3], c->mac[4], c->mac[5]);

	const struct mgmt_log_field fields[] = {mgmt_log_text("port", port),
		mgmt_log_text("address", address), mgmt_log_text("mac", mac)};

	mgmt_log_fields(CONF_AREA_PORTS, LOG_WARNING, fields, 3,
		"port %s: another host, %s, has our address %s, or claims it: packets for us may "
		"go there",
		port, mac, address);
}

void mgmt_conflicts_tick(struct mgmt_conflicts *m, struct dp *d, uint64_t now_ms)
{
	struct dp_conflict c;

	for (unsigned int w = 0; w < dp_workers(d); w++)
		for (unsigned int n = 0; n < WORKER_MOST && dp_conflict(d, w, &c); n++)
			if (mgmt_conflicts_tell(m, &c.addr, now_ms))
				log_conflict(d, &c);
}
