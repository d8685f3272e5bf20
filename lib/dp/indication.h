// SPDX-License-Identifier: BSD-3-Clause
// indication.c: relayed indications.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct turn_view;
struct worker;

// Relays datagrams [from, to) of a leg that turn_route_begin has found lines without a channel for:
// Send indications to the peer of their line, the peers' datagrams as Data indications. Returns up
// to where: the first for which no such line vouches, or about which or whose way something is
// unusual. Nothing of that has been touched.
unsigned int indication_relay_leg(
	struct worker *w, unsigned int leg, unsigned int start, unsigned int stop, uint32_t tick);
// The same for one datagram, where the worker has meters. True also when it was past a rate, and
// was dropped.
bool indication_relay_metered(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick);
