// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files of lib/port only.
#pragma once

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "port.h"

// A port being opened: what it is asked for, and where to write the reason of a failure.
struct port_request {
	const struct port_config *c;
	char *error;
	size_t error_len;
};

// Writes the reason of a failure: "port NAME: device DEVICE: ...".
__attribute__((format(printf, 2, 3))) void port_fail(
	const struct port_request *r, const char *fmt, ...);

// Sets the lengths of the port's rings as asked for; else as the driver's profile decides.
void port_rings_plan(const struct port_request *r, struct port *p);

extern int port_logtype;
#define PORT_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, (uint32_t)port_logtype, fmt "\n", ##__VA_ARGS__)

// --- device.c: from the string in the configuration to a DPDK device -----------------------------

struct port_device {
	struct rte_device *dev;
	uint16_t id; // ethdev port id
	bool plugged; // we hot-plugged it, so close removes it
};

// Makes the string to hand to DPDK. Where the driver would open queues that nobody polls, the
// string asks for as many queues as there are workers. It adds those of devargs ("key=value,...",
// or NULL) whose keys it lacks. Malloced; NULL without memory.
char *port_device_args(const char *device, uint16_t queues, const char *devargs);
// Finds or hot-plugs the device. 0, or -1 with the reason written.
int port_device_attach(const struct port_request *r, struct port_device *out);
// Removes the device if we hot-plugged it. The ethdev is closed already.
void port_device_detach(const struct port_device *d);

// --- ethdev.c ------------------------------------------------------------------------------------

struct ethdev {
	struct port port;
	struct port_device device;
	struct rte_eth_dev_info info;
	uint64_t rss_hf; // hash types to ask for; 0 = the port does not spread
	int control; // socket to ask the kernel about the interface behind it; -1 = none
	uint64_t received_before; // frames received before this port (af_packet); any thread
	uint64_t cut_lost; // datagrams of cut super-frames that found no room; written by workers
	bool started;
	bool cuts; // configured to take super-frames
};

struct port *port_ethdev_open(const struct port_request *r);

// --- iface.c: for ports with a control socket ----------------------------------------------------

bool port_iface_running(const struct ethdev *e);
// The number of frames the interface has received since it exists; false when the kernel does not
// tell.
bool port_iface_received(const struct ethdev *e, uint64_t *frames);

// --- flow.c: rules, as port_ops describes them ---------------------------------------------------

int port_flow_create(struct port *p, const struct port_rule *r, void **flow, char *why, size_t len);
void port_flow_destroy(struct port *p, void *flow);

// --- replay.c ------------------------------------------------------------------------------------

struct port *port_replay_open(const struct port_request *r);

// --- uso.c: super-frames on an ethdev ------------------------------------------------------------

// The transmit offloads to ask for; 0 when the port must not take super-frames. Else sets port.uso,
// port.tso or both.
uint64_t port_uso_plan(struct ethdev *e, const struct port_request *r);
// Turns a super-frame to be sent (super.h) into the form that a driver expects.
void port_uso_prepare(struct rte_mbuf *m);
// port_ops.tx for a port that takes super-frames.
uint16_t port_uso_tx(struct port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);

// --- vtap.c --------------------------------------------------------------------------------------

struct port *port_vtap_open(const struct port_request *r);

// --- host.c --------------------------------------------------------------------------------------

// port_ops.host for a port with an interface of the kernel behind it.
int port_kernel_host_start(struct port *p, const struct port_host *h, char *error, size_t len);

// --- netns.c -------------------------------------------------------------------------------------

// Runs a function in a network namespace, on a thread of its own that ends with it, so the caller
// never leaves its namespace. netns is a name; NULL or "" = the caller's namespace. What run opens
// in the namespace stays there. Returns 0, or -errno when the namespace does not exist or cannot be
// entered; *found tells which of the two. found may be NULL.
int port_netns_run(const char *netns, void (*run)(void *ctx), void *ctx, bool *found);

// --- rss.c ---------------------------------------------------------------------------------------

// Chooses key and hash types from what the driver offers. e->rss_hf stays 0 when the NIC cannot
// spread.
void port_rss_plan(struct ethdev *e);
// After the start: fills the redirection table round-robin, then reads key and table back. Sets
// port.rss and port.rss_udp only when they are what the NIC really does.
void port_rss_apply(struct ethdev *e);
