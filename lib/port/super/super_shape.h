// SPDX-License-Identifier: BSD-3-Clause
// The parsed form of a super-frame (super.h), for the files here that make other frames of it.
// Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "net.h"

#define SUPER_HEADERS_MAX (NET_ETH_LEN + NET_VLAN_LEN + 60 + 60) // IPv4 and TCP with all options

// A super-frame, offsets in it, and a contiguous copy of its headers.
struct super_shape {
	const struct rte_mbuf *m;
	uint16_t l3, l4, payload;
	uint32_t len; // bytes of payload
	uint16_t size; // bytes of payload of each frame except the last
	bool is_v4, is_tcp;
	uint8_t headers[SUPER_HEADERS_MAX];
};

// A position in a chain of mbufs.
struct super_reader {
	const struct rte_mbuf *m;
	uint32_t off;
};

// Reads m. False if m is not a super-frame, or its headers contradict it. Any thread.
bool super_shape_read(struct super_shape *s, const struct rte_mbuf *m);
// Returns the number of frames that it represents. Any thread.
unsigned int super_shape_frames(const struct super_shape *s);
// Returns the bytes of payload of frame i, which must exist. Any thread.
uint32_t super_shape_len(const struct super_shape *s, unsigned int i);
// Copies the next n bytes of the chain. The caller must know that n bytes are left. Any thread.
void super_reader_copy(struct super_reader *r, uint8_t *dst, uint32_t n);
// Skips the next n bytes, with the same condition.
void super_reader_skip(struct super_reader *r, uint32_t n);
// Makes m, a chain that begins with the headers of a UDP datagram (l2 and l3 bytes before the UDP
// header), a super-frame to send, with size bytes of payload in each frame except the last: writes
// the lengths, the IPv4 checksum, the pseudo-header sum, and the mbuf's offload fields. Any thread.
void super_finish(struct rte_mbuf *m, uint16_t l2, uint16_t l3, uint16_t size);
