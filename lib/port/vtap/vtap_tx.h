// SPDX-License-Identifier: BSD-3-Clause
// Frames into a queue of a TAP. Private to lib/port.
#pragma once

#include <rte_mbuf.h>

struct port;

// The most segments in a super-frame that we send. UDP: what every kernel with USO takes. TCP: 64
// KB of the smallest segments in use.
#define VTAP_USO_SEGMENTS 64
#define VTAP_TSO_SEGMENTS 256
#define VTAP_SUPER_BUFS 64
#define VTAP_SUPER_BYTES 65535

// A queue: a non-blocking descriptor that takes whole frames. One lcore at a time.
struct vtap_tx {
	int fd;
	struct port *port; // port whose super-frames are switched off here
	struct rte_mempool *pool; // for the frames that a super-frame is cut into
	// The rest of a super-frame that had to be cut; it is sent before anything else.
	uint16_t kept_at, kept;
	struct rte_mbuf *keep[VTAP_TSO_SEGMENTS]; // no super-frame is cut into more
	uint64_t errors, cut; // written by that lcore, read by any thread
} __rte_cache_aligned;

// Sets up a queue; fd, pool and port stay the caller's. vtap_tx_free frees the frames that are
// kept.
void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port);
void vtap_tx_free(struct vtap_tx *q);
// Returns how many frames it took; fewer than n when the kernel takes no more now.
uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n);
