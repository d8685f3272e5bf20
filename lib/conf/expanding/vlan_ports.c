// SPDX-License-Identifier: BSD-3-Clause
// Turns every entry of ports[].vlans into a port, after all ports of the file, so that later code
// only knows ports. It also updates the places in the file's tree, so that later errors point at
// the entries.
#include "expanding/vlan_ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

// --- checks --------------------------------------------------------------------------------------

static const struct conf_node *entry_of(const struct conf_ctx *x, uint32_t port, const char *key)
{
	const struct conf_node *n = conf_node_by_field(x->root, &x->conf->ports, port);

	for (n = n != NULL ? n->child : NULL; n != NULL; n = n->next)
		if (strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

// A port without untagged addresses is no network: keys that serve addresses are errors there.
static int check_untagged(struct conf_ctx *x, uint32_t port)
{
	static const char *const keys[] = {"gateway", "routes", "exception"};
	const struct conf_port *p = &x->conf->ports[port];

	if (p->nb_addresses > 0)
		return 0;
	if (p->nb_vlans == 0)
		return conf_fail_key(x, conf_node_by_field(x->root, &x->conf->ports, port),
			"addresses",
			"missing, give it a list of addresses with prefix length in brackets, or "
			"give the port 'vlans'");
	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct conf_node *n = entry_of(x, port, keys[i]);

		if (n != NULL && n->child != NULL)
			return conf_fail(x, n,
				"is for untagged addresses, and the port has only VLANs: move it "
				"to the right entry of 'vlans'");
	}
	return 0;
}

static int check_vlan(struct conf_ctx *x, const struct conf_port *p, uint32_t i)
{
	const struct conf_port *v = &p->vlans[i];

	for (uint32_t j = 0; j < i; j++)
		if (p->vlans[j].vlan == v->vlan)
			return conf_fail(x, conf_node_by_field(x->root, &v->vlan, 0),
				"vlans[%u] has this id, too: put all addresses into one entry", j);
	if (v->mtu > p->mtu)
		return conf_fail(x, conf_node_by_field(x->root, &v->mtu, 0),
			"%u is above the port's mtu %u: raise that, or lower this", v->mtu, p->mtu);
	return 0;
}

static int check_port(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *p = &x->conf->ports[port];
	int rc = check_untagged(x, port);

	if (p->vlan != 0 && p->nb_vlans > 0)
		return conf_fail(x, conf_node_by_field(x->root, &p->vlan, 0),
			"the port has 'vlans', so these addresses are untagged: move the id and "
			"the addresses to an entry there");
	for (uint32_t i = 0; i < p->nb_vlans; i++)
		if (check_vlan(x, p, i) != 0)
			rc = -EINVAL;
	return rc;
}

// --- moving --------------------------------------------------------------------------------------

// Where an array of ports was, and where its elements are now: the ports of the file, or the vlans
// of one port.
struct move {
	const struct conf_port *old;
	uint32_t nb, first; // number of elements, and the new index of the first
	const void *list; // field that the array was read into
};

// Moves the places of all values to the new array. Only the file's own ports have vlans, so only
// the first move has that field.
static void move_places(struct conf_node *n, const struct conf *c, const struct move *m)
{
	for (; n != NULL; n = n->next) {
		const uintptr_t offset = (uintptr_t)n->field - (uintptr_t)m->old;

		if (n->field != NULL && offset < m->nb * sizeof(*m->old)) {
			n->field = (char *)&c->ports[m->first] + offset;
		} else if (n->field != NULL && n->field == m->list) {
			n->field = &c->ports;
			n->first += m->first;
		}
		move_places(n->child, c, m);
	}
}

static bool inherit_port(struct conf *c, uint32_t port, uint32_t on)
{
	struct conf_port *v = &c->ports[port];
	const struct conf_port *p = &c->ports[on];
	char name[64];

	v->shares = true;
	v->on = (uint8_t)on;
	v->steering = p->steering;
	v->uso = p->uso;
	if (v->mtu == 0)
		v->mtu = p->mtu;
	snprintf(name, sizeof(name), "%s.%u", p->name, v->vlan);
	if (v->name == NULL)
		v->name = strdup(name);
	v->device = strdup(p->device);
	return v->name != NULL && v->device != NULL;
}

// Appends the VLANs of a port to the array of ports, which has room for them.
static bool append_vlans(struct conf_ctx *x, uint32_t port)
{
	struct conf *c = x->conf;
	struct conf_port *p = &c->ports[port];
	const struct move m = {p->vlans, p->nb_vlans, c->nb_ports, &p->vlans};
	bool ok = true;

	if (p->nb_vlans == 0)
		return true;
	memcpy(&c->ports[c->nb_ports], p->vlans, p->nb_vlans * sizeof(*p));
	move_places(x->root, c, &m);
	p->tagged_only = p->nb_addresses == 0;
	for (uint32_t i = 0; i < p->nb_vlans; i++)
		ok = inherit_port(c, c->nb_ports + i, port) && ok;
	c->nb_ports += p->nb_vlans;
	free(p->vlans);
	p->vlans = NULL;
	p->nb_vlans = 0;
	return ok;
}

int conf_vlans_grow(struct conf_ctx *x, uint32_t nb)
{
	struct conf *c = x->conf;
	const struct move m = {.old = c->ports, .nb = c->nb_ports};
	struct conf_port *grown = calloc(nb, sizeof(*grown));

	if (grown == NULL)
		return conf_fail_memory(x);
	memcpy(grown, m.old, m.nb * sizeof(*grown));
	c->ports = grown;
	move_places(x->root, c, &m);
	free((void *)(uintptr_t)m.old);
	return 0;
}

int conf_vlans_expand(struct conf_ctx *x)
{
	struct conf *c = x->conf;
	const uint32_t nb_old = c->nb_ports;
	uint32_t nb = nb_old;
	int rc = 0;

	for (uint32_t i = 0; i < nb_old; i++) {
		if (check_port(x, i) != 0)
			rc = -EINVAL;
		nb += c->ports[i].nb_vlans;
		if (rc == 0 && nb > CONF_PORTS_MAX)
			rc = conf_fail(x, entry_of(x, i, "vlans"),
				"the file has %u ports and VLANs up to here: at most %u are "
				"possible, remove some",
				nb, CONF_PORTS_MAX);
	}
	if (rc != 0 || nb == nb_old)
		return rc;
	rc = conf_vlans_grow(x, nb);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < nb_old; i++)
		if (!append_vlans(x, i))
			return conf_fail_memory(x);
	return 0;
}
