// SPDX-License-Identifier: BSD-3-Clause
// Headers of the datagrams sent.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>

#include "addr.h"

struct engine;

// One way of a datagram: what its headers are made of.
struct path {
	struct endpoint src, dst;
	uint32_t sum; // of both addresses and ports, for the UDP checksum
	uint16_t hop; // to dst
};

// Fills a path from its ends; false when dst cannot be reached from the side.
bool headers_path(struct engine *e, unsigned int side, struct path *p, const struct endpoint *src,
	const struct endpoint *dst);
// Puts the headers in front of the UDP payload that m holds; sum is that of the payload in
// big-endian words. False when the next hop is not known yet (m is the caller's still).
bool headers_write(const struct engine *e, unsigned int side, struct rte_mbuf *m,
	const struct path *p, uint32_t sum);
