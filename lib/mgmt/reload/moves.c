// SPDX-License-Identifier: BSD-3-Clause
// Describes address changes that the data path follows.
#include "reload/moves.h"

#include <stdbool.h>

#include "conf.h"
#include "log/text_line.h"

static void add_change(
	struct mgmt_line *l, const char *label, const struct addr *was, const struct addr *current)
{
	static const struct addr none;
	char old[ADDR_TEXT_LEN], new[ADDR_TEXT_LEN];

	if (addr_eq(was, current))
		return;
	mgmt_line_add(l, " %s%s in place of %s", label, addr_format(current, new, sizeof(new)),
		addr_eq(was, &none) ? "none" : addr_format(was, old, sizeof(old)));
}

static struct addr router_of(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_gateways; i++)
		if (addr_is_v4(&p->gateways[i]) == is_v4)
			return p->gateways[i];
	return (struct addr){.b = {0}};
}

void moves_describe(const struct conf *running, const struct conf_learned *list, unsigned int nb,
	char *buf, size_t len)
{
	struct mgmt_line l = {.buf = buf, .len = len};

	buf[0] = '\0';
	for (unsigned int i = 0; i < nb; i++) {
		const struct conf_port *p = &running->ports[list[i].port];
		const struct addr *was = &p->addresses[list[i].index].addr;
		const struct addr router = router_of(p, addr_is_v4(was));

		mgmt_line_add(&l, "%sport %s follows its interface:", i > 0 ? "; " : "", p->name);
		add_change(&l, "", was, &list[i].addr);
		add_change(&l, addr_eq(was, &list[i].addr) ? "router " : "and router ", &router,
			&list[i].gateway);
	}
}
