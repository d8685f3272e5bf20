// SPDX-License-Identifier: BSD-3-Clause
// A port is where packets come in and go out: an ethdev (any DPDK driver), a virtual NIC on a Linux
// TAP (vtap.h), an interface that stays the kernel's (packet/packet.h), a replay port (replay.h)
// for benchmarks, a VLAN on one of these (tagged.h), or a software port in tests. All of them stand
// behind one table of functions (struct port_ops). lib/port knows no TURN.
#pragma once

#include <rte_mbuf.h>

#include "net.h"

#define PORT_QUEUES_MAX 64
#define PORT_RETA_MAX 2048
#define PORT_RSS_KEY_MAX 64
#define PORT_PCI_LEN 24 // bytes of a full PCI address as text
#define PORT_MEMBERS_MAX 8 // devices of a bond

struct kernel_host;
struct port;

// Whether a port may be handed super-frames (struct port_super).
enum port_uso {
	PORT_USO_AUTO, // only where it costs nothing: not on an ethdev
	PORT_USO_ON, // wherever the port can
	PORT_USO_OFF,
};

// Values that a driver profile decides. The driver is known once the device is open.
struct port_profile {
	uint16_t rx_ring, tx_ring; // descriptors of a queue
	bool interrupts; // those of its receive queues may wake workers
};

enum port_bond_mode { PORT_BOND_LACP, PORT_BOND_ACTIVE_BACKUP, PORT_BOND_BALANCE };

// What a bond is asked for: several devices as one port (lib/port/ethdev/bond.h).
struct port_bond {
	enum port_bond_mode mode;
	uint32_t nb_members; // from 1
	struct {
		const char *device, *devargs; // as in struct port_config
	} member[PORT_MEMBERS_MAX];
	int primary; // active-backup: the member to use while its link is up; -1 = none
};

// What a bond tells of a member.
struct port_member {
	const char *name; // the device string up to its arguments; lives as long as the port
	bool link; // the link is up
	bool used; // it carries packets: the active one, or one that LACP has accepted
};

// UDP that is ours on an interface that a port shares with the kernel: to an address, and to one of
// a run of ports (host byte order).
struct port_own {
	struct addr addr;
	uint16_t lo, hi;
	bool moves; // the network may give another address (port_ops.move); one of a family may
};

// What a port is asked for, and the mempool that its receive queues take mbufs from.
struct port_config {
	const char *name, *device;
	const struct port_bond *bond; // NULL = the port is the one device
	uint16_t queues; // wanted, one per worker; the port may grant fewer
	// The MTU is in bytes; vlan 0 = untagged.
	uint16_t mtu, vlan;
	enum port_uso uso, tso; // super-frames of UDP, and of TCP
	uint16_t rx_ring, tx_ring; // descriptors; the driver may adjust them; 0 = by_driver decides
	// PORT_RSS_KEY_MAX bytes of a key that the NIC spreads by; NULL: one is drawn. Copied.
	const uint8_t *rss_key;
	// What a port that shares an interface with the kernel takes from it; in any order. Copied.
	const struct port_own *owned;
	uint32_t nb_own;
	bool loopback; // packet:lo, by which programs of this machine are reached
	const char *devargs; // NULL, or "key=value,..." to add when the device is hot-plugged
	// Fills out with values for a driver, where this struct leaves them open. May be NULL when
	// it leaves none open.
	void (*by_driver)(void *ctx, const char *driver, struct port_profile *out);
	void *ctx;
	struct rte_mempool *pool;
	int socket;
};

// Counters of the port itself: frames that the workers never saw.
struct port_counters {
	uint64_t rx_missed, rx_errors, rx_nombuf, tx_errors;
	uint64_t tx_cut; // super-frames the port had to cut: it could not send them whole after all
};

// A rule for the NIC: UDP to one of our addresses goes to one receive queue, whatever RSS says.
struct port_rule {
	struct addr dst;
	// Matches when destination port & mask == port, in host byte order. mask 0: any port.
	uint16_t port, mask;
	uint16_t queue;
	uint16_t vlan; // id of the tag that it comes with; 0: whatever the tag
};

// What the kernel's end of an exception port has to be as a host.
struct port_route {
	struct prefix dst;
	struct addr via;
};

struct port_routes {
	const struct port_route *route;
	uint32_t nb;
};

struct port_host {
	const char *interface, *netns; // name, and name of its namespace (NULL = the process's)
	const struct prefix *addresses; // each with the length of the subnet it is in
	const struct port_route *routes; // of one family each; a gateway is a route to everything
	uint32_t nb_addresses, nb_routes;
	struct addr link_local;
	bool slaac; // the kernel is to make IPv6 addresses by router advertisements
	uint32_t metric; // of the routes
	uint16_t segments; // most segments in a TCP super-frame; 0 = whatever the kernel likes
	uint32_t bytes; // the longest TCP super-frame
};

struct port_ops {
	const char *kind; // "ethdev", "bond", "vlan", "vtap", "packet", "replay"
	// On the worker lcore that alone uses the queue. rx returns the frames received, which the
	// caller then owns. tx returns the frames taken, which the port then owns; the rest stays
	// the caller's.
	uint16_t (*rx)(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
	uint16_t (*tx)(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
	// On the management lcore.
	int (*start)(struct port *p); // 0 or -errno
	void (*stop)(struct port *p);
	void (*close)(struct port *p); // frees p
	// On the management lcore and telemetry threads, between start and stop.
	bool (*link)(struct port *p); // true when the link is up
	void (*counters)(struct port *p, struct port_counters *out);
	// On the management lcore, between start and stop; NULL when the port has no rules. 0 with
	// the rule's handle in *flow, or -errno with the driver's words in why (len bytes). The
	// caller destroys every rule before stop.
	int (*flow_create)(
		struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len);
	void (*flow_destroy)(struct port *p, void *flow);
	// Once a millisecond, whether there are packets or not, on the worker lcore that alone uses
	// the queues of that number; there may be none. NULL: the port has nothing to do.
	void (*tick)(struct port *p, uint16_t queue);
	// Whether the next tick has something to do, so that nobody sleeps over it. NULL: nobody
	// knows, and it is to be called 20 times a second at least. On that lcore.
	bool (*is_due)(struct port *p, uint16_t queue);
	// The descriptor that wakes the worker of a receive queue: it is readable (EPOLLIN) while a
	// frame waits there, and nobody but the port reads it. It stays the port's, and the same
	// one until stop. -1, or NULL for all queues: this port cannot wake, and is polled between
	// sleeps. On the management lcore, between start and stop, before workers run.
	int (*wake_fd)(struct port *p, uint16_t queue);
	// Where the descriptor is of an interrupt that has to be enabled. on: from now on a frame
	// makes it readable, and what has made it so before is forgotten; the caller then asks rx
	// once more before it waits, since a frame that came earlier may wake nobody. Off: frames
	// need not do that any more. 0, or -errno: this time it cannot wake. On the worker lcore
	// that alone uses the queue. NULL: a frame that waits makes the descriptor readable at any
	// time.
	int (*wake_arm)(struct port *p, uint16_t queue, bool on);
	// On the management lcore and telemetry threads, between start and stop. Tells of the
	// members of a bond, in the order of the configuration, and returns their number. NULL when
	// the port is no bond.
	unsigned int (*members)(struct port *p, struct port_member out[PORT_MEMBERS_MAX]);
	// Ten times a second on the management lcore, between start and stop: sees what has become
	// of what is under the port, does about it what can be done, and logs it. True: the
	// kernel's interface was made again, host has to be called. NULL: nothing there changes.
	bool (*watch)(struct port *p);
	// Whether something keeps the port from its work that its link does not tell, in the words
	// of a warning in buf (len bytes). On any thread, between start and stop. NULL: never.
	bool (*trouble)(struct port *p, char *buf, size_t len);
	// Takes another address, of its family, in the place of one of port_own.moves. It cannot
	// fail. Management lcore, between start and stop. NULL: no address moves.
	void (*move)(struct port *p, const struct addr *was, const struct addr *current);
	// Called instead of start, on the management lcore. It starts the port, and makes a host of
	// the kernel's interface behind it. All settings go with the interface when the port is
	// closed. NULL when no kernel is behind this kind of port. 0, or -1 with the reason in
	// error (len bytes). It is called again when watch says so; a failure is then logged, and
	// told by trouble.
	int (*host)(struct port *p, const struct port_host *h, char *error, size_t len);
	// Gives the kernel of a port that host has started the routes after in the place of before:
	// first what is new, then what is gone is deleted. 0, or -1 with the reason in error, and
	// then it has those of before. NULL as host. Management lcore.
	int (*reroute)(struct port *p, const struct port_routes *before,
		const struct port_routes *after, char *error, size_t len);
};

// Super-frames that a port takes on transmit: many datagrams or segments of one flow in one chain
// of mbufs (super/super.h). segments 0 = none.
struct port_super {
	uint16_t segments; // most in one super-frame
	uint16_t bufs; // most mbufs in a chain
	uint32_t bytes; // longest super-frame, headers included
	uint16_t size_min; // smallest payload of a TCP segment, where that is limited
};

// Written when the port is opened, and read by all afterwards.
struct port {
	const struct port_ops *ops;
	void *priv;
	const char *name; // the name in the configuration
	const char *driver; // of a bond that of its members, where they have the same
	uint8_t index; // position in the data path's list
	uint8_t mac[6];
	uint16_t nb_rxq, nb_txq; // queues granted
	uint16_t mtu, vlan;
	uint16_t rx_ring, tx_ring; // descriptors of a queue (a vtap: frames); 0 = it has none
	uint16_t dpdk_id; // ethdev port id; RTE_MAX_ETHPORTS when the port is no ethdev
	// The super-frames that the port takes whole. While it runs, a port may find out that it
	// cannot. It then cuts what it was given (nothing is lost) and sets segments to 0 for good.
	// Workers read segments before each burst.
	struct port_super uso, tso;
	bool rx_super; // the port may receive super-frames
	// The kernel is the host at the addresses of the port: it answers ARP, neighbour
	// solicitations and pings, and reports groups. The port's own frames have its MAC.
	bool kernel_is_host;
	// What is sent goes to programs of this machine, to addresses of its own. What comes in is
	// from them.
	bool loopback;
	bool shared; // there are VLANs on its device (tagged.h): it receives their frames, too
	struct port *on; // it is such a VLAN: the port that has the device; else NULL
	struct kernel_host *kernel_host; // of ops->host, once that was called; else NULL
	// The port can verify checksums on receive; the flags of each mbuf tell what it found.
	bool ip_checksum_good, l4_checksum_good;
	// Valid once the port is started: only then the NIC can be asked what it really does.
	bool rss; // the NIC spreads by Toeplitz: rss_key and reta are valid
	uint8_t rss_key[PORT_RSS_KEY_MAX];
	uint8_t rss_key_len;
	uint16_t reta_size;
	uint16_t reta[PORT_RETA_MAX]; // the queue of each entry
	bool rss_udp; // the hash covers UDP ports too, else addresses only
};

// Receives up to n frames from a queue, and returns how many; the caller owns them. Worker lcore.
static inline uint16_t port_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return p->ops->rx(p, queue, m, n);
}

// Sends up to n frames to a queue, and returns how many the port took; the rest stays the caller's.
// Worker lcore.
static inline uint16_t port_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return p->ops->tx(p, queue, m, n);
}

// Opens and configures the device that a config names: a PCI address or vdev string (hot-plugged
// into EAL), "vtap:...", "packet:..." or "replay:...". The port is not started yet; ops->close
// frees it. NULL with a reason in error (len bytes). Management lcore.
struct port *port_open(const struct port_config *c, char *error, size_t len);

// Writes to buf (len bytes) which work the port takes off the processor now, for logs: "uso
// 64x65535, tso 128x65535, checksums" or "none". Returns buf. Any thread.
const char *port_offloads(const struct port *p, char *buf, size_t len);

// The type by which lib/port logs, for rte_log. Any thread.
int port_log_type(void);

// True when a device string names a PCI device; bdf then gets its full address.
bool port_device_pci(const char *device, char bdf[PORT_PCI_LEN]);
// The NUMA node of the device in a device string; -1 when it has none or nobody knows.
int port_device_socket(const char *device);
