// SPDX-License-Identifier: BSD-3-Clause
// EAL, a pool and frames, for the tests of the vtap. Frames are made byte by byte, apart from the
// code under test.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define VTAP_WORLD_POOL 511 // buffers of the pool
#define VTAP_WORLD_ROOM 2048 // of a buffer, without headroom

extern struct rte_mempool *vtap_world_pool;

// Layout of a frame to make.
struct shape {
	bool v6, tcp, tag;
	uint32_t payload;
	uint8_t seed; // of the payload
};

// Offsets of the IP header, of the TCP or UDP header and of the payload, and the frame's length.
uint32_t shape_l2(const struct shape *s);
uint32_t shape_l4(const struct shape *s);
uint32_t shape_headers(const struct shape *s);
uint32_t shape_len(const struct shape *s);
// The folded sum of the pseudo-header of a whole frame, not inverted.
uint16_t vtap_world_pseudo_sum(const struct shape *s, const uint8_t *frame);
// Writes shape_len bytes. The checksum is complete, or with `partial` the folded sum of the
// pseudo-header. Returns the offset of the checksum field.
uint32_t frame_make(const struct shape *s, uint8_t *f, bool partial);
// Makes a chain of buffers with `part` bytes each.
struct rte_mbuf *chain_make(const uint8_t *bytes, uint32_t len, uint16_t part);
// Makes a super-frame to send, as super.h requires: datagrams or segments of size bytes of payload,
// in buffers of part bytes.
struct rte_mbuf *super_make(
	const struct shape *s, const uint8_t *bytes, uint16_t size, uint16_t part);
// Starts EAL and makes the pool. prefix: "--file-prefix=NAME", different for each test program.
// Returns 0, or -1.
int vtap_world_start(char *prefix);
// Teardown of the group.
int vtap_world_stop(void **state);
// Teardown of a test: asserts that every buffer was returned.
int vtap_world_whole(void **state);
