// SPDX-License-Identifier: BSD-3-Clause
// The exception port: the way to and from the kernel behind a port, for what the data path does not
// own. A thread of its own, no worker, reads and writes the kernel's interface; between it and the
// workers there are rings, so that a worker never makes a system call, never waits for the kernel,
// and never shares a lock or the packet pool with a thread that may lose its CPU.
//
//	worker -- give --> lane.to -----> thread -> interface        and back on lane.done
//	worker <- take --- from <-------- thread <- interface        buffers of a pool of its own
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "bucket.h"
#include "exception/exception_note.h"
#include "exception/exception_rules.h"
#include "net.h"

#define EXCEPTION_TAKE 8 // frames from the kernel that a worker sends in a round
// All headers up to TCP's: so much of a super-frame has to lie in its first buffer.
#define EXCEPTION_HEADERS (NET_ETH_LEN + NET_VLAN_LEN + NET_IP6_LEN + 60)

// Segments of the longest super-frame that is cut here: 64 KB of the smallest in use.
#define EXCEPTION_PIECES 256

struct addr;
struct conf;
struct conf_exception;
struct dp;
struct net_frame;
struct port;
struct port_config;
struct port_super_info;
struct rte_mbuf;
struct rte_mempool;
struct rte_ring;
struct worker;

// --- one exception port --------------------------------------------------------------------------

// A worker's side. That worker writes it, except the rings; any thread reads the counters.
struct exception_lane {
	struct rte_ring *to_kernel,
		*done; // frames for the kernel, and back to be freed; set at start
	// Buffers that have not come back; [1] of ARP and ND.
	uint32_t given[2] __rte_cache_aligned;
	uint64_t to_class[EXC_CLASSES], from_class[EXC_CLASSES];
	uint64_t to_denied, to_full, from_foreign, answered;
	uint64_t to_supers, to_super_frames, from_supers, from_super_frames;
} __rte_cache_aligned;

struct exception {
	// Set at start, read only.
	struct dp *dp;
	const struct conf_exception *conf;
	struct port *kernel; // its other end is the interface
	struct rte_mempool *pool; // for what comes from the kernel
	struct rte_ring *from_kernel;
	unsigned int nb_lanes;
	uint8_t port; // the data path's
	uint8_t server; // the worker that sends what comes from the kernel: one, so order is kept
	struct limit limit; // of packets, each way
	struct exception_rules rules;
	uint32_t taken __rte_cache_aligned; // buffers out of the ring; server writes, thread reads
	// The thread's; to_lost and cut are read by any thread.
	struct bucket to_meter __rte_cache_aligned, from_meter; // packets each way
	uint32_t queued; // buffers put into the ring
	unsigned int next_lane; // served first the next time
	uint64_t ticked_ms;
	uint64_t to_lost, cut; // cut: super-frames that the port does not take as they are
	struct rte_mbuf *pieces[EXCEPTION_PIECES]; // one of these, cut, waiting for room
	unsigned int next_piece, nb_pieces;
	struct exception_lane lane[]; // by worker
};

// --- exception.c: open, close, and the worker's side ---------------------------------------------

typedef struct port *exception_opener(const struct port_config *c, char *error, size_t len);

// Opens the exception port of a started port whose entry asks for one; else it does nothing. 0, or
// -1 with the reason in error.
int exception_open(struct dp *d, uint32_t port, exception_opener *open, char *error, size_t len);
// Makes rings and rules, once it is known how many workers and which addresses there are. 0 or
// -ENOMEM.
int exception_create_rings(struct dp *d);
// Takes back every packet and removes the interfaces. Thread and workers no longer run.
void exception_close_all(struct dp *d);
// Frees what is left, once the ports have been closed and hold no buffers of the pools any more.
void exception_free_all(struct dp *d);
// Bytes of packet buffers that one exception port takes.
size_t exception_pool_bytes(const struct conf *c, uint32_t port, uint32_t tx_ring);

// For workers. Each takes the packet, exception_udp and exception_icmp only when they return true.
void exception_tcp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
bool exception_udp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
bool exception_icmp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// The same for DHCP and router advertisements, where the port learns addresses. The frame need not
// be one that net_frame_parse takes.
bool exception_learning(struct worker *w, uint8_t port, struct rte_mbuf *m);
// Gives the kernel a copy of an ARP or ND packet.
void exception_neighbour(
	struct worker *w, uint8_t port, const struct rte_mbuf *m, const struct net_frame *f);
// Gives it a super-frame of TCP that gso_rx.c has checked. DP_OK when it is taken, else a reason.
unsigned int exception_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct port_super_info *s);
// Whether the data path itself receives datagrams on a port of an own address. Any address may be
// asked about: strangers quote any.
bool exception_is_data_path(const struct dp *d, const struct addr *a, uint16_t port);
// Frees what has come back, sends what comes from the kernel. Returns how many packets.
unsigned int exception_round(struct worker *w);
