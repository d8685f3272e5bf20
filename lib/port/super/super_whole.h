// SPDX-License-Identifier: BSD-3-Clause
// Relays a received UDP super-frame (super.h) as one: its first datagram was made a frame to send,
// and the others are appended to that frame, each edited at its front like the first one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port_super;
struct rte_mbuf;
struct rte_mempool;

#define PORT_SUPER_FRONT 4

// The edit at the front of each datagram. At least one of taken and put is 0.
struct port_super_edit {
	uint16_t taken, put; // bytes removed and added, at most PORT_SUPER_FRONT
	// The bytes to add, or the expected bytes to remove. [1] is for the last datagram, which
	// may be shorter, [0] for all others.
	uint8_t front[2][PORT_SUPER_FRONT];
};

// True if all datagrams of m after the first one begin with the bytes to remove. m is a super-frame
// that port_super_read has accepted. Any thread.
bool port_super_alike(const struct rte_mbuf *m, const struct port_super_edit *e);

// Makes first, a complete plain frame in one buffer, a super-frame to send: appends the edited
// payload of m, without its first datagram, in buffers of pool, and adapts the headers. False, with
// nothing changed, if it would exceed limits or IP's longest packet, if first is IPv4 without DF
// (coalesce.h), or if the pool has too few buffers. The caller still owns m. Any thread.
bool port_super_follow(struct rte_mbuf *first, const struct rte_mbuf *m,
	const struct port_super_edit *e, const struct port_super *limits, struct rte_mempool *pool);
