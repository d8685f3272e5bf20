// SPDX-License-Identifier: BSD-3-Clause
// Frames out of the ring that a packet socket shares with the kernel. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

// A queue: a socket and its ring. One lcore at a time.
struct packet_rx {
	int fd;
	uint8_t *ring; // mapped
	uint32_t slots, slot_len, at; // at: the slot that is filled next
	struct rte_mempool *pool;
	uint64_t errors, nombuf; // written by that lcore, read by any thread
	uint64_t missed; // added up by whoever asks
} __rte_cache_aligned;

// Makes a ring of at least so many frames of an MTU for a socket that is not bound yet; fd and pool
// stay the caller's. 0 or -errno; call packet_rx_free in either case.
int packet_rx_init(
	struct packet_rx *q, int fd, uint32_t frames, uint16_t mtu, struct rte_mempool *pool);
void packet_rx_free(struct packet_rx *q);
// Receives up to n frames, and returns how many; the caller owns them.
uint16_t packet_rx_burst(struct packet_rx *q, struct rte_mbuf **m, uint16_t n);
// Frames so far for which the ring had no room. Any thread.
uint64_t packet_rx_missed(struct packet_rx *q);
