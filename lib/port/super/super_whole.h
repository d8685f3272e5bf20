// SPDX-License-Identifier: BSD-3-Clause
// A received super-frame of UDP (super.h) that leaves as one: its first datagram has been made a
// frame to be sent, and the others follow in that frame, each changed at its front as the first one
// was.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct port_super;
struct rte_mbuf;
struct rte_mempool;

#define PORT_SUPER_FRONT 4

// What becomes of the front of each datagram. One of taken and put is 0, or both.
struct port_super_edit {
	uint16_t taken, put; // bytes, PORT_SUPER_FRONT at most
	// What is put in front, or has to be there to be taken off. [1] is of the last datagram,
	// which may be shorter, [0] of all others.
	uint8_t front[2][PORT_SUPER_FRONT];
};

// Whether the datagrams of m behind the first one all begin with what is to be taken off. m is a
// super-frame that port_super_read has read. Any thread.
bool port_super_alike(const struct rte_mbuf *m, const struct port_super_edit *e);

// Makes first, a finished plain frame in one buffer, a super-frame to be sent: the payload of m,
// edited, without its first datagram, follows in buffers of pool, and the headers become those of
// the whole. False, and nothing has been changed: it would be beyond limits or longer than IP
// allows, first is of IPv4 and may be fragmented (coalesce.h), or the pool has too few buffers. m
// stays the caller's. Any thread.
bool port_super_follow(struct rte_mbuf *first, const struct rte_mbuf *m,
	const struct port_super_edit *e, const struct port_super *limits, struct rte_mempool *pool);
