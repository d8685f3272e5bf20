// SPDX-License-Identifier: BSD-3-Clause
// Computes the owner of a client.
#pragma once

#include <stdint.h>

#include "datapath.h"
#include "turn.h"
#include "turn_mark.h"

struct net_frame;
struct rte_mbuf;

// The worker that owns a client's 5-tuple, fixed for the life of the process. m: as received on p.
unsigned int steer_client_home(const struct dp *d, const struct dp_port *p,
	const struct rte_mbuf *m, const struct net_frame *f, uint8_t listener);
// Home by the NIC's RSS hash, for ports with rss_home.
unsigned int steer_nic_home(
	const struct dp_port *p, const struct rte_mbuf *m, const struct net_frame *f);
// Sets rss_home, home and rss_key of a started port.
void steer_port_init(struct dp_port *p, unsigned int workers);
// Home by RSS for a packet of the client to that server address and port.
unsigned int steer_tuple_home(
	const struct dp_port *p, const struct endpoint *client, const struct endpoint *server);
// Home by our own keyed hash, for ports without rss_home. The hash is keyed because otherwise a
// stranger could choose source ports that all have the same home.
static inline unsigned int steer_keyed_home(
	const struct dp *d, const struct addr *client, uint16_t port, uint8_t listener)
{
	const uint32_t mark = turn_mark_client(port, listener);

	return turn_client_home(turn_client_hash(&d->client_key, client, mark), d->nb_workers);
}
