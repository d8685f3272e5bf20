// SPDX-License-Identifier: BSD-3-Clause
// indication.c: relayed indications.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;
struct turn_view;
struct worker;

// Relays a datagram that turn_route_begin has found a line without a channel for, if the line
// vouches: a Send indication to its peer, or the peer's datagram as a Data indication. False: it
// does not, or something about the datagram or its way is unusual, and nothing has been touched.
bool indication_relay(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick);
// The same where the worker has meters. True also when it was past a rate, and was dropped.
bool indication_relay_metered(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick);
