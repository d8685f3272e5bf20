// SPDX-License-Identifier: BSD-3-Clause
// Receives frames from the ring that a packet socket shares with the kernel. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

// A queue: a socket and its ring. One lcore at a time.
struct packet_rx {
	int fd;
	uint8_t *ring; // mapped
	uint32_t slots, slot_len, next_slot; // next_slot: the slot that the kernel fills next
	struct rte_mempool *pool;
	uint64_t errors, nombuf; // written by the lcore, read by any thread
	uint64_t missed; // summed up by packet_rx_missed
	// Ring replacement: the management lcore writes mapped, the current ring, and next, that of
	// another socket. The queue's lcore has adopted it when taken equals next.
	uint8_t *mapped, *next, *taken;
} __rte_cache_aligned;

// Prepares a socket for a ring, while the process has the capabilities for its buffer size. Returns
// 0 or -errno.
int packet_rx_prepare(int fd);
// Makes a ring of at least `frames` frames of an MTU for a socket that is prepared and not bound
// yet; the caller still owns fd and pool. Returns 0 or -errno; call packet_rx_free in both cases.
int packet_rx_init(
	struct packet_rx *q, int fd, uint32_t frames, uint16_t mtu, struct rte_mempool *pool);
void packet_rx_free(struct packet_rx *q);
// Gives a queue whose socket receives nothing any more the ring of another socket, which is
// prepared and not bound. The lcore adopts it in its tick; packet_rx_replaced then replaces the
// queue's socket, keeping the descriptor number. Returns 0 or -errno. Management lcore.
int packet_rx_replace(struct packet_rx *q, int fd);
// True once the lcore has adopted the last given ring. Management lcore.
bool packet_rx_is_taken(const struct packet_rx *q);
// Completes a replacement after its ring was adopted, with the same socket. Returns 0 or -errno.
// Management lcore.
int packet_rx_replaced(struct packet_rx *q, int fd);
// Adopts the ring of another socket, if there is one. Called once a millisecond by the queue's
// lcore.
void packet_rx_tick(struct packet_rx *q);
// Receives up to n frames and returns their number; the caller owns them.
uint16_t packet_rx_burst(struct packet_rx *q, struct rte_mbuf **m, uint16_t n);
// Returns the number of frames dropped because the ring was full. Any thread.
uint64_t packet_rx_missed(struct packet_rx *q);
