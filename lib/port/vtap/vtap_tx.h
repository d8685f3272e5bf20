// SPDX-License-Identifier: BSD-3-Clause
// Frames into a queue of a TAP. Private to lib/port.
#pragma once

#include <rte_mbuf.h>

#include "super/super_kept.h"

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
	uint64_t errors; // written by that lcore, read by any thread
	struct super_kept kept;
} __rte_cache_aligned;

// Sets up a queue, which stays where it is; fd, pool and port stay the caller's. super_kept_drop
// gives up what is kept at the end.
void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port);
// Returns how many frames it took; fewer than n when the kernel takes no more now.
uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n);
