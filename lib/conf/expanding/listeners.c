// SPDX-License-Identifier: BSD-3-Clause
// Turns `address: all` into a listener for each address. It also updates the places in the file's
// tree, so that later errors point at the entry.
#include "expanding/listeners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "conf_features.h"
#include "devices/packet_spec.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/read.h"
#include "schema/schema.h"

// turn_view.listener is a byte, and lib/dp reserves its last value.
#define LISTENERS_MAX 255

// The listeners of the file, and the first listener of each after expansion.
struct expansion {
	struct turn_listener *old, *new;
	uint32_t nb_old, nb_new;
	uint32_t *first; // nb_old + 1
};

// True if the kernel has the addresses of a port, in the namespace where it listens.
static bool is_of_kernel(const struct conf *c, const struct conf_port *p)
{
	const char *there = p->exception.netns != NULL ? p->exception.netns : "";
	const char *here = c->streams.netns != NULL ? c->streams.netns : "";

	if (!p->shares && p->device != NULL && packet_spec_is(p->device))
		return here[0] == '\0';
	return p->exception.name != NULL && strcmp(there, here) == 0;
}

// True if a listener applies to an address. TCP listeners are kernel sockets: the kernel has the
// addresses of ports with an exception port, and of those that share its interface.
static bool is_wanted(
	const struct conf *c, const struct turn_listener *l, const struct turn_local *a)
{
	const bool is_v4 = addr_is_v4(&a->addr);

	if (turn_listener_is_stream(l) && !is_of_kernel(c, &c->ports[a->port]))
		return false;
	return l->on == TURN_LISTEN_ALL || (l->on == TURN_LISTEN_ALL_IPV4) == is_v4;
}

static bool copy_text(char **text)
{
	if (*text != NULL)
		*text = strdup(*text);
	return *text != NULL;
}

static bool copy_texts(char ***list, uint32_t *nb)
{
	char **const texts = *list;
	bool good = true;

	if (texts == NULL)
		return true;
	*list = calloc((size_t)*nb + 1, sizeof(**list));
	if (*list == NULL) {
		*nb = 0;
		return false;
	}
	for (uint32_t i = 0; i < *nb; i++) {
		(*list)[i] = texts[i];
		good &= copy_text(&(*list)[i]);
	}
	return good;
}

static bool copy_prefixes(struct prefix **list, uint32_t *nb)
{
	const struct prefix *old = *list;

	if (old == NULL)
		return true;
	*list = calloc((size_t)*nb + 1, sizeof(**list));
	if (*list == NULL) {
		*nb = 0;
		return false;
	}
	memcpy(*list, old, *nb * sizeof(**list));
	return true;
}

// Gives an entry its own strings and lists. Returns false if memory runs out; some are missing
// then.
static bool own_lists(struct turn_listener *l)
{
	struct turn_listener_tls *t = &l->tls;
	bool all = t->certificate == NULL || copy_text(&t->certificate);

	all &= t->key == NULL || copy_text(&t->key);
	all &= copy_texts(&t->alpn, &t->nb_alpn);
#define X(field, nb) all &= copy_texts(&l->field, &l->nb);
	CONF_LISTENER_TEXTS(X)
#undef X
	all &= copy_prefixes(&l->proxy.sources, &l->proxy.nb_from);
	return all;
}

static uint32_t put_all(
	struct conf_ctx *x, const struct turn_listener *l, struct turn_listener *out)
{
	const struct conf *c = x->conf;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->turn.nb_local; i++) {
		if (!is_wanted(c, l, &c->turn.local[i]))
			continue;
		out[n] = *l;
		if (n > 0 && !own_lists(&out[n])) // the first keeps those of the entry
			conf_fail_memory(x);
		out[n].endpoint.addr = c->turn.local[i].addr;
		out[n++].on = TURN_LISTEN_ONE;
	}
	return n;
}

// Moves the places of all values of listeners to the new array.
static void move_places(struct conf_node *n, const struct turn_config *t, const struct expansion *e)
{
	for (; n != NULL; n = n->next) {
		const uintptr_t offset = (uintptr_t)n->field - (uintptr_t)e->old;
		const uint32_t old = (uint32_t)(offset / sizeof(*e->old));

		if (n->field != NULL && offset < e->nb_old * sizeof(*e->old)) {
			n->field = (char *)&e->new[e->first[old]] + offset % sizeof(*e->old);
		} else if (n->field == &t->listeners) {
			n->count = e->first[n->first + 1] - e->first[n->first];
			n->first = e->first[n->first];
		}
		move_places(n->child, t, e);
	}
}

static int expand_listeners(struct conf_ctx *x, struct expansion *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < e->nb_old; i++) {
		const struct turn_listener *l = &e->old[i];
		uint32_t n = 1;

		e->first[i] = e->nb_new;
		if (l->on == TURN_LISTEN_ONE)
			e->new[e->nb_new] = *l;
		else
			n = put_all(x, l, &e->new[e->nb_new]);
		e->nb_new += n;
		if (n > 0)
			continue;
		conf_read_free(x->keys, conf_schema_child(x->keys, NULL, "listeners"), &e->old[i]);
		rc = conf_fail(x, conf_node_by_field(x->root, &l->endpoint.addr, 0),
			turn_listener_is_stream(l)
				? "no port has 'exception' and such an address: TCP needs "
				  "both (conf/transports.yaml)"
				: "no port has an address of this family");
	}
	e->first[e->nb_old] = e->nb_new;
	return rc;
}

static bool any_on_all(const struct turn_config *t)
{
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (t->listeners[i].on != TURN_LISTEN_ONE)
			return true;
	return false;
}

int conf_listeners_expand(struct conf_ctx *x)
{
	struct turn_config *t = &x->conf->turn;
	struct expansion e = {.old = t->listeners, .nb_old = t->nb_listeners};
	const struct conf_node *n;
	int rc;

	if (!any_on_all(t))
		return 0;
	e.new = calloc((size_t)e.nb_old * (t->nb_local + 1) + 1, sizeof(*e.new));
	e.first = calloc((size_t)e.nb_old + 1, sizeof(*e.first));
	if (e.new == NULL || e.first == NULL) {
		free(e.new);
		free(e.first);
		return conf_fail_memory(x);
	}
	rc = expand_listeners(x, &e);
	move_places(x->root, t, &e);
	t->listeners = e.new;
	t->nb_listeners = e.nb_new;
	free(e.old);
	free(e.first);
	n = conf_node_by_field(x->root, &t->listeners, LISTENERS_MAX);
	if (rc == 0 && e.nb_new > LISTENERS_MAX)
		return conf_fail(x, n,
			"%u listeners, with one on each address: at most %u are possible", e.nb_new,
			LISTENERS_MAX);
	return rc;
}
