// SPDX-License-Identifier: BSD-3-Clause
// Follows what becomes of the kernel's end of a vtap.
#include "vtap/vtap_port.h"

#include <stdio.h>

#include "port_log.h"

static struct vtap *of(struct port *p)
{
	return p->priv;
}

void vtap_watch(struct port *p)
{
	struct vtap *v = of(p);

	if (v->gone || vtap_iface_is_attached(&v->iface))
		return;
	__atomic_store_n(&v->gone, true, __ATOMIC_RELAXED);
	PORT_LOG(WARNING,
		"port %s: interface %s was removed: nothing comes or goes by it until a restart",
		p->name, v->spec.name);
}

bool vtap_trouble(struct port *p, char *buf, size_t len)
{
	const struct vtap *v = of(p);

	if (!__atomic_load_n(&v->gone, __ATOMIC_RELAXED))
		return false;
	snprintf(buf, len, "interface %s was removed: a restart makes it again", v->spec.name);
	return true;
}
