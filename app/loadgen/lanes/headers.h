// SPDX-License-Identifier: BSD-3-Clause
// Ethernet, IP and UDP headers of the datagrams sent.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>

#include "addr.h"

struct engine;

// One direction between two endpoints: the fields from which headers are made.
struct path {
	struct endpoint src, dst;
	uint32_t sum; // sum of both addresses and ports, for the UDP checksum (not folded)
	uint16_t hop; // index of the next hop to dst
};

// Fills in a path from its two endpoints. False when the side cannot reach dst.
bool headers_path(struct engine *e, unsigned int side, struct path *p, const struct endpoint *src,
	const struct endpoint *dst);
// Puts the headers in front of the UDP payload that m holds. sum: sum of the payload in big-endian
// 16-bit words. False when the next hop's MAC is not known yet; the caller still owns m then.
bool headers_write(const struct engine *e, unsigned int side, struct rte_mbuf *m,
	const struct path *p, uint32_t sum);
