// SPDX-License-Identifier: BSD-3-Clause
// Relays indications.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct turn_view;
struct worker;

// Relays datagrams [start, stop) of a leg for which turn_route_begin found lines without a channel:
// Send indications to the peer of their line, and that peer's datagrams as Data indications. Stops
// before the first datagram that no such line vouches for, or that is unusual or has an unusual
// route, and does not touch that one. Returns its index, or stop.
unsigned int indication_relay_leg(
	struct worker *w, unsigned int leg, unsigned int start, unsigned int stop, uint32_t tick);
// Relays one datagram in this way, for a worker with meters. True also if the datagram exceeded a
// rate and was dropped.
bool indication_relay_metered(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick);
