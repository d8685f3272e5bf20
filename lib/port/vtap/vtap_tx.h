// SPDX-License-Identifier: BSD-3-Clause
// Sends frames to a queue of a TAP. Private to lib/port.
#pragma once

#include <rte_mbuf.h>

#include "super/super_kept.h"

struct port;

// Maximum number of segments of a super-frame. Every kernel with USO accepts 64 segments of UDP.
// 256 segments of TCP, if they have the smallest usual size, make 64 KB.
#define VTAP_USO_SEGMENTS 64
#define VTAP_TSO_SEGMENTS 256
#define VTAP_SUPER_BUFS 64
#define VTAP_SUPER_BYTES 65535

// A queue: a non-blocking descriptor that accepts whole frames. One lcore at a time uses it.
struct vtap_tx {
	int fd;
	struct port *port; // port whose super-frames are switched off on an error
	uint64_t errors; // written by the lcore, read by any thread
	struct super_kept kept;
} __rte_cache_aligned;

// Sets up a queue, which must not move in memory. The caller still owns fd, pool and port. Before
// the caller closes fd, it drops the kept frames with super_kept_drop.
void vtap_tx_init(struct vtap_tx *q, int fd, struct rte_mempool *pool, struct port *port);
// Returns the number of frames accepted; fewer than n if the kernel accepts no more now.
uint16_t vtap_tx_burst(struct vtap_tx *q, struct rte_mbuf **m, uint16_t n);
