// SPDX-License-Identifier: BSD-3-Clause
// Computes the worker that owns a client. Every worker must be able to compute it from the packet
// alone, and it must not change during the life of the process, whatever queue a packet came in on.
#include <rte_thash.h>

#include "steering/steer.h"
#include "bytes.h"
#include "datapath.h"
#include "net.h"
#include "port.h"

#define TUPLE_WORDS 9 // two IPv6 addresses and the ports

void steer_port_init(struct dp_port *p, unsigned int workers)
{
	const struct port *port = p->port;
	uint32_t key[PORT_RSS_KEY_MAX / 4];

	// with fewer queues than workers RSS would leave some workers without clients; the hash
	// needs one key word more than the tuple has
	p->rss_home = port->rss && port->nb_rxq >= workers && rte_is_power_of_2(port->reta_size) &&
		port->rss_key_len >= (TUPLE_WORDS + 1) * sizeof(uint32_t);
	memcpy(key, port->rss_key, sizeof(key)); // aligned
	rte_convert_rss_key(key, p->rss_key, sizeof(key));
	if (!p->rss_home)
		return;
	p->home_mask = port->reta_size - 1;
	for (unsigned int i = 0; i < port->reta_size; i++)
		p->home[i] = (uint8_t)(port->reta[i] % workers);
}

// The hash that the NIC computes: Toeplitz over the addresses, and over the ports if it hashes
// those.
static uint32_t toeplitz_hash(const struct dp_port *p, const struct net_frame *f)
{
	const uint32_t ports = (uint32_t)f->sport << 16 | f->dport;
	uint32_t tuple[TUPLE_WORDS];
	uint32_t n = 0;

	if (f->is_v4) {
		tuple[n++] = load_be32(&f->src.w[3]);
		tuple[n++] = load_be32(&f->dst.w[3]);
	} else {
		for (unsigned int i = 0; i < 4; i++)
			tuple[n++] = load_be32(&f->src.w[i]);
		for (unsigned int i = 0; i < 4; i++)
			tuple[n++] = load_be32(&f->dst.w[i]);
	}
	if (p->port->rss_udp)
		tuple[n++] = ports;
	return rte_softrss_be(tuple, n, (const uint8_t *)p->rss_key);
}

unsigned int steer_nic_home(
	const struct dp_port *p, const struct rte_mbuf *m, const struct net_frame *f)
{
	uint32_t hash;

	// after extension headers many NICs do not find the ports and hash only the addresses
	if ((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 &&
		f->l4_off == f->l3_off + (f->is_v4 ? NET_IP4_LEN : NET_IP6_LEN))
		hash = m->hash.rss;
	else
		hash = toeplitz_hash(p, f);
	return p->home[hash & p->home_mask];
}

unsigned int steer_tuple_home(
	const struct dp_port *p, const struct endpoint *client, const struct endpoint *server)
{
	const struct net_frame f = {.is_v4 = addr_is_v4(&server->addr),
		.src = client->addr,
		.dst = server->addr,
		.sport = client->port,
		.dport = server->port};

	return p->home[toeplitz_hash(p, &f) & p->home_mask];
}

unsigned int steer_client_home(const struct dp *d, const struct dp_port *p,
	const struct rte_mbuf *m, const struct net_frame *f, uint8_t listener)
{
	if (d->nb_workers == 1)
		return 0;
	return p->rss_home ? steer_nic_home(p, m, f)
			   : steer_keyed_home(d, &f->src, f->sport, listener);
}
