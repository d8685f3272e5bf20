// SPDX-License-Identifier: BSD-3-Clause
// A port receives and sends packets: an ethdev (any DPDK driver), a virtual NIC on a Linux TAP
// (vtap.h), an interface shared with the kernel (packet/packet.h), a replay port (replay.h) for
// benchmarks, a VLAN on one of these (tagged.h), or a software port in tests. All of them have one
// table of functions (struct port_ops). lib/port does not know TURN.
#pragma once

#include <rte_mbuf.h>

#include "net.h"
#include "port_counters.h"

#define PORT_QUEUES_MAX 64
#define PORT_RETA_MAX 2048
#define PORT_RSS_KEY_MAX 64
#define PORT_PCI_LEN 24 // bytes of a full PCI address as text
#define PORT_MEMBERS_MAX 8 // devices of a bond

struct kernel_host;
struct port;

// When a port may get super-frames to send (struct port_super).
enum port_uso {
	PORT_USO_AUTO, // only where it costs nothing: not on ethdevs
	PORT_USO_ON, // wherever the port supports them
	PORT_USO_OFF,
};

// Values from a driver profile. The driver is known once the device is open.
struct port_profile {
	uint16_t rx_ring, tx_ring; // descriptors of a queue
	bool interrupts; // interrupts of its receive queues may wake workers
};

enum port_bond_mode { PORT_BOND_LACP, PORT_BOND_ACTIVE_BACKUP, PORT_BOND_BALANCE };

// Configuration of a bond: several devices as one port (lib/port/ethdev/bond.h).
struct port_bond {
	enum port_bond_mode mode;
	uint32_t nb_members; // at least 1
	struct {
		const char *device, *devargs; // see struct port_config
	} member[PORT_MEMBERS_MAX];
	int primary; // active-backup: the member to use while its link is up; -1 = none
};

// State of a member of a bond.
struct port_member {
	const char *name; // the device string up to its arguments; lives as long as the port
	bool link; // the link is up
	// The member carries packets: it is the active member, or LACP has accepted its link.
	bool used;
};

// UDP that the port takes from an interface shared with the kernel: to an address, and to UDP ports
// lo to hi (host byte order).
struct port_own {
	struct addr addr;
	uint16_t lo, hi;
	bool moves; // the network may change the address (port_ops.move); at most one per family
};

// Configuration of a port, and the mempool of its receive queues.
struct port_config {
	const char *name, *device;
	const struct port_bond *bond; // NULL = the port is the one device
	uint16_t queues; // requested queues, one per worker; the port may grant fewer
	// The MTU is in bytes; vlan 0 = untagged.
	uint16_t mtu, vlan;
	enum port_uso uso, tso; // super-frames of UDP, and of TCP
	uint16_t rx_ring, tx_ring; // descriptors; the driver may adjust them; 0 = use by_driver
	// RSS key of PORT_RSS_KEY_MAX bytes; NULL: a random one. Copied.
	const uint8_t *rss_key;
	// UDP that a port takes from an interface shared with the kernel, in any order. Copied.
	const struct port_own *owned;
	uint32_t nb_own;
	bool loopback; // packet:lo, to reach programs of this host
	const char *devargs; // NULL, or "key=value,..." to add when the device is hot-plugged
	// Fills out with the values for a driver that this struct leaves open. May be NULL if it
	// leaves none open.
	void (*by_driver)(void *ctx, const char *driver, struct port_profile *out);
	void *ctx;
	struct rte_mempool *pool;
	int socket;
};

// Counters of the port itself: frames that the workers never saw.
struct port_counters {
	PORT_COUNTERS(COUNTER_FIELD)
};

// A rule for the NIC: directs UDP to one of our addresses to one receive queue, overriding RSS.
struct port_rule {
	struct addr dst;
	// Matches if destination port & mask == port, in host byte order. mask 0: any port.
	uint16_t port, mask;
	uint16_t queue;
	uint16_t vlan; // id of its VLAN tag; 0: any tag, or none
};

// A route of the kernel's end of an exception port.
struct port_route {
	struct prefix dst;
	struct addr via;
};

struct port_routes {
	const struct port_route *route;
	uint32_t nb;
};

struct port_host {
	const char *interface, *netns; // name and network namespace (NULL = the process's)
	const struct prefix *addresses; // each with the prefix length of its subnet
	const struct port_route *routes; // dst, via: of one family; length 0: default
	uint32_t nb_addresses, nb_routes;
	struct addr link_local;
	bool slaac; // the kernel makes IPv6 addresses from router advertisements
	uint32_t metric; // metric of the routes
	uint16_t segments; // most segments in a TCP super-frame; 0 = the kernel's default
	uint32_t bytes; // the longest TCP super-frame
};

struct port_ops {
	const char *kind; // "ethdev", "bond", "vlan", "vtap", "packet", "replay"
	// Called on the worker lcore that alone uses the queue. rx returns the number of frames
	// received, which the caller then owns. tx returns the number of frames accepted, which the
	// port then owns; the caller keeps the rest.
	uint16_t (*rx)(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
	uint16_t (*tx)(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
	// On the management lcore.
	int (*start)(struct port *p); // 0 or -errno
	void (*stop)(struct port *p);
	void (*close)(struct port *p); // frees p
	// On the management lcore and telemetry threads, between start and stop.
	bool (*link)(struct port *p); // true when the link is up
	void (*counters)(struct port *p, struct port_counters *out);
	// On the management lcore, between start and stop; NULL if the port does not support rules.
	// Returns 0 with the rule's handle in *flow, or -errno with the driver's message in reason
	// (len bytes). The caller destroys every rule before stop.
	int (*flow_create)(
		struct port *p, const struct port_rule *r, void **flow, char *reason, size_t len);
	void (*flow_destroy)(struct port *p, void *flow);
	// Called once a millisecond, with or without packets, on the worker lcore that alone uses
	// the queues with that number, even if the port has no such queue. NULL: no periodic work.
	void (*tick)(struct port *p, uint16_t queue);
	// True if the next tick has work to do, so the worker must not sleep past it. NULL:
	// unknown; call tick at least 20 times a second. On the same lcore.
	bool (*is_due)(struct port *p, uint16_t queue);
	// Returns the descriptor that wakes the worker of a receive queue: it is readable (EPOLLIN)
	// while a frame waits there, and only the port reads it. The port owns it, and it stays the
	// same until stop. -1, or NULL for all queues: this port cannot wake, and is polled between
	// sleeps. On the management lcore, between start and stop, before workers run.
	int (*wake_fd)(struct port *p, uint16_t queue);
	// Enables or disables the interrupt behind the descriptor. on: later frames make it
	// readable, and earlier events are cleared; the caller must then call rx once more before
	// it waits, because earlier frames may not wake it. Off: frames need not wake any more.
	// Returns 0, or -errno if it cannot wake this time. On the worker lcore that alone uses the
	// queue. NULL: a waiting frame makes the descriptor readable at any time.
	int (*wake_arm)(struct port *p, uint16_t queue, bool on);
	// On the management lcore and telemetry threads, between start and stop. Gets the members
	// of a bond, in the order of the configuration, and returns their number. NULL if the port
	// is not a bond.
	unsigned int (*members)(struct port *p, struct port_member out[PORT_MEMBERS_MAX]);
	// Called ten times a second on the management lcore, between start and stop: checks the
	// interface under the port, reacts to its changes, and logs them. True: the kernel's
	// interface was made again, and host must be called. NULL: no such changes.
	bool (*watch)(struct port *p);
	// True, with a warning in buf (len bytes), if the port cannot work although its link may be
	// up. Any thread, between start and stop. NULL: never.
	bool (*trouble)(struct port *p, char *buf, size_t len);
	// Replaces an address with port_own.moves by another one of its family. Cannot fail.
	// Management lcore, between start and stop. NULL: not supported.
	void (*move)(struct port *p, const struct addr *was, const struct addr *current);
	// Called instead of start, on the management lcore. Starts the port, and configures the
	// kernel's interface behind it as a host. All settings disappear with the interface when
	// the port is closed. NULL if this kind of port has no kernel interface. Returns 0, or -1
	// with the reason in error (len bytes). It is called again if watch requests it; a failure
	// is then logged, and reported by trouble.
	int (*host)(struct port *p, const struct port_host *h, char *error, size_t len);
	// Replaces the kernel's routes `before` by `after` on a port that host has started: first
	// adds new routes, then deletes old ones. Returns 0, or -1 with the reason in error and the
	// routes unchanged. NULL if host is NULL. Management lcore.
	int (*reroute)(struct port *p, const struct port_routes *before,
		const struct port_routes *after, char *error, size_t len);
};

// Super-frames that a port accepts on transmit: many datagrams or segments of one flow in one chain
// of mbufs (super/super.h). segments 0 = no super-frames.
struct port_super {
	uint16_t segments; // most in one super-frame
	uint16_t bufs; // most mbufs in a chain
	uint32_t bytes; // longest super-frame, headers included
	uint16_t size_min; // smallest payload of a TCP segment, where that is limited
};

// Written when the port is opened, and read by all threads afterwards.
struct port {
	const struct port_ops *ops;
	void *priv;
	const char *name; // the name in the configuration
	const char *driver; // for a bond, that of its members if all have the same
	uint8_t index; // position in the data path's list
	uint8_t mac[6];
	uint16_t nb_rxq, nb_txq; // queues granted
	uint16_t mtu, vlan;
	uint16_t rx_ring, tx_ring; // descriptors of a queue (vtap: frames); 0 = no ring
	uint16_t dpdk_id; // ethdev port id; RTE_MAX_ETHPORTS if the port is not an ethdev
	// The super-frames that the port sends whole. While it runs, a port may find out that it
	// cannot. Then it cuts the accepted super-frames (nothing is lost) and sets segments to 0
	// permanently. Workers read segments before each burst.
	struct port_super uso, tso;
	bool rx_super; // the port may receive super-frames
	// The kernel is the host at the addresses of the port: it answers ARP, neighbour
	// solicitations and pings, and reports groups. The port's own frames have its MAC.
	bool kernel_is_host;
	// Packets go to programs of this host, at its addresses, and come from them.
	bool loopback;
	bool shared; // its device has VLAN ports (tagged.h), whose frames it receives, too
	struct port *on; // for such a VLAN port: the port that has the device; else NULL
	struct kernel_host *kernel_host; // state of ops->host, once that was called; else NULL
	// The port can verify checksums on receive; the flags of each mbuf have the result.
	bool ip_checksum_good, l4_checksum_good;
	// Valid once the port is started, because then the NIC's real state can be read.
	bool rss; // the NIC uses Toeplitz RSS: rss_key and reta are valid
	uint8_t rss_key[PORT_RSS_KEY_MAX];
	uint8_t rss_key_len;
	uint16_t reta_size;
	uint16_t reta[PORT_RETA_MAX]; // the queue of each entry
	bool rss_udp; // the hash covers UDP ports, too; else only addresses
};

// Receives up to n frames from a queue and returns their number; the caller owns them. Worker
// lcore.
static inline uint16_t port_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return p->ops->rx(p, queue, m, n);
}

// Sends up to n frames to a queue and returns the number accepted; the caller keeps the rest.
// Worker lcore.
static inline uint16_t port_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return p->ops->tx(p, queue, m, n);
}

// Opens and configures the device of a configuration: a PCI address or vdev string (hot-plugged
// into EAL), "vtap:...", "packet:..." or "replay:...". The port is not started yet; ops->close
// frees it. Returns NULL with a reason in error (len bytes) on failure. Management lcore.
struct port *port_open(const struct port_config *c, char *error, size_t len);

// Writes the port's current offloads to buf (len bytes), for logs: "uso 64x65535, tso 128x65535,
// checksums" or "none". Returns buf. Any thread.
const char *port_offloads(const struct port *p, char *buf, size_t len);

// Returns the log type of lib/port, for rte_log. Any thread.
int port_log_type(void);

// True if a device string names a PCI device; bdf then gets its full address.
bool port_device_pci(const char *device, char bdf[PORT_PCI_LEN]);
// Returns the NUMA node of the device of a device string; -1 if it has no node or it is unknown.
int port_device_socket(const char *device);
