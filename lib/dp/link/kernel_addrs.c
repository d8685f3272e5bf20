// SPDX-License-Identifier: BSD-3-Clause
// Reads the addresses of the kernel's interface of a packet port. The kernel runs DHCP and handles
// router advertisements with or without a data path, so no frames need to be carried for that.
//
// An address of the file that the interface has never had may still be routed to this host. It
// counts as lost only if the interface had it before.
#include "link/kernel_addrs.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "conf.h"
#include "datapath.h"
#include "devices/packet_spec.h"
#include "dp.h"
#include "exception/learn_choose.h"
#include "kernel_watch.h"
#include "link/addr_settled.h"
#include "turn_relay_map.h"

#define LOOK_MS 100
#define TELL_MS 5000 // between two log lines while the start waits
#define ROUTER_MS 3000 // wait for a default router, after all addresses are there
#define FIND_TICKS 10 // between two checks for a recreated interface

// An address of a port, in the order of the configuration.
struct row {
	struct dp_learned state; // protected by the lock
	bool seen; // the interface has had it
	bool there, deprecated; // the interface has it, as last seen
	struct addr_settled settled; // for an address that the network has assigned
	bool due; // dp_moves has returned it
};

struct of_port {
	const struct conf_port *conf;
	uint32_t port; // index of the port
	char interface[PACKET_NAME_LEN];
	unsigned int index; // index of the watched interface; 0 = none
	struct port_kernel_watch *watch;
	bool again; // read it again without an event
	struct row *row;
	uint32_t nb_rows;
	// As last seen, by [is_v4]: the first address without a row, and the router.
	struct prefix candidate[2];
	struct addr router[2];
};

struct kernel_addrs {
	struct of_port port[CONF_PORTS_MAX];
	unsigned int nb_ports;
	uint32_t ticks;
	bool moving; // a move of dp_moves is in progress: change nothing
	pthread_mutex_t lock;
};

static bool is_none(const struct addr *a)
{
	return (a->d[0] | a->d[1]) == 0;
}

static bool is_packet(const struct conf_port *p, struct packet_spec *spec)
{
	char reason[160];

	return !p->shares && !p->loopback && p->bond.nb_members == 0 && packet_spec_is(p->device) &&
		packet_spec_parse(p->device, spec, reason, sizeof(reason));
}

// --- before ports are open -----------------------------------------------------------------------

// A port that waits for addresses.
struct waiting {
	const struct conf_port *port;
	const char *interface;
	struct learn_choice choice;
	struct addr router[2];
	// since_ms: when all addresses were there; 0 = not yet
	uint64_t begun_ms, since_ms, told_ms;
};

static bool wants_router(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_gateways; i++)
		if (addr_is_v4(&p->gateways[i]) == is_v4)
			return false;
	return true;
}

// True if an address of a family is missing or, if router is true, the default router of that
// family.
static bool is_missing(const struct waiting *w, bool is_v4, bool router)
{
	if (!conf_learns(w->port, is_v4))
		return false;
	return !w->choice.any[is_v4] ||
		(router && wants_router(w->port, is_v4) && is_none(&w->router[is_v4]));
}

static bool is_there(struct waiting *w, uint64_t now)
{
	if (is_missing(w, true, false) || is_missing(w, false, false))
		w->since_ms = 0;
	else if (w->since_ms == 0)
		w->since_ms = now;
	return w->since_ms != 0 &&
		(now - w->since_ms >= ROUTER_MS ||
			(!is_missing(w, true, true) && !is_missing(w, false, true)));
}

static void describe_wait(const struct waiting *w, char *buf, size_t len)
{
	const bool v4 = is_missing(w, true, false), v6 = is_missing(w, false, false);

	snprintf(buf, len, "port %s: waiting for %s on interface %s", w->port->name,
		v4 && v6     ? "an IPv4 and an IPv6 address"
			: v4 ? "an IPv4 address"
			: v6 ? "an IPv6 address"
			     : "a default router",
		w->interface);
}

// Reads the interface once. Returns 1 if everything is there, 0 if not yet, or -1 if the time is
// up, with the reason in error.
static int poll_interface(struct waiting *w, struct port_kernel_watch *watch,
	const struct dp_learning *l, char *error, size_t len)
{
	const struct learn_choice none = {.port = w->port};
	const uint64_t now = clock_monotonic_ms(),
		       limit_ms = w->port->learn_wait_s * UINT64_C(1000);
	char text[200];

	if (port_kernel_watch_news(watch)) {
		w->choice = none;
		if (port_kernel_watch_read(watch, learn_choose, &w->choice, w->router) != 0)
			w->choice = none;
	}
	if (is_there(w, now))
		return 1;
	describe_wait(w, text, sizeof(text));
	if (limit_ms != 0 && now - w->begun_ms >= limit_ms && w->since_ms == 0) {
		snprintf(error, len, "%s: given up after %u s", text, w->port->learn_wait_s);
		return -1;
	}
	if (l->stop(l->ctx)) {
		snprintf(error, len, "stopped while waiting for addresses");
		return -1;
	}
	if (now - w->told_ms >= TELL_MS)
		l->tell(l->ctx, text);
	if (now - w->told_ms >= TELL_MS)
		w->told_ms = now;
	return 0;
}

static int wait_for(struct waiting *w, const struct dp_learning *l, char *error, size_t len)
{
	const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
	struct port_kernel_watch *watch = port_kernel_watch_open(NULL, w->interface, error, len);
	int rc;

	if (watch == NULL)
		return -1;
	while ((rc = poll_interface(w, watch, l, error, len)) == 0)
		nanosleep(&pause, NULL);
	port_kernel_watch_close(watch);
	return rc > 0 ? 0 : -1;
}

static int learn_port(
	const struct dp_learning *l, uint32_t port, const char *interface, char *error, size_t len)
{
	const struct conf_port *p = &l->conf->ports[port];
	struct waiting w = {.port = p,
		.interface = interface,
		.choice = {.port = p},
		.begun_ms = clock_monotonic_ms(),
		.told_ms = clock_monotonic_ms()};
	struct conf_learned list[2];
	char reason[CONF_ERROR_LEN] = "";
	uint32_t nb = 0;

	if (wait_for(&w, l, error, len) != 0)
		return -1;
	for (uint32_t i = 0; i < p->nb_addresses && nb < 2; i++) {
		const bool is_v4 = p->addresses[i].learn == CONF_LEARN_DHCP;

		if (p->addresses[i].pending)
			list[nb++] = (struct conf_learned){.port = port,
				.index = i,
				.addr = w.choice.first[is_v4].addr,
				.prefix_len = w.choice.first[is_v4].len,
				.gateway = w.router[is_v4]};
	}
	if (conf_resolve(l->conf, list, nb, l->report, reason) == 0)
		return 0;
	snprintf(error, len, "%s", reason);
	return -1;
}

int kernel_addrs_learn(const struct dp_learning *l, char *error, size_t len)
{
	for (uint32_t i = 0; i < l->conf->nb_ports; i++) {
		const struct conf_port *p = &l->conf->ports[i];
		struct packet_spec spec;

		if ((conf_learns(p, true) || conf_learns(p, false)) && is_packet(p, &spec) &&
			learn_port(l, i, spec.name, error, len) != 0)
			return -1;
	}
	return 0;
}

// --- watching ------------------------------------------------------------------------------------

// The gateway of a family that is in use; :: = none.
static struct addr gateway_of(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_gateways; i++)
		if (addr_is_v4(&p->gateways[i]) == is_v4)
			return p->gateways[i];
	return (struct addr){.b = {0}};
}

static void fill_row(const struct of_port *o, uint32_t i)
{
	const struct conf_address *a = &o->conf->addresses[i];
	const struct addr gateway = gateway_of(o->conf, addr_is_v4(&a->addr));

	o->row[i].state = (struct dp_learned){.port = o->conf->name,
		.interface = o->interface,
		.is_v4 = addr_is_v4(&a->addr),
		.taken = a->learn != CONF_LEARN_NONE,
		.follows = a->learn != CONF_LEARN_NONE,
		.gateway = gateway,
		.router = gateway,
		.addr = a->addr};
}

static int add_port(
	struct kernel_addrs *k, const struct conf *c, uint32_t port, const char *interface)
{
	struct of_port *o = &k->port[k->nb_ports];
	const struct conf_port *p = &c->ports[port];

	o->conf = p;
	o->port = port;
	snprintf(o->interface, sizeof(o->interface), "%s", interface);
	o->row = calloc(p->nb_addresses, sizeof(*o->row));
	if (o->row == NULL)
		return -ENOMEM;
	o->nb_rows = p->nb_addresses;
	k->nb_ports++;
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		fill_row(o, i);
	return 0;
}

int kernel_addrs_open(struct dp *d)
{
	struct kernel_addrs *k = calloc(1, sizeof(*k));
	int rc = 0;

	if (k == NULL)
		return -ENOMEM;
	pthread_mutex_init(&k->lock, NULL);
	d->kernel_addrs = k;
	for (uint32_t i = 0; i < d->conf->nb_ports && rc == 0; i++) {
		struct packet_spec spec;

		if (is_packet(&d->conf->ports[i], &spec))
			rc = add_port(k, d->conf, i, spec.name);
	}
	kernel_addrs_tick(d);
	return rc;
}

static void note_address(void *ctx, const struct port_kernel_address *a)
{
	struct of_port *o = ctx;
	struct prefix *candidate = &o->candidate[addr_is_v4(&a->prefix.addr)];
	bool ours = false;

	for (uint32_t i = 0; i < o->nb_rows; i++) {
		if (!addr_eq(&o->row[i].state.addr, &a->prefix.addr))
			continue;
		ours = o->row[i].there = true;
		o->row[i].deprecated = a->deprecated;
	}
	if (!ours && !a->deprecated &&
		(is_none(&candidate->addr) ||
			learn_choose_better(&a->prefix.addr, &candidate->addr)))
		*candidate = a->prefix;
}

static void judge_row(struct dp *d, const struct of_port *o, struct row *r)
{
	static const struct addr none;
	const bool is_v4 = r->state.is_v4;
	const int relay = turn_relay_map_find(d->map, &r->state.addr);
	const bool lost = r->seen && !r->there;

	r->seen = r->seen || r->there;
	if (lost != r->state.lost && relay >= 0)
		turn_relay_map_lose(d->map, (unsigned int)relay, lost);
	pthread_mutex_lock(&d->kernel_addrs->lock);
	r->state.lost = lost;
	r->state.replacement = lost ? o->candidate[is_v4].addr : none;
	if (o->conf->gateway_learned[is_v4])
		r->state.router = o->router[is_v4];
	pthread_mutex_unlock(&d->kernel_addrs->lock);
}

// A recreated interface has a new index.
static void find_interface(struct of_port *o)
{
	const unsigned int index = if_nametoindex(o->interface);
	char error[200];

	if (index == o->index && (index == 0 || o->watch != NULL))
		return;
	port_kernel_watch_close(o->watch);
	o->watch = index != 0 ? port_kernel_watch_open(NULL, o->interface, error, sizeof(error))
			      : NULL;
	o->index = o->watch != NULL ? index : 0;
}

static void watch_port(struct dp *d, struct of_port *o)
{
	if (o->watch != NULL && !port_kernel_watch_news(o->watch) && !o->again)
		return;
	o->again = true; // after an incomplete listing the interface is read again
	for (uint32_t i = 0; i < o->nb_rows; i++)
		o->row[i].there = o->row[i].deprecated = false;
	memset(o->candidate, 0, sizeof(o->candidate));
	memset(o->router, 0, sizeof(o->router));
	if (o->watch != NULL && port_kernel_watch_read(o->watch, note_address, o, o->router) != 0)
		return;
	o->again = false;
	for (uint32_t i = 0; i < o->nb_rows; i++)
		judge_row(d, o, &o->row[i]);
}

void kernel_addrs_tick(struct dp *d)
{
	struct kernel_addrs *k = d->kernel_addrs;

	if (k == NULL || k->moving)
		return;
	for (unsigned int i = 0; i < k->nb_ports; i++) {
		if (k->ticks % FIND_TICKS == 0)
			find_interface(&k->port[i]);
		watch_port(d, &k->port[i]);
	}
	k->ticks++;
}

// --- replacements --------------------------------------------------------------------------------

// The replacement of an address that the network has assigned, or NULL if the address is still
// right. A deprecated address is no replacement: it must not be used for new communication, such as
// an allocation.
static const struct addr_wanted *find_wanted(
	const struct of_port *o, uint32_t i, struct addr_wanted *out)
{
	const struct row *r = &o->row[i];
	const bool is_v4 = r->state.is_v4;
	const bool available = !is_none(&o->candidate[is_v4].addr);
	const bool stays = r->there && !r->deprecated &&
		!(available && learn_choose_better(&o->candidate[is_v4].addr, &r->state.addr));

	if (o->again || (!r->there && !available))
		return NULL;
	*out = (struct addr_wanted){.addr = r->state.addr,
		.prefix_len = o->conf->addresses[i].prefix_len,
		.router = r->state.gateway};
	if (!stays && available) {
		out->addr = o->candidate[is_v4].addr;
		out->prefix_len = o->candidate[is_v4].len;
	}
	if (o->conf->gateway_learned[is_v4] && !is_none(&o->router[is_v4]))
		out->router = o->router[is_v4];
	return addr_eq(&out->addr, &r->state.addr) && addr_eq(&out->router, &r->state.gateway)
		? NULL
		: out;
}

static bool is_due(struct of_port *o, uint32_t i, uint64_t now, struct conf_learned *out)
{
	struct row *r = &o->row[i];
	struct addr_wanted w;

	if (!r->state.follows || !addr_settled_look(&r->settled, find_wanted(o, i, &w), now))
		return false;
	*out = (struct conf_learned){.port = o->port,
		.index = i,
		.addr = w.addr,
		.prefix_len = w.prefix_len,
		.gateway = w.router};
	r->due = true;
	return true;
}

unsigned int dp_moves(struct dp *d, struct conf_learned list[DP_LEARNED_MAX])
{
	struct kernel_addrs *k = d->kernel_addrs;
	unsigned int n = 0;

	for (unsigned int i = 0; k != NULL && !k->moving && i < k->nb_ports; i++)
		for (uint32_t j = 0; j < k->port[i].nb_rows && n < DP_LEARNED_MAX; j++)
			n += is_due(&k->port[i], j, clock_monotonic_ms(), &list[n]);
	if (k != NULL && n > 0)
		k->moving = true;
	return n;
}

void dp_move_done(struct dp *d, bool well)
{
	struct kernel_addrs *k = d->kernel_addrs;

	pthread_mutex_lock(&k->lock);
	for (unsigned int i = 0; i < k->nb_ports; i++) {
		struct of_port *o = &k->port[i];

		for (uint32_t j = 0; j < o->nb_rows; j++) {
			if (!o->row[j].due)
				continue;
			o->row[j].due = false;
			addr_settled_tried(&o->row[j].settled, clock_monotonic_ms());
			if (well)
				fill_row(o, j);
		}
		o->again = true;
	}
	k->moving = false;
	pthread_mutex_unlock(&k->lock);
}

// --- all ports -----------------------------------------------------------------------------------

unsigned int kernel_addrs_told(const struct dp *d, struct dp_learned *out, unsigned int most)
{
	struct kernel_addrs *k = d->kernel_addrs;
	unsigned int n = 0;

	if (k == NULL)
		return 0;
	pthread_mutex_lock(&k->lock);
	for (unsigned int i = 0; i < k->nb_ports; i++)
		for (uint32_t j = 0; j < k->port[i].nb_rows && n < most; j++)
			out[n++] = k->port[i].row[j].state;
	pthread_mutex_unlock(&k->lock);
	return n;
}

void kernel_addrs_free(struct dp *d)
{
	struct kernel_addrs *k = d->kernel_addrs;

	if (k == NULL)
		return;
	for (unsigned int i = 0; i < k->nb_ports; i++) {
		port_kernel_watch_close(k->port[i].watch);
		free(k->port[i].row);
	}
	pthread_mutex_destroy(&k->lock);
	free(k);
	d->kernel_addrs = NULL;
}
