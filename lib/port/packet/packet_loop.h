// SPDX-License-Identifier: BSD-3-Clause
// Sends frames to programs of this host over the loopback. Private to lib/port.
#pragma once

#include <stdint.h>

#include <rte_mbuf.h>

struct packet_tx;

// A queue. One lcore at a time; several queues may share the socket.
struct packet_loop {
	int fd;
	uint64_t errors; // written by the lcore, read by any thread
} __rte_cache_aligned;

// Makes a raw socket that sends over the loopback; the caller closes it. Returns -errno on failure.
// Needs CAP_NET_RAW. Management lcore.
int packet_loop_open(const char *interface, int send_buffer);
// Sends n IP frames to addresses of this host; IPv6 over tx, the packet socket of the same queue.
// Returns the number accepted; fewer than n if the kernel accepts no more now.
uint16_t packet_loop_burst(
	struct packet_loop *q, struct packet_tx *tx, struct rte_mbuf **m, uint16_t n);
