// SPDX-License-Identifier: BSD-3-Clause
// Frames into a packet socket. Private to lib/port.
#pragma once

#include <rte_mbuf.h>

struct port;

// Super-frames that we send: what every kernel with USO takes, and with headers within 64 KB.
#define PACKET_USO_SEGMENTS 64
#define PACKET_SUPER_BUFS 64
#define PACKET_SUPER_BYTES 65535

// A queue: the socket that receives, too. One lcore at a time.
struct packet_tx {
	int fd;
	struct port *port; // port whose super-frames are switched off here
	struct rte_mempool *pool; // for the frames that a super-frame is cut into
	// The rest of a super-frame that had to be cut; it is sent before anything else.
	uint16_t kept_at, kept;
	struct rte_mbuf *keep[PACKET_USO_SEGMENTS]; // no super-frame is cut into more
	uint64_t errors, cut; // written by that lcore, read by any thread
} __rte_cache_aligned;

// Frees the frames that are kept, and counts them as errors.
void packet_tx_free(struct packet_tx *q);
// Returns how many frames it took; fewer than n when the kernel takes no more now.
uint16_t packet_tx_burst(struct packet_tx *q, struct rte_mbuf **m, uint16_t n);
