// SPDX-License-Identifier: BSD-3-Clause
// Frames to programs of this machine, by the loopback. Private to lib/port.
#pragma once

#include <stdint.h>

#include <rte_mbuf.h>

struct packet_tx;

// A queue. One lcore at a time; the socket may be several queues'.
struct packet_loop {
	int fd;
	uint64_t errors; // written by that lcore, read by any thread
} __rte_cache_aligned;

// Makes a raw socket that sends by the loopback; the caller closes it. -errno on failure. It takes
// CAP_NET_RAW. Management lcore.
int packet_loop_open(const char *interface, int send_buffer);
// Sends n frames of IP, whose destinations are addresses of this machine; IPv6 by tx, the packet
// socket of the same queue. Returns how many it took; fewer than n when the kernel takes no more
// now.
uint16_t packet_loop_burst(
	struct packet_loop *q, struct packet_tx *tx, struct rte_mbuf **m, uint16_t n);
