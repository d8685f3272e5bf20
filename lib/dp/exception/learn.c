// SPDX-License-Identifier: BSD-3-Clause
// Waits for the addresses that the network assigns to the kernel's interface of a port, and watches
// them. DHCP must run through our port before there is a data path, because relay map, listeners
// and policy are made from its result. So the management lcore itself carries frames between the
// started port and the started interface (learn_carry.c).
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "exception/learn.h"
#include "conf.h"
#include "datapath.h"
#include "dp.h"
#include "exception/exception.h"
#include "exception/learn_carry.h"
#include "exception/learn_choose.h"
#include "kernel_watch.h"
#include "link/kernel_addrs.h"
#include "port.h"
#include "turn_relay_map.h"

#define PAUSE_NS (500 * 1000)
#define LOOK_MS 100 // between two checks of the interface's addresses
#define TELL_MS 5000 // between two log lines while the start waits
#define ROUTER_MS 3000 // wait for a default router, after all addresses are there

// An entry of ports[].addresses, and its address.
struct learned_addr {
	struct conf_learned entry;
	bool found;
	bool router_wanted; // the file has no gateway of this family
	struct dp_learned state; // protected by the lock
};

// One port that learns addresses.
struct learner {
	struct exception *e;
	struct port_kernel_watch *watch;
	struct learn_carry carry;
	uint64_t since_ms; // when all addresses were there; 0 = not yet
};

// Only for the management lcore, except the fields under the lock.
struct learn {
	struct learner port[CONF_PORTS_MAX];
	struct learned_addr addr[DP_LEARNED_MAX];
	struct learn_device device[CONF_PORTS_MAX];
	unsigned int nb_ports, nb_addrs, nb_devices;
	pthread_mutex_t lock; // telemetry threads read addr[].state
};

static bool is_none(const struct addr *a)
{
	return (a->d[0] | a->d[1]) == 0;
}

// --- waiting ------------------------------------------------------------------------------------

static bool wants_router(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_gateways; i++)
		if (addr_is_v4(&p->gateways[i]) == is_v4)
			return false;
	return true;
}

// The device of a port: itself, or the device that its VLAN is on.
static struct learn_device *device_of(struct learn *k, struct port *p)
{
	struct port *on = p->on != NULL ? p->on : p;

	for (unsigned int i = 0; i < k->nb_devices; i++)
		if (k->device[i].port == on)
			return &k->device[i];
	k->device[k->nb_devices].port = on;
	return &k->device[k->nb_devices++];
}

static void carry_open(struct dp *d, struct learn *k, struct learner *l)
{
	struct port *wire = d->port[l->e->port].port;
	const struct conf_port *p = &d->conf->ports[l->e->port];
	struct learn_device *on = device_of(k, wire);

	l->carry = (struct learn_carry){
		.rules = {conf_learns(p, true), conf_learns(p, false), p->vlan},
		.wire = wire,
		.kernel = l->e->kernel};
	on->carry[on->nb_carried++] = &l->carry;
}

static int learner_open(struct dp *d, struct learn *k, uint32_t port, char *error, size_t len)
{
	const struct conf_port *p = &d->conf->ports[port];
	struct learner *l = &k->port[k->nb_ports++];

	*l = (struct learner){.e = d->exception[port]};
	carry_open(d, k, l);
	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const bool is_v4 = p->addresses[i].learn == CONF_LEARN_DHCP;

		if (p->addresses[i].pending && k->nb_addrs < DP_LEARNED_MAX)
			k->addr[k->nb_addrs++] =
				(struct learned_addr){.entry = {.port = port, .index = i},
					.router_wanted = wants_router(p, is_v4),
					.state = {.port = p->name,
						.interface = p->exception.name,
						.is_v4 = is_v4,
						.taken = true}};
	}
	l->watch = port_kernel_watch_open(p->exception.netns, p->exception.name, error, len);
	return l->watch != NULL ? 0 : -1;
}

static int learn_open(struct dp *d, char *error, size_t len)
{
	struct learn *k = calloc(1, sizeof(*k));

	if (k == NULL) {
		snprintf(error, len, "out of memory");
		return -1;
	}
	pthread_mutex_init(&k->lock, NULL);
	d->learn = k;
	for (uint32_t i = 0; i < d->nb_ports; i++)
		if (d->exception[i] != NULL &&
			(conf_learns(&d->conf->ports[i], true) ||
				conf_learns(&d->conf->ports[i], false)) &&
			learner_open(d, k, i, error, len) != 0)
			return -1;
	return 0;
}

static void choose_address(
	struct learned_addr *a, const struct learn_choice *c, const struct addr router[2])
{
	const bool is_v4 = a->state.is_v4;

	a->found = c->any[is_v4];
	a->entry.addr = c->first[is_v4].addr;
	a->entry.prefix_len = c->first[is_v4].len;
	a->entry.gateway = router[is_v4];
}

// Reads the current addresses of a port's interface. True if there is nothing more to wait for.
static bool poll_interface(const struct dp *d, struct learn *k, struct learner *l, uint64_t now_ms)
{
	bool all = true, routers = true;
	struct learn_choice choice = {.port = &d->conf->ports[l->e->port]};
	struct addr router[2];

	if (port_kernel_watch_news(l->watch) &&
		port_kernel_watch_read(l->watch, learn_choose, &choice, router) == 0) {
		for (unsigned int i = 0; i < k->nb_addrs; i++)
			if (k->addr[i].entry.port == l->e->port)
				choose_address(&k->addr[i], &choice, router);
	}
	for (unsigned int i = 0; i < k->nb_addrs; i++) {
		const struct learned_addr *a = &k->addr[i];

		if (a->entry.port != l->e->port)
			continue;
		all = all && a->found;
		routers = routers && (!a->router_wanted || !is_none(&a->entry.gateway));
	}
	if (!all)
		l->since_ms = 0;
	else if (l->since_ms == 0)
		l->since_ms = now_ms;
	return all && (routers || now_ms - l->since_ms >= ROUTER_MS);
}

// Names the missing addresses of a port, and where to look.
static const char *missing_text(const struct learn *k, const struct learner *l, const char **hint)
{
	bool v4 = false, v6 = false;

	for (unsigned int i = 0; i < k->nb_addrs; i++) {
		const struct learned_addr *a = &k->addr[i];

		if (a->entry.port == l->e->port && !a->found) {
			v4 = v4 || a->state.is_v4;
			v6 = v6 || !a->state.is_v4;
		}
	}
	*hint = v4   ? " (is a DHCP client running on it?)"
		: v6 ? " (does a router advertise a prefix?)"
		     : "";
	return v4 && v6 ? "an IPv4 and an IPv6 address"
		: v4    ? "an IPv4 address"
		: v6    ? "an IPv6 address"
			: "a default router";
}

// Describes possible causes of a long wait, for the operator.
static void describe_wait(
	const struct dp *d, const struct learn *k, const struct learner *l, char *buf, size_t len)
{
	const struct conf_exception *e = l->e->conf;
	struct port *p = d->port[l->e->port].port;
	const char *hint, *needed = missing_text(k, l, &hint);

	snprintf(buf, len,
		"port %s: waiting for %s on %s%s%s%s; frames to the kernel %llu, from it %llu%s",
		p->name, needed, e->name, e->netns != NULL ? " in namespace " : "",
		e->netns != NULL ? e->netns : "", hint, (unsigned long long)l->carry.carried[0],
		(unsigned long long)l->carry.carried[1],
		p->ops->link(p) ? "" : "; the link is down");
}

static int give_up(
	const struct dp *d, const struct learn *k, const struct learner *l, char *error, size_t len)
{
	char text[300];

	describe_wait(d, k, l, text, sizeof(text));
	snprintf(error, len, "%s: given up after %u s", text,
		d->conf->ports[l->e->port].learn_wait_s);
	return -1;
}

// Checks all ports once. Returns 1 if everything is there, 0 if not yet, or -1 when the time is up,
// with the reason in error.
static int look_all(struct dp *d, uint64_t waited_ms, uint64_t now_ms, char *error, size_t len)
{
	struct learn *k = d->learn;
	int done = 1;

	for (unsigned int i = 0; i < k->nb_ports; i++) {
		struct learner *l = &k->port[i];
		const uint32_t limit_s = d->conf->ports[l->e->port].learn_wait_s;

		if (poll_interface(d, k, l, now_ms))
			continue;
		done = 0;
		if (limit_s != 0 && waited_ms >= limit_s * UINT64_C(1000) && l->since_ms == 0)
			return give_up(d, k, l, error, len);
	}
	return done;
}

static void tell_all(const struct dp *d, const struct dp_learning *how, uint64_t now_ms)
{
	char text[300];

	for (unsigned int i = 0; i < d->learn->nb_ports; i++) {
		struct learner *l = &d->learn->port[i];

		if (poll_interface(d, d->learn, l, now_ms))
			continue;
		describe_wait(d, d->learn, l, text, sizeof(text));
		how->tell(how->ctx, text);
	}
}

static int wait_for(struct dp *d, const struct dp_learning *how, char *error, size_t len)
{
	const uint64_t begun_ms = clock_monotonic_ms();
	uint64_t look_ms = 0, tell_ms = begun_ms + 1000;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	int done = 0;

	while (done == 0) {
		const uint64_t now_ms = clock_monotonic_ms();
		unsigned int work = 0;

		for (unsigned int i = 0; i < d->learn->nb_devices; i++)
			work += learn_carry(&d->learn->device[i], clock_monotonic_ns());
		if (now_ms >= look_ms) {
			look_ms = now_ms + LOOK_MS;
			done = look_all(d, now_ms - begun_ms, now_ms, error, len);
			if (done == 0 && how->stop(how->ctx)) {
				snprintf(error, len, "stopped while waiting for addresses");
				return -1;
			}
		}
		if (done == 0 && now_ms >= tell_ms) {
			tell_ms = now_ms + TELL_MS;
			tell_all(d, how, now_ms);
		}
		if (work == 0 && done == 0)
			nanosleep(&pause, NULL);
	}
	return done > 0 ? 0 : -1;
}

static int take_learned(struct dp *d, const struct dp_learning *how, char *error, size_t len)
{
	struct conf_learned list[DP_LEARNED_MAX];
	char reason[CONF_ERROR_LEN] = "";
	struct learn *k = d->learn;

	for (unsigned int i = 0; i < k->nb_addrs; i++) {
		struct learned_addr *a = &k->addr[i];

		if (!a->router_wanted)
			a->entry.gateway = (struct addr){.b = {0}};
		a->state.addr = a->entry.addr;
		a->state.gateway = a->state.router = a->entry.gateway;
		list[i] = a->entry;
	}
	if (conf_resolve(how->conf, list, k->nb_addrs, how->report, reason) == 0)
		return 0;
	snprintf(error, len, "%s", reason);
	return -1;
}

int learn_addresses(struct dp *d, const struct dp_learning *how, char *error, size_t len)
{
	if (!conf_pending(d->conf))
		return 0;
	if (learn_open(d, error, len) != 0 || wait_for(d, how, error, len) != 0)
		return -1;
	return take_learned(d, how, error, len);
}

// --- watching -----------------------------------------------------------------------------------

static void update_address(struct dp *d, struct learned_addr *a, const struct learn_choice *c,
	const struct addr router[2])
{
	const bool is_v4 = a->state.is_v4, lost = !c->is_there[is_v4];
	const int relay = turn_relay_map_find(d->map, &a->entry.addr);

	if (relay >= 0)
		turn_relay_map_lose(d->map, (unsigned int)relay, lost);
	pthread_mutex_lock(&d->learn->lock);
	a->state.lost = lost;
	a->state.replacement = lost ? c->first[is_v4].addr : (struct addr){.b = {0}};
	a->state.router = a->router_wanted ? router[is_v4] : a->state.gateway;
	pthread_mutex_unlock(&d->learn->lock);
}

static void watch_interface(struct dp *d, struct learner *l)
{
	struct learn *k = d->learn;
	struct learn_choice choice = {.port = &d->conf->ports[l->e->port]};
	struct addr router[2];

	if (!port_kernel_watch_news(l->watch))
		return;
	for (unsigned int i = 0; i < k->nb_addrs; i++)
		if (k->addr[i].entry.port == l->e->port)
			choice.used[k->addr[i].state.is_v4] = k->addr[i].entry.addr;
	// after an incomplete listing the interface is read again
	if (port_kernel_watch_read(l->watch, learn_choose, &choice, router) != 0)
		return;
	for (unsigned int i = 0; i < k->nb_addrs; i++)
		if (k->addr[i].entry.port == l->e->port)
			update_address(d, &k->addr[i], &choice, router);
}

void learn_tick(struct dp *d)
{
	for (unsigned int i = 0; d->learn != NULL && i < d->learn->nb_ports; i++)
		watch_interface(d, &d->learn->port[i]);
}

unsigned int dp_learned(const struct dp *d, struct dp_learned *out)
{
	struct learn *k = d->learn;
	unsigned int n = 0;

	if (k != NULL) {
		pthread_mutex_lock(&k->lock);
		for (; n < k->nb_addrs; n++)
			out[n] = k->addr[n].state;
		pthread_mutex_unlock(&k->lock);
	}
	return n + kernel_addrs_told(d, out + n, DP_LEARNED_MAX - n);
}

void learn_free(struct dp *d)
{
	struct learn *k = d->learn;

	if (k == NULL)
		return;
	for (unsigned int i = 0; i < k->nb_ports; i++)
		port_kernel_watch_close(k->port[i].watch);
	pthread_mutex_destroy(&k->lock);
	free(k);
	d->learn = NULL;
}
