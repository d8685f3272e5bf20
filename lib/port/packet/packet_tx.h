// SPDX-License-Identifier: BSD-3-Clause
// Frames into a packet socket. Private to lib/port.
#pragma once

#include <rte_mbuf.h>

#include "super/super_kept.h"

struct port;

// Super-frames that we send: what every kernel with USO takes, and with headers within 64 KB.
#define PACKET_USO_SEGMENTS 64
#define PACKET_SUPER_BUFS 64
#define PACKET_SUPER_BYTES 65535

// A queue: the socket that receives, too. One lcore at a time.
struct packet_tx {
	int fd;
	struct port *port; // port whose super-frames are switched off here
	uint64_t errors; // written by that lcore, read by any thread
	struct super_kept kept;
} __rte_cache_aligned;

// Sets up a queue, which stays where it is; fd, pool and port stay the caller's. super_kept_drop
// gives up what is kept at the end.
void packet_tx_init(struct packet_tx *q, int fd, struct rte_mempool *pool, struct port *port);
// Returns how many frames it took; fewer than n when the kernel takes no more now.
uint16_t packet_tx_burst(struct packet_tx *q, struct rte_mbuf **m, uint16_t n);
