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
	uint32_t slots, slot_len, next_slot; // at: the slot that is filled next
	struct rte_mempool *pool;
	uint64_t errors, nombuf; // written by that lcore, read by any thread
	uint64_t missed; // added up by whoever asks
	// The management lcore's: what is mapped, and the ring of another socket; that lcore has
	// taken it when taken is the same.
	uint8_t *mapped, *next, *taken;
} __rte_cache_aligned;

// What a socket needs for a ring, but the ring: while there are the capabilities for its buffer.
// 0 or -errno.
int packet_rx_prepare(int fd);
// Makes a ring of at least so many frames of an MTU for a socket that is prepared and not bound
// yet; fd and pool stay the caller's. 0 or -errno; call packet_rx_free in either case.
int packet_rx_init(
	struct packet_rx *q, int fd, uint32_t frames, uint16_t mtu, struct rte_mempool *pool);
void packet_rx_free(struct packet_rx *q);
// Gives a queue whose socket receives nothing any more the ring of another socket, which is
// prepared and not bound. The lcore takes it in its tick; packet_rx_replaced then puts the socket
// in the place of the queue's, under the same number. 0 or -errno. Management lcore.
int packet_rx_replace(struct packet_rx *q, int fd);
// True once the lcore has taken the ring that was given last. Management lcore.
bool packet_rx_is_taken(const struct packet_rx *q);
// Ends a replacement whose ring is taken, by the socket it was begun with. 0 or -errno. Management
// lcore.
int packet_rx_replaced(struct packet_rx *q, int fd);
// Takes the ring of another socket, if there is one. Once a millisecond, by the queue's lcore.
void packet_rx_tick(struct packet_rx *q);
// Receives up to n frames, and returns how many; the caller owns them.
uint16_t packet_rx_burst(struct packet_rx *q, struct rte_mbuf **m, uint16_t n);
// Frames so far for which the ring had no room. Any thread.
uint64_t packet_rx_missed(struct packet_rx *q);
