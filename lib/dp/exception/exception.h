// SPDX-License-Identifier: BSD-3-Clause
// The exception port: passes traffic that the data path does not handle to the kernel behind a
// port, and back. A separate thread, not a worker, reads and writes the kernel's interface. Rings
// connect it to the workers, so that a worker never makes a system call, never waits for the
// kernel, and never shares a lock or the packet pool with a thread that may be preempted.
//
//	worker -- give --> lane.to -----> thread -> interface        and back on lane.done
//	worker <- take --- from <-------- thread <- interface        buffers of a pool of its own
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "rates/bucket.h"
#include "exception/exception_note.h"
#include "exception/exception_rules.h"
#include "net.h"

#define EXCEPTION_TAKE 8 // frames from the kernel that a worker sends per round
// All headers up to TCP's: the first buffer of a super-frame must contain them.
#define EXCEPTION_HEADERS (NET_ETH_LEN + NET_VLAN_LEN + NET_IP6_LEN + 60)

// Segments of the longest super-frame that is cut here: 64 KB of the smallest usual ones.
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

// A worker's side. Only that worker writes it, except the rings. Any thread reads the counters.
struct exception_lane {
	struct rte_ring *to_kernel,
		*done; // frames to the kernel, and frames to free; set at start
	// Buffers that have not come back; [1]: those with ARP and ND.
	uint32_t given[2] __rte_cache_aligned;
	uint64_t to_class[EXC_CLASSES], from_class[EXC_CLASSES];
	uint64_t to_denied, to_full, from_foreign, answered;
	uint64_t to_supers, to_super_frames, from_supers, from_super_frames;
} __rte_cache_aligned;

struct exception {
	// Set at start, then read-only.
	struct dp *dp;
	const struct conf_exception *conf;
	struct port *kernel; // port whose other end is the interface
	struct rte_mempool *pool; // for frames from the kernel
	struct rte_ring *from_kernel;
	unsigned int nb_lanes;
	uint8_t port; // of the data path
	uint8_t server; // the worker that sends all frames from the kernel, to keep their order
	struct limit limit; // packets per second, each direction
	struct exception_rules rules;
	// buffers taken out of the ring; server writes, thread reads
	uint32_t taken __rte_cache_aligned;
	// Only for the thread; any thread reads to_lost and cut.
	struct bucket to_meter __rte_cache_aligned, from_meter; // packets in each direction
	uint32_t queued; // buffers put into the ring
	unsigned int next_lane; // the lane to serve first next time
	uint64_t ticked_ms;
	uint64_t to_lost, cut; // cut: super-frames that the port cannot send whole
	struct rte_mbuf *pieces[EXCEPTION_PIECES]; // pieces of a super-frame that wait for room
	unsigned int next_piece, nb_pieces;
	struct exception_lane lane[]; // by worker
};

// --- exception.c: open, close, and the worker's side ---------------------------------------------

typedef struct port *exception_opener(const struct port_config *c, char *error, size_t len);

// Opens the exception port of a started port, if it is configured. Returns 0, or -1 with the reason
// in error.
int exception_open(struct dp *d, uint32_t port, exception_opener *open, char *error, size_t len);
// Makes rings and rules. Call it when the number of workers and the addresses are known. Returns 0
// or -ENOMEM.
int exception_create_rings(struct dp *d);
// Takes back every packet and removes the interfaces. Call it after thread and workers have
// stopped.
void exception_close_all(struct dp *d);
// Frees the rest, after the ports were closed and hold no buffers of the pools any more.
void exception_free_all(struct dp *d);
// Bytes of packet buffers that one exception port needs.
size_t exception_pool_bytes(const struct conf *c, uint32_t port, uint32_t tx_ring);

// For workers. Each function consumes the packet; exception_udp and exception_icmp do so only if
// they return true.
void exception_tcp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
bool exception_udp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
bool exception_icmp(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Like exception_udp, for DHCP and router advertisements, on a port that learns addresses.
// net_frame_parse may have rejected the frame.
bool exception_learning(struct worker *w, uint8_t port, struct rte_mbuf *m);
// Gives the kernel a copy of an ARP or ND packet.
void exception_neighbour(
	struct worker *w, uint8_t port, const struct rte_mbuf *m, const struct net_frame *f);
// Gives the kernel a TCP super-frame that gso_rx.c has checked. Returns DP_OK if it was accepted,
// else a drop reason.
unsigned int exception_super(
	struct worker *w, uint8_t port, struct rte_mbuf *m, const struct port_super_info *s);
// True if the data path itself receives datagrams on a port of our address. a may be any address,
// because strangers quote any.
bool exception_is_data_path(const struct dp *d, const struct addr *a, uint16_t port);
// Frees returned packets, and sends packets from the kernel. Returns their number.
unsigned int exception_round(struct worker *w);
