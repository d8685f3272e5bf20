// SPDX-License-Identifier: BSD-3-Clause
// Sends frames through a packet socket. Private to lib/port.
#pragma once

#include <rte_mbuf.h>

#include "super/super_kept.h"

struct port;

// Limits of super-frames: accepted by every kernel with USO, and with headers within 64 KB.
#define PACKET_USO_SEGMENTS 64
#define PACKET_SUPER_BUFS 64
#define PACKET_SUPER_BYTES 65535

// A queue, with the socket that also receives. One lcore at a time.
struct packet_tx {
	int fd;
	struct port *port; // port whose super-frames are switched off on an error
	uint64_t errors; // written by the lcore, read by any thread
	struct super_kept kept;
} __rte_cache_aligned;

// Sets up a queue, which must not move in memory; the caller still owns fd, pool and port. At the
// end super_kept_drop drops the kept frames.
void packet_tx_init(struct packet_tx *q, int fd, struct rte_mempool *pool, struct port *port);
// Returns the number of frames accepted; fewer than n if the kernel accepts no more now.
uint16_t packet_tx_burst(struct packet_tx *q, struct rte_mbuf **m, uint16_t n);
