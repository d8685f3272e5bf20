// SPDX-License-Identifier: BSD-3-Clause
// Which worker owns a client. It must be computable by every worker from the packet alone, and stay
// the same as long as the process lives, whatever queue the packet came in on.
#include <rte_thash.h>

#include "bytes.h"
#include "dp_int.h"

#define TUPLE_WORDS 9 // two IPv6 addresses and the ports

void steer_port_init(struct dp_port *p, unsigned int workers)
{
	const struct port *port = p->port;
	uint32_t key[PORT_RSS_KEY_MAX / 4];

	// with fewer queues than workers RSS would leave some workers without clients; the hash
	// takes one key word more than the tuple has
	p->rss_home = port->rss && port->nb_rxq >= workers && rte_is_power_of_2(port->reta_size) &&
		port->rss_key_len >= (TUPLE_WORDS + 1) * sizeof(uint32_t);
	memcpy(key, port->rss_key, sizeof(key)); // aligned
	rte_convert_rss_key(key, p->rss_key, sizeof(key));
}

// The hash the NIC computes: Toeplitz over addresses, and ports where it hashes those.
static uint32_t toeplitz(const struct dp_port *p, const struct net_frame *f)
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

// Our own keyed hash: a stranger who could predict it would choose source ports that all meet on
// one worker.
unsigned int steer_keyed_home(
	const struct dp *d, const struct endpoint *client, const struct endpoint *server)
{
	const uint64_t at = hash_addr(&d->home_key, &server->addr, server->port);
	const uint64_t h = hash_addr(&d->home_key, &client->addr, at ^ client->port);

	return (unsigned int)(((h >> 32) * d->nb_workers) >> 32);
}

unsigned int steer_client_home(const struct dp *d, const struct dp_port *p,
	const struct rte_mbuf *m, const struct net_frame *f)
{
	uint32_t hash;

	if (d->nb_workers == 1)
		return 0;
	if (!p->rss_home)
		return steer_keyed_home(d, &(struct endpoint){f->src, f->sport},
			&(struct endpoint){f->dst, f->dport});
	// behind extension headers many NICs do not find the ports and hash the addresses alone
	if ((m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 &&
		f->l4_off == f->l3_off + (f->is_v4 ? NET_IP4_LEN : NET_IP6_LEN))
		hash = m->hash.rss;
	else
		hash = toeplitz(p, f);
	return p->port->reta[hash & (p->port->reta_size - 1u)] % d->nb_workers;
}
