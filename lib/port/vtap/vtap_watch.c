// SPDX-License-Identifier: BSD-3-Clause
// Makes the kernel's end of a vtap again after its removal. The descriptors of its queues stay
// open, attached to nothing, and can be attached to a new interface, so workers continue to use
// them.
#include "vtap/vtap_port.h"

#include <stdio.h>
#include <string.h>

#include "host/kernel_host.h"
#include "port_log.h"
#include "open_request.h"

static struct vtap *to_vtap(struct port *p)
{
	return p->priv;
}

// Makes the interface, and brings it up unless port_ops.host will do so. Returns 0, or -1 with the
// reason in error.
static int make_iface(struct vtap *v, char *error, size_t len)
{
	struct port *p = &v->port;
	const struct port_config c = {.name = p->name, .device = v->spec.name};
	const struct port_request r = {.c = &c, .error = error, .error_len = len};
	int rc;

	if (vtap_iface_again(&v->iface, &r, &v->spec, p) != 0)
		return -1;
	rc = v->chooses >= 0 ? vtap_iface_steer(&v->iface, v->chooses) : 0;
	if (rc == 0 && p->kernel_host == NULL)
		rc = vtap_iface_up(&v->iface, true);
	if (rc != 0)
		port_request_fail(&r, "%s", strerror(-rc));
	return rc != 0 ? -1 : 0;
}

bool vtap_watch(struct port *p)
{
	struct vtap *v = to_vtap(p);
	char error[300] = "";

	if (!v->gone && vtap_iface_is_attached(&v->iface))
		return false;
	if (make_iface(v, error, sizeof(error)) != 0) {
		if (!v->gone)
			PORT_LOG(WARNING,
				"port %s: interface %s was removed, and cannot be made again yet: "
				"%s",
				p->name, v->spec.name, error);
		__atomic_store_n(&v->gone, true, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(&v->gone, false, __ATOMIC_RELAXED);
	PORT_LOG(WARNING, "port %s: interface %s was removed: it was made again%s", p->name,
		v->spec.name,
		p->kernel_host != NULL ? ""
				       : ", without settings made by others (addresses, a bridge)");
	return p->kernel_host != NULL;
}

bool vtap_trouble(struct port *p, char *buf, size_t len)
{
	const struct vtap *v = to_vtap(p);

	if (!__atomic_load_n(&v->gone, __ATOMIC_RELAXED))
		return port_kernel_host_trouble(p, buf, len);
	snprintf(buf, len,
		"interface %s was removed, and cannot be made again yet: "
		"the log says why",
		v->spec.name);
	return true;
}
