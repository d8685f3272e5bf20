// SPDX-License-Identifier: BSD-3-Clause
// Receives frames from a queue of a TAP. Private to lib/port.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

struct iovec;

// Bytes of the longest frame from a TAP: an IP packet of 64 KB after a tagged header.
#define VTAP_FRAME_MAX (65535 + 14 + 4)

// A queue: a non-blocking descriptor that delivers whole frames. One lcore at a time.
struct vtap_rx {
	int fd;
	uint16_t nb_bufs; // buffers for one read: one, or enough for a super-frame
	uint16_t empty; // number of leading buffers to refill
	struct rte_mempool *pool;
	struct rte_mbuf **buf;
	struct iovec *iov;
	uint64_t errors, nombuf; // written by the lcore, read by any thread
} __rte_cache_aligned;

// super: makes room for super-frames. Returns 0 or -ENOMEM; call vtap_rx_free in both cases.
int vtap_rx_init(struct vtap_rx *q, int fd, struct rte_mempool *pool, bool super);
void vtap_rx_free(struct vtap_rx *q);
// Receives up to n frames and returns their number; the caller owns them.
uint16_t vtap_rx_burst(struct vtap_rx *q, struct rte_mbuf **m, uint16_t n);
