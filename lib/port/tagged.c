// SPDX-License-Identifier: BSD-3-Clause
// Ports that share a device with another port and differ from it by the VLAN tag of their frames.
// They forward calls to the port that has the device.
#include "tagged.h"

#include <stdio.h>
#include <stdlib.h>

#include "port.h"

struct tagged {
	struct port port;
	struct port_ops ops; // without functions that the device lacks
	char name[64];
};

static uint16_t tagged_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return 0;
}

// Applies the device's current limits of super-frames to its VLANs.
static void super_follow(struct port_super *s, const struct port_super *device)
{
	if (unlikely(__atomic_load_n(&device->segments, __ATOMIC_RELAXED) == 0))
		__atomic_store_n(&s->segments, 0, __ATOMIC_RELAXED);
}

static uint16_t tagged_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	const uint16_t sent = port_tx(p->on, queue, m, n);

	super_follow(&p->uso, &p->on->uso);
	super_follow(&p->tso, &p->on->tso);
	return sent;
}

// The device was started before, so its RSS state is known now.
static int tagged_start(struct port *p)
{
	const struct port *on = p->on;

	p->rss = on->rss;
	p->rss_udp = on->rss_udp;
	p->rss_key_len = on->rss_key_len;
	p->reta_size = on->reta_size;
	memcpy(p->rss_key, on->rss_key, sizeof(p->rss_key));
	memcpy(p->reta, on->reta, sizeof(p->reta));
	return 0;
}

static void tagged_stop(struct port *p)
{
}

static void tagged_close(struct port *p)
{
	free(p->priv);
}

static bool tagged_link(struct port *p)
{
	return p->on->ops->link(p->on);
}

// Frames are counted once, by the port that has the device.
static void tagged_counters(struct port *p, struct port_counters *out)
{
	*out = (struct port_counters){0};
}

static int tagged_flow_create(
	struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len)
{
	return p->on->ops->flow_create(p->on, r, flow, reason, len);
}

static void tagged_flow_destroy(struct port *p, void *flow)
{
	p->on->ops->flow_destroy(p->on, flow);
}

static int tagged_wake_fd(struct port *p, uint16_t queue)
{
	return p->on->ops->wake_fd(p->on, queue);
}

static int tagged_wake_arm(struct port *p, uint16_t queue, bool on)
{
	return p->on->ops->wake_arm(p->on, queue, on);
}

static const struct port_ops tagged_ops = {
	.kind = "vlan",
	.rx = tagged_rx,
	.tx = tagged_tx,
	.start = tagged_start,
	.stop = tagged_stop,
	.close = tagged_close,
	.link = tagged_link,
	.counters = tagged_counters,
	.flow_create = tagged_flow_create,
	.flow_destroy = tagged_flow_destroy,
	.wake_fd = tagged_wake_fd,
	.wake_arm = tagged_wake_arm,
};

struct port *port_tagged_open(struct port *on, const struct port_config *c, char *error, size_t len)
{
	struct tagged *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		snprintf(error, len, "port %s: out of memory", c->name);
		return NULL;
	}
	snprintf(t->name, sizeof(t->name), "%s", c->name);
	t->ops = tagged_ops;
	if (on->ops->flow_create == NULL)
		t->ops.flow_create = NULL;
	if (on->ops->wake_fd == NULL)
		t->ops.wake_fd = NULL;
	if (on->ops->wake_arm == NULL)
		t->ops.wake_arm = NULL;
	t->port = *on;
	t->port.ops = &t->ops;
	t->port.priv = t;
	t->port.name = t->name;
	t->port.vlan = c->vlan;
	t->port.mtu = c->mtu;
	t->port.on = on;
	t->port.shared = false;
	if (c->uso == PORT_USO_OFF)
		t->port.uso = (struct port_super){0};
	if (c->tso == PORT_USO_OFF)
		t->port.tso = (struct port_super){0};
	on->shared = true;
	return &t->port;
}
