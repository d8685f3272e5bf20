// SPDX-License-Identifier: BSD-3-Clause
// Reacts to changes of the interface under a packet port: a new MAC or MTU, other programs at its
// ingress, and its replacement by a new interface with the same name.
//
// Everything that needs a capability was made at the start. Binding a socket again and attaching a
// program need no capability. But sockets of a group cannot be bound again: spare sockets, made at
// the start, replace them. There are a few sets of spares. The last set makes no group.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "packet/packet_port.h"
#include "port_log.h"

#define CHAIN_TICKS 10 // between two checks of the programs at the ingress

static struct packet *to_packet(struct port *p)
{
	return p->priv;
}

static void set_phase(struct packet *k, enum packet_phase phase)
{
	__atomic_store_n(&k->phase, phase, __ATOMIC_RELAXED);
}

// --- MAC and MTU ---------------------------------------------------------------------------------

static void take_mac(struct packet *k)
{
	const uint8_t *m = k->iface.mac;

	if (memcmp(k->port.mac, m, sizeof(k->port.mac)) == 0)
		return;
	for (unsigned int i = 0; i < sizeof(k->port.mac); i++)
		__atomic_store_n(&k->port.mac[i], m[i], __ATOMIC_RELAXED);
	PORT_LOG(WARNING, "port %s: interface %s has a new MAC, %02x:%02x:%02x:%02x:%02x:%02x",
		k->port.name, k->spec.name, m[0], m[1], m[2], m[3], m[4], m[5]);
}

static void take_mtu(struct packet *k)
{
	const uint16_t mtu = RTE_MIN(k->mtu_most, k->iface.mtu);

	if (mtu == k->port.mtu)
		return;
	__atomic_store_n(&k->port.mtu, mtu, __ATOMIC_RELAXED);
	PORT_LOG(WARNING, "port %s: interface %s has a new MTU, %u: mtu is %u from now on",
		k->port.name, k->spec.name, k->iface.mtu, mtu);
}

// --- another interface ---------------------------------------------------------------------------

// True if the kernel has detached the sockets from their interface, because that was removed or
// moved to another namespace.
static bool is_gone(const struct packet *k)
{
	struct sockaddr_ll addr;
	socklen_t len = sizeof(addr);

	return getsockname(k->rx[0].fd, (struct sockaddr *)(void *)&addr, &len) == 0 &&
		addr.sll_ifindex != k->iface.index;
}

// Begins to replace the sockets, which cannot be bound again, by spares.
static int take_spares(struct packet *k)
{
	const unsigned int set = k->nb_spares - 1;

	for (unsigned int i = 0; i < k->port.nb_rxq; i++) {
		const int rc = packet_rx_replace(&k->rx[i], k->spare[set][i]);

		if (rc != 0)
			return rc;
	}
	return 0;
}

// Completes the replacement, once all queues have adopted the new rings. False if they have not
// yet.
static bool spares_are_taken(struct packet *k)
{
	const unsigned int set = k->nb_spares - 1;

	for (unsigned int i = 0; i < k->port.nb_rxq; i++)
		if (!packet_rx_is_taken(&k->rx[i]))
			return false;
	for (unsigned int i = 0; i < k->port.nb_rxq; i++) {
		packet_rx_replaced(&k->rx[i], k->spare[set][i]);
		close(k->spare[set][i]);
		k->spare[set][i] = -1;
	}
	k->nb_spares = set;
	k->alone = set == 0;
	return true;
}

// Binds to an interface that exists again. A failure is retried at the next tick.
static void bind_anew(struct packet *k)
{
	int rc = packet_listen(k);

	if (rc != 0) {
		PORT_LOG(ERR, "port %s: interface %s exists again, but cannot be used: %s",
			k->port.name, k->spec.name, strerror(-rc));
		set_phase(k, PACKET_GONE);
		return;
	}
	set_phase(k, PACKET_BOUND);
	rc = packet_chain_attach(&k->chain, k->iface.index); // else later checks do
	if (rc != 0)
		PORT_LOG(ERR, "port %s: interface %s: no program at its ingress: %s", k->port.name,
			k->spec.name, strerror(-rc));
	PORT_LOG(WARNING, "port %s: interface %s exists again: bound to it%s", k->port.name,
		k->spec.name,
		k->alone && k->port.nb_rxq > 1
			? ", with one queue, because no spare sockets are left: "
			  "datagrams are handed over between workers until a restart"
			: "");
}

// Binds a port without an interface to the new one, if any.
static void bind_interface(struct packet *k)
{
	int rc = 0;

	if (k->port.nb_rxq == 1 || k->alone) {
		bind_anew(k);
		return;
	}
	rc = take_spares(k);
	if (rc == 0)
		set_phase(k, PACKET_TAKING);
	else
		PORT_LOG(ERR, "port %s: spare packet sockets: %s", k->port.name, strerror(-rc));
}

static void follow_interface(struct packet *k)
{
	if (k->phase == PACKET_BOUND && is_gone(k)) {
		set_phase(k, PACKET_GONE);
		packet_chain_detach(&k->chain);
		PORT_LOG(WARNING, "port %s: interface %s was removed: waiting for a new one",
			k->port.name, k->spec.name);
	}
	if (k->phase == PACKET_GONE && packet_iface_find(&k->iface, k->spec.name))
		bind_interface(k);
	if (k->phase == PACKET_TAKING && spares_are_taken(k))
		bind_anew(k);
}

// --- programs of others --------------------------------------------------------------------------

static void look_at_chain(struct packet *k)
{
	switch (packet_chain_look(&k->chain)) {
	case PACKET_CHAIN_SAME:
		break;
	case PACKET_CHAIN_FIRST:
		PORT_LOG(WARNING,
			"port %s: interface %s: programs at its ingress were attached or "
			"detached: ours is the first again",
			k->port.name, k->spec.name);
		break;
	case PACKET_CHAIN_BEHIND:
		PORT_LOG(WARNING,
			"port %s: interface %s: other programs are at its ingress, and ours cannot "
			"stay the first: they may pass our frames to the kernel, "
			"which tells clients that their port is unreachable (see `bpftool net`)",
			k->port.name, k->spec.name);
	}
}

// --- port_ops ------------------------------------------------------------------------------------

bool packet_watch(struct port *p)
{
	struct packet *k = to_packet(p);

	follow_interface(k);
	if (k->phase != PACKET_BOUND)
		return false;
	if (packet_iface_look(&k->iface)) {
		take_mac(k);
		take_mtu(k);
	}
	if (++k->ticks % CHAIN_TICKS == 0)
		look_at_chain(k);
	return false;
}

bool packet_trouble(struct port *p, char *buf, size_t len)
{
	const struct packet *k = to_packet(p);
	const uint16_t mtu = __atomic_load_n(&k->port.mtu, __ATOMIC_RELAXED);
	const char *name = k->spec.name;

	if (__atomic_load_n(&k->phase, __ATOMIC_RELAXED) != PACKET_BOUND)
		snprintf(buf, len,
			"interface %s was removed: the port continues with a new one of that name",
			name);
	else if (__atomic_load_n(&k->chain.behind, __ATOMIC_RELAXED))
		snprintf(buf, len,
			"other programs are before ours at the ingress of %s: the kernel may get "
			"our frames; see bpftool net",
			name);
	else if (mtu < k->mtu_start)
		snprintf(buf, len,
			"the MTU of interface %s is lower than it was at the start, %u: longer "
			"packets are dropped as mtu-exceeded; see ip link",
			name, mtu);
	else
		return false;
	return true;
}
