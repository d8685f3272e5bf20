// SPDX-License-Identifier: BSD-3-Clause
// The parts of a super-frame (super.h), read out of its mbufs, for the files here that make other
// frames of it. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "net.h"

#define SUPER_HEADERS_MAX (NET_ETH_LEN + NET_VLAN_LEN + 60 + 60) // IPv4 and TCP with all options

// Offsets in the frame, and a contiguous copy of its headers.
struct super_shape {
	uint16_t l3, l4, payload;
	uint32_t len; // bytes of payload
	uint16_t size; // bytes of payload of each frame except the last
	bool is_v4, is_tcp;
	uint8_t headers[SUPER_HEADERS_MAX];
};

// A place in a chain of mbufs.
struct super_reader {
	const struct rte_mbuf *m;
	uint32_t off;
};

// Reads m. False: m is no super-frame, or its headers contradict it. Any thread.
bool super_shape_read(struct super_shape *s, const struct rte_mbuf *m);
// How many frames it stands for. Any thread.
unsigned int super_shape_frames(const struct super_shape *s);
// Bytes of payload of frame i, which is one of them. Any thread.
uint32_t super_shape_len(const struct super_shape *s, unsigned int i);
// Copies the next n bytes, however the chain spreads them. The caller knows that so many are left.
// Any thread.
void super_reader_copy(struct super_reader *r, uint8_t *dst, uint32_t n);
// Leaves out the next n bytes, as above.
void super_reader_skip(struct super_reader *r, uint32_t n);
// Makes m, a chain that begins with the headers of a datagram of UDP behind l2 and l3 bytes, a
// super-frame to be sent, with size bytes of payload in each frame except the last: writes lengths,
// the checksum of IPv4 and the sum for that of UDP, and what the port is to be told. Any thread.
void super_finish(struct rte_mbuf *m, uint16_t l2, uint16_t l3, uint16_t size);
