// SPDX-License-Identifier: BSD-3-Clause
// Finds the port and next hop of a destination: on-link subnets, routes and gateways of all ports
// in one small table. Pure; any thread, because a table is never written after routes_sort.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

// A route to the addresses of a prefix.
struct route {
	struct prefix dst; // host bits are zero; a default route has len 96 (IPv4) or 0
	struct addr via; // the router; unused if direct
	uint8_t port;
	bool direct; // on-link: the destination itself is the neighbour
	uint32_t not_for; // a bit for each port from whose addresses this route must not be used
};

#define ROUTES_PORTS_MAX 32
// not_for of a route for the addresses of one port only, such as a gateway.
#define ROUTES_ONLY_FOR(port) (~(UINT32_C(1) << (port)))

// Sorts the routes for routes_find: the longest prefix first.
void routes_sort(struct route *r, uint32_t nb);
// Returns the route to dst for packets from an address of a port: the longest prefix, and among
// equal ones that of the same port. NULL if there is no route.
const struct route *routes_find(
	const struct route *r, uint32_t nb, uint8_t port, const struct addr *dst);
