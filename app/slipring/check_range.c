// SPDX-License-Identifier: BSD-3-Clause
// Checks the range from which the kernel chooses ports and its reserved ports, and advises a change
// that keeps the kernel off our ports and leaves it enough.
#include "check_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "link/kernel_ports.h"

#define AT(c, f, k) ((struct conf_at){c, &(c)->f, 0, k})
#define LEAST_LEFT 4096u // ports that a machine needs for its own sockets
#define LEAST_USUAL 10000u // many services listen below
#define LIST_LEN 160 // limit of the kernel's list as text, so that a command with it stays readable

// The kernel's range, and the ports to reserve in it.
struct chosen {
	struct kernel_ports kernel;
	char list[256]; // further ports to reserve, as text
	bool tcp; // the kernel may choose a relay port for TCP
};

// A problem to report: its place, and the loss.
struct loss {
	enum conf_weight weight;
	struct conf_at place;
	const char *lost;
};

static bool is_relay_port(const struct turn_config *t, unsigned int port)
{
	return t->nb_relay > 0 && port >= t->port_lo && port <= t->port_hi;
}

// True for a relay port or listener port, over any transport.
static bool is_ours(const struct turn_config *t, unsigned int port)
{
	if (is_relay_port(t, port))
		return true;
#define X(enabled, lo, hi, key)                           \
	if (t->enabled && port >= t->lo && port <= t->hi) \
		return true;
	TURN_CONFIG_TCP_PORTS(X)
#undef X
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (t->listeners[i].endpoint.port == port)
			return true;
	return false;
}

// Adds [lo, hi] to the ports to reserve. True if the kernel may choose one of them now.
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
		k->list[len] = '\0'; // the next check reports the rest
	return true;
}

// Finds a range for the kernel: the longest range without our ports, starting at LEAST_USUAL if the
// rest is long enough. It is empty (first above last) if there is no such range.
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
		gap[0] += (gap[1] - gap[0]) % 2 == 0; // one must be even, one odd
}

// Advises a change that keeps the kernel off our ports and leaves it enough for its own sockets.
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
			"reserving ours would leave it %u: make relay.ports smaller, so "
			"that it has %u in a row",
			left, LEAST_LEFT);
	else if (left < LEAST_LEFT)
		snprintf(buf, len,
			"leave it %u by `sysctl -w net.ipv4.ip_local_port_range=\"%u "
			"%u\"`, and the same in /etc/sysctl.d (reserving ours would leave it %u)",
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

// True if datagrams to a UDP or DTLS listener may be lost because the kernel chooses its port.
// False if a relay port or an earlier listener reports the same port.
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

// Warns if few ports are left for the kernel, because someone has followed an earlier advice to
// reserve ours.
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

// The kernel chooses client ports (DNS, NTP) from a range. If it chooses one of our UDP ports, the
// replies are lost. With thousands of relay ports this is certain to happen; a listener is a single
// port. TCP relay ports are shared: a port that the kernel has chosen cannot be opened.
void check_range(const struct conf *c, const char *sysctl, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;
	struct chosen k = {.list = ""};
	bool relay;

	if (!kernel_ports_read(sysctl, &k.kernel))
		return;
	relay = t->nb_relay > 0 && leave_out(&k, t->port_lo, t->port_hi);
#define X(enabled, lo, hi, key) k.tcp = t->enabled && leave_out(&k, t->lo, t->hi);
	TURN_CONFIG_TCP_PORTS(X)
#undef X
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (is_exposed(c, &k, i))
			leave_out(&k, t->listeners[i].endpoint.port, t->listeners[i].endpoint.port);
	if (relay)
		tell_loss(c, &k,
			(struct loss){CONF_ERROR, AT(c, turn.port_lo, "relay.ports"),
				"would lose datagrams to relay ports"},
			r);
	else
		check_left(c, &k, r);
#define X(enabled, lo, hi, key)                                                     \
	if (k.tcp)                                                                  \
		tell_loss(c, &k,                                                    \
			(struct loss){CONF_WARNING, AT(c, turn.lo, key),            \
				"no client can get a port that it has given away"}, \
			r);
	TURN_CONFIG_TCP_PORTS(X)
#undef X
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (is_exposed(c, &k, i))
			tell_loss(c, &k,
				(struct loss){CONF_WARNING,
					AT(c, turn.listeners[i].endpoint.port, "listeners"),
					"would lose datagrams to this port, if it gives that away"},
				r);
	kernel_ports_free(&k.kernel);
}
