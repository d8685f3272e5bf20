// SPDX-License-Identifier: BSD-3-Clause
// Derives numbers from the file: packet buffers, bursts of rates, limits per network.
#include "conf_features.h"
#include "expanding/derive.h"

#include "conf.h"
#include "conf_drivers.h"

#define MBUFS_LEAST 16384 // one port with up to four workers, and its rings of 1024 descriptors
#define MBUFS_MOST 4194304
#define BURST_MOST 1000000
#define LIFETIME_S 600 // RFC 8656 section 7.2
// Seconds of the rate that may come at once. An office comes back at once: 2,500 clients of one
// address with the default of limits.unauthenticated.
#define UNAUTHENTICATED_BURST 5
#define BINDING_BURST 2
#define NETWORK_SOURCES 2 // an IPv6 /48 may have as much as this number of /64s

static uint32_t min_of(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

static void derive_burst(struct limit *l, uint32_t times)
{
	if (l->burst == 0)
		l->burst = l->rate > 0 ? min_of((uint64_t)l->rate * times, BURST_MOST) : 1;
}

static void derive_limits(struct conf *c)
{
	struct turn_limits *l = &c->turn.limits;

	derive_burst(&l->unauthenticated, UNAUTHENTICATED_BURST);
	derive_burst(&l->binding, BINDING_BURST);
	if (l->lifetime_default_s == 0)
		l->lifetime_default_s = min_of(LIFETIME_S, l->lifetime_max_s);
	if (c->streams.per_network == 0)
		c->streams.per_network = NETWORK_SOURCES * c->streams.per_source;
	if (c->dtls.per_network == 0)
		c->dtls.per_network = NETWORK_SOURCES * c->dtls.per_source;
}

void conf_rings_longest(const struct conf *c, uint32_t *rx, uint32_t *tx)
{
	*rx = c->rx_ring;
	*tx = c->tx_ring;
	for (uint32_t i = 0; c->drivers != NULL && i < c->drivers->nb; i++) {
		const struct conf_driver *d = &c->drivers->list[i];

		*rx = d->rx_ring > *rx ? d->rx_ring : *rx;
		*tx = d->tx_ring > *tx ? d->tx_ring : *tx;
	}
}

// Requests that wait at one worker: from known clients and from unknown ones, with an equal number
// of datagrams behind each, and requests of streams.
static uint32_t backlog_packets(const struct conf *c)
{
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++)
		if (turn_listener_is_stream(&c->turn.listeners[i]))
			return 5 * c->backlog;
	return 4 * c->backlog;
}

// A pool that is too small drops packets for lack of buffers. Full rings hold a buffer for each
// descriptor. A burst of requests fills the backlogs. A flood towards the kernel fills the queues
// of exception ports. All of this can happen at once, and on every worker.
void conf_derive_mbufs(struct conf *c)
{
	uint64_t each = backlog_packets(c), need;
	uint32_t rx, tx;

	conf_rings_longest(c, &rx, &tx);
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		each += (uint64_t)conf_port_devices(&c->ports[i]) * (rx + tx);
		if (c->ports[i].exception.name != NULL)
			each += c->ports[i].exception.buffers;
	}
#define X(enabled, number)   \
	if (c->turn.enabled) \
		each += c->turn.number;
	CONF_BUFFERS(X)
#undef X
	need = each * (c->workers > 0 ? c->workers : 1);
	c->mbufs = min_of(need > MBUFS_LEAST ? need : MBUFS_LEAST, MBUFS_MOST);
	if (c->mbufs_fixed != 0)
		c->mbufs = c->mbufs_fixed;
}

void conf_derive(struct conf *c)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		struct conf_port *p = &c->ports[i];

		p->learn_wait_s = c->learn_wait_s;
		p->exception.client_lo = c->exception.client_lo;
		p->exception.client_hi = c->exception.client_hi;
		p->exception.rate = c->exception.rate;
		p->exception.buffers = c->exception.buffers;
		// a port that cuts UDP super-frames can cut those of TCP at no further cost
		p->exception.tso = p->uso;
	}
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++)
		c->turn.listeners[i].proxy.size = c->proxy_size;
	c->turn.tells_peers = c->records.peers != CONF_DETAIL_NONE;
	derive_limits(c);
	conf_derive_mbufs(c);
}
