// SPDX-License-Identifier: BSD-3-Clause
// A port is where packets come in and go out: an ethdev (any DPDK driver), a virtual NIC on a Linux
// TAP (vtap.h), a replay port (replay.h) for benchmarks, a software one in tests; all behind this
// ops table. Knows no TURN.
#pragma once

#include <rte_mbuf.h>

#include "net.h"

#define PORT_QUEUES_MAX 64
#define PORT_RETA_MAX 2048
#define PORT_RSS_KEY_MAX 64
#define PORT_PCI_LEN 24 // a full PCI address as text

struct port;

// Whether super-frames (struct port_super) may be handed to a port.
enum port_uso {
	PORT_USO_AUTO, // where it costs nothing: not on an ethdev
	PORT_USO_ON, // where it can
	PORT_USO_OFF,
};

// What the driver of a port decides: known once the device is open.
struct port_profile {
	uint16_t rx_ring, tx_ring; // descriptors
};

// What a port is asked for, and the pool its receive side fills from.
struct port_config {
	const char *name, *device;
	uint16_t queues; // wanted: one per worker; the port may grant fewer
	uint16_t mtu, vlan;
	enum port_uso uso, tso; // of UDP, of TCP
	uint16_t rx_ring, tx_ring; // descriptors, adjusted to what the driver takes; 0 = by driver
	const char *devargs; // NULL, or "key=value,..." to go with a device that is hot-plugged
	// Decides by driver what is left to it here. May be NULL when nothing is.
	void (*by_driver)(void *ctx, const char *driver, struct port_profile *out);
	void *ctx;
	struct rte_mempool *pool;
	int socket;
};

// Counters of the port itself (datagrams the workers never saw).
struct port_counters {
	uint64_t rx_missed, rx_errors, rx_nombuf, tx_errors;
	uint64_t tx_cut; // super-frames the port had to cut: it could not send them whole after all
};

// A rule for the NIC: UDP to an address of ours goes to one receive queue, whatever RSS says.
struct port_rule {
	struct addr dst;
	uint16_t port, mask; // destination port & mask == port, host byte order; mask 0: any port
	uint16_t queue;
};

// What the kernel's end of an exception port is to be.
struct port_host {
	const char *interface, *netns; // its name; of the namespace, NULL = that of the process
	const struct prefix *addresses; // with the length of the subnet each is in
	const struct addr *gateways;
	uint32_t nb_addresses, nb_gateways;
	struct addr link_local;
	uint32_t metric; // of the default routes
	uint16_t segments; // most in a super-frame of TCP, 0 = whatever the kernel likes
	uint32_t bytes; // longest of these
};

struct port_ops {
	const char *kind; // "ethdev", "vtap", "replay"
	// Worker lcore; queue belongs to the caller alone.
	uint16_t (*rx)(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
	uint16_t (*tx)(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);
	// Management lcore.
	int (*start)(struct port *p); // 0 or -errno
	void (*stop)(struct port *p);
	void (*close)(struct port *p); // frees p
	// Management lcore and telemetry threads, between start and stop.
	bool (*link)(struct port *p); // up?
	void (*counters)(struct port *p, struct port_counters *out);
	// Management lcore, between start and stop; NULL when the port has no rules. 0 and the
	// rule's handle in *flow, or -errno and the driver's words in why. Every rule that was made
	// is to be destroyed before stop.
	int (*flow_create)(
		struct port *p, const struct port_rule *r, void **flow, char *why, size_t len);
	void (*flow_destroy)(struct port *p, void *flow);
	// In the place of start, on the management lcore: starts the port and makes of the
	// interface of the kernel behind it a host. All of it goes with the interface when the port
	// is closed. NULL: there is no kernel behind such a port. 0, or -1 with the reason in
	// error.
	int (*host)(struct port *p, const struct port_host *h, char *error, size_t len);
};

// Super-frames a port takes on transmit: many datagrams or segments of one flow in one chain of
// mbufs (segment.h). segments 0 = none.
struct port_super {
	uint16_t segments; // most in one
	uint16_t bufs; // most mbufs in a chain
	uint32_t bytes; // longest, headers included
	uint16_t size_min; // of TCP, the smallest payload of a segment, where that is a limit
};

// Set when the port is opened, read by all afterwards.
struct port {
	const struct port_ops *ops;
	void *priv;
	const char *name; // of the configuration
	const char *driver;
	uint8_t index; // position in the data path's list
	uint8_t mac[6];
	uint16_t nb_rxq, nb_txq; // granted
	uint16_t mtu, vlan;
	uint16_t rx_ring, tx_ring; // descriptors a queue, of a vtap frames; 0 = it has none
	uint16_t dpdk_id; // RTE_MAX_ETHPORTS when it is no ethdev
	// What it takes whole. A port may find out while it runs that it cannot: it then cuts what
	// it was given (nothing is lost) and sets segments to 0 for good. Workers read it before
	// each burst.
	struct port_super uso, tso;
	bool rx_super; // what it receives may be super-frames
	// The port can verify on receive (the flags of each mbuf say what it found).
	bool ip_checksum_good, l4_checksum_good;
	// Known once the port is started, when the NIC has been asked what it really does.
	bool rss; // the NIC spreads by Toeplitz: key and reta are valid
	uint8_t rss_key[PORT_RSS_KEY_MAX];
	uint8_t rss_key_len;
	uint16_t reta_size;
	uint16_t reta[PORT_RETA_MAX]; // queue of each entry
	bool rss_udp; // UDP ports are hashed too (else addresses only)
};

static inline uint16_t port_rx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return p->ops->rx(p, queue, m, n);
}

static inline uint16_t port_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	return p->ops->tx(p, queue, m, n);
}

// Opens and configures the device a config names (a PCI address or vdev string, hot-plugged into
// EAL; "vtap:..."; "replay:..."). NULL with a reason in error. Not yet started. Management lcore.
struct port *port_open(const struct port_config *c, char *error, size_t len);

// What a port now takes off the processor, for logs: "uso 64x65535, tso 128x65535, checksums" or
// "none". Any thread. Returns buf.
const char *port_offloads(const struct port *p, char *buf, size_t len);

// True when a device string names a PCI device; bdf gets its full address.
bool port_device_pci(const char *device, char bdf[PORT_PCI_LEN]);
// NUMA node of the device that a device string names; -1 when it has none or nobody knows.
int port_device_socket(const char *device);
