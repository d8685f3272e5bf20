// SPDX-License-Identifier: BSD-3-Clause
// Which port a destination is behind: on-link subnets, routes and gateways of all ports in one
// small table. Pure; any thread, as a table is never written after routes_sort.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

// A way to the addresses of a prefix.
struct route {
	struct prefix dst; // host bits are zero; a default route has len 96 (IPv4) or 0
	struct addr via; // the router; not given when direct
	uint8_t port;
	bool direct; // on-link: the destination itself is the neighbour
	uint32_t not_for; // ports, by bit: it is not for what is sent from an address of these
};

#define ROUTES_PORTS_MAX 32
// not_for of a route that serves the addresses of one port alone, as a gateway does.
#define ROUTES_ONLY_FOR(port) (~(UINT32_C(1) << (port)))

// Puts the routes into the order that routes_find searches: the longest prefix first.
void routes_sort(struct route *r, uint32_t nb);
// The route to dst for what is sent from an address of a port: the longest prefix, and among equal
// ones that of the address's own port. NULL when there is none.
const struct route *routes_find(
	const struct route *r, uint32_t nb, uint8_t port, const struct addr *dst);
