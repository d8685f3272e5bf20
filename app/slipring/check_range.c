// SPDX-License-Identifier: BSD-3-Clause
// The range that the kernel chooses ports from, what it leaves out of that, and what to change so
// that it keeps off ours and has enough of its own.
#include "check_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "link/kernel_ports.h"

#define AT(c, f, k) ((struct conf_at){c, &(c)->f, 0, k})
#define LEAST_LEFT 4096u // ports that a machine needs for sockets of its own
#define LEAST_USUAL 10000u // many services listen below
#define LIST_LEN 160 // of the kernel's list as text that a command can hold and still be read

// What the kernel chooses from, and what would keep it off our ports.
struct chosen {
	struct kernel_ports kernel;
	char list[256]; // what it is to leave out besides
};

// A line to be told: where, and what is lost.
struct loss {
	enum conf_weight weight;
	struct conf_at place;
	const char *lost;
};

static bool is_relay_port(const struct turn_config *t, unsigned int port)
{
	return t->nb_relay > 0 && port >= t->port_lo && port <= t->port_hi;
}

// Whether a port is one to relay from, or to listen on, of any transport.
static bool is_ours(const struct turn_config *t, unsigned int port)
{
	if (is_relay_port(t, port) ||
		(t->tcp.enabled && port >= t->tcp.ports_lo && port <= t->tcp.ports_hi))
		return true;
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (t->listeners[i].endpoint.port == port)
			return true;
	return false;
}

// Adds [lo, hi] to what it is to leave out. True: it may choose one of them now.
static bool leave_out(struct chosen *k, unsigned int lo, unsigned int hi)
{
	const size_t len = strlen(k->list), room = sizeof(k->list) - len;
	const char *comma = len > 0 ? "," : "";
	int n;

	if (!kernel_ports_may(&k->kernel, lo, hi))
		return false;
	if (lo == hi)
		n = snprintf(k->list + len, room, "%s%u", comma, lo);
	else
		n = snprintf(k->list + len, room, "%s%u-%u", comma, lo, hi);
	if (n < 0 || (size_t)n >= room)
		k->list[len] = '\0'; // the next look tells of it
	return true;
}

// A range for the kernel: the most ports in a row that are none of ours, from LEAST_USUAL on where
// those are enough. The first is above the last where there are none.
static void widest_gap(const struct turn_config *t, unsigned int gap[2])
{
	unsigned int first = 1024;

	gap[0] = 1;
	gap[1] = 0;
	for (unsigned int port = first; port <= UINT16_MAX + 1; port++) {
		if (port <= UINT16_MAX && !is_ours(t, port))
			continue;
		if (port - first > gap[1] + 1 - gap[0]) {
			gap[0] = first;
			gap[1] = port - 1;
		}
		first = port + 1;
	}
	if (gap[0] < LEAST_USUAL && gap[1] >= LEAST_USUAL + LEAST_LEFT)
		gap[0] = LEAST_USUAL;
	if (gap[0] <= gap[1])
		gap[0] += (gap[1] - gap[0]) % 2 == 0; // the kernel wants one even, one odd
}

// What keeps the kernel off our ports and leaves it enough for its own sockets.
static void write_advice(const struct turn_config *t, const struct chosen *k, char *buf, size_t len)
{
	const unsigned int range[2] = {k->kernel.lo, k->kernel.hi};
	const unsigned int left = kernel_ports_left(k->kernel.reserved, k->list, range);
	const bool has_list = k->kernel.reserved[0] != '\0';
	unsigned int gap[2], in_gap;

	widest_gap(t, gap);
	in_gap = kernel_ports_left(k->kernel.reserved, "", gap);
	if (left < LEAST_LEFT && in_gap < LEAST_LEFT)
		snprintf(buf, len,
			"to reserve ours would leave it %u: make relay.ports smaller, so "
			"that it has %u in a row",
			left, LEAST_LEFT);
	else if (left < LEAST_LEFT)
		snprintf(buf, len,
			"leave it %u by `sysctl -w net.ipv4.ip_local_port_range=\"%u "
			"%u\"`, and the same in /etc/sysctl.d (to reserve ours would leave it %u)",
			in_gap, gap[0], gap[1], left);
	else if (strlen(k->kernel.reserved) > LIST_LEN)
		snprintf(buf, len, "leave it %u by adding %s to net.ipv4.ip_local_reserved_ports",
			left, k->list);
	else
		snprintf(buf, len,
			"leave it %u by `sysctl -w net.ipv4.ip_local_reserved_ports=%s%s%s`"
			", and the same in /etc/sysctl.d",
			left, k->kernel.reserved, has_list ? "," : "", k->list);
}

static void tell_loss(
	const struct conf *c, const struct chosen *k, struct loss loss, struct conf_report *r)
{
	char advice[2 * CONF_ERROR_LEN];

	write_advice(&c->turn, k, advice, sizeof(advice));
	conf_tell(r, loss.weight, loss.place,
		"the kernel gives ports %u to %u to its own sockets, DNS clients for instance, and "
		"%s: %s",
		k->kernel.lo, k->kernel.hi, loss.lost, advice);
}

static bool is_on_packet(const struct conf *c, const struct addr *a)
{
	const struct conf_port *p = conf_port_find(c, a);

	return p != NULL && kernel_ports_shared(p);
}

// Whether what comes to a listener over UDP or DTLS may be lost to the kernel's choice, where the
// relay ports and listeners before it are not told of for the same port.
static bool is_exposed(const struct conf *c, const struct chosen *k, uint32_t i)
{
	const struct turn_listener *l = c->turn.listeners;
	const unsigned int port = l[i].endpoint.port;

	if (turn_listener_is_stream(&l[i]) || is_relay_port(&c->turn, port) ||
		!kernel_ports_may(&k->kernel, port, port) || !is_on_packet(c, &l[i].endpoint.addr))
		return false;
	for (uint32_t j = 0; j < i; j++)
		if (l[j].endpoint.port == port && is_exposed(c, k, j))
			return false;
	return true;
}

// Who has reserved what an earlier advice said may have left nearly none.
static void check_left(const struct conf *c, const struct chosen *k, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;
	const unsigned int range[2] = {k->kernel.lo, k->kernel.hi};
	const unsigned int left = kernel_ports_left(k->kernel.reserved, "", range);
	char advice[CONF_ERROR_LEN];

	if (t->nb_relay == 0 || t->port_hi < range[0] || t->port_lo > range[1] ||
		left >= LEAST_LEFT)
		return;
	write_advice(t, k, advice, sizeof(advice));
	conf_tell(r, CONF_WARNING, AT(c, turn.port_lo, "relay.ports"),
		"the kernel has %u ports left for its own sockets, DNS clients for instance: %s",
		left, advice);
}

// Its own sockets as a client (DNS, NTP) get ports out of a range. What comes back to one of ours
// would be lost to them. Relay ports are so many that it is sure to happen; a listener is one port.
// Over TCP the relay ports are the kernel's as ours: one that it has given away cannot be opened.
void check_range(const struct conf *c, const char *sysctl, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;
	struct chosen k = {.list = ""};
	bool relay, tcp;

	if (!kernel_ports_read(sysctl, &k.kernel))
		return;
	relay = t->nb_relay > 0 && leave_out(&k, t->port_lo, t->port_hi);
	tcp = t->tcp.enabled && leave_out(&k, t->tcp.ports_lo, t->tcp.ports_hi);
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (is_exposed(c, &k, i))
			leave_out(&k, t->listeners[i].endpoint.port, t->listeners[i].endpoint.port);
	if (relay)
		tell_loss(c, &k,
			(struct loss){CONF_ERROR, AT(c, turn.port_lo, "relay.ports"),
				"would lose what comes to relay ports"},
			r);
	else
		check_left(c, &k, r);
	if (tcp)
		tell_loss(c, &k,
			(struct loss){CONF_WARNING, AT(c, turn.tcp.ports_lo, "relay.tcp.ports"),
				"no client can be given one that it has given away"},
			r);
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (is_exposed(c, &k, i))
			tell_loss(c, &k,
				(struct loss){CONF_WARNING,
					AT(c, turn.listeners[i].endpoint.port, "listeners"),
					"would lose what comes to this one, if it gives that away"},
				r);
	kernel_ports_free(&k.kernel);
}
