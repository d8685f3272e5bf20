// SPDX-License-Identifier: BSD-3-Clause
// Logs which links of bonded ports are up and in use.
#include "link/bonds.h"
#include "log/log.h"

static unsigned int list_members(struct port *p, struct port_member m[PORT_MEMBERS_MAX])
{
	return p->ops->members != NULL ? p->ops->members(p, m) : 0;
}

static const char *member_state(const struct port_member *m)
{
	return m->used ? "used" : m->link ? "up" : "down";
}

char *mgmt_bonds_text(struct port *p, char *buf, size_t len)
{
	struct port_member m[PORT_MEMBERS_MAX];
	const unsigned int n = list_members(p, m);
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < n && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s=%s", i > 0 ? " " : "",
			m[i].name, member_state(&m[i]));
	return buf;
}

static void log_bond(struct port *p, bool whole)
{
	char text[128];
	const struct mgmt_log_field fields[] = {mgmt_log_text("port", p->name),
		mgmt_log_text("members", mgmt_bonds_text(p, text, sizeof(text)))};

	mgmt_log_fields(CONF_AREA_PORTS, whole ? LOG_INFO : LOG_WARNING, fields, 2,
		"port %s: bond: %s", p->name, text);
}

static void tick_port(struct mgmt_bonds *b, unsigned int i, struct port *p)
{
	struct port_member m[PORT_MEMBERS_MAX];
	const unsigned int n = list_members(p, m);
	uint32_t up = 0, used = 0;

	for (unsigned int k = 0; k < n; k++) {
		up |= (uint32_t)m[k].link << k;
		used |= (uint32_t)m[k].used << k;
	}
	if (n == 0 || (b->port[i].told && up == b->port[i].up && used == b->port[i].used))
		return;
	b->port[i].up = up;
	b->port[i].used = used;
	b->port[i].told = true;
	log_bond(p, up == (1u << n) - 1 && used != 0);
}

void mgmt_bonds_tick(struct mgmt_bonds *b, const struct dp *d)
{
	for (unsigned int i = 0; i < dp_ports(d); i++)
		tick_port(b, i, dp_port(d, i));
}
