// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery (RFC 1191, RFC 8201) for what the data path sends. Each worker learns for
// itself, from errors about packets of its own allocations.
//
// While nothing is known nobody looks at the table. When a destination is new in it, the notes of
// all lines on the way there become void. So each line finds its way anew, once, by the general
// way; a line to that destination gets no note as long as the entry lives, and does not vouch. All
// others are noted again.
#include <errno.h>

#include <rte_malloc.h>

#include "link/path_mtu.h"
#include "addr.h"
#include "conf.h"
#include "csprng.h"
#include "datapath.h"
#include "drop_of.h"
#include "icmp_error.h"
#include "link/nexthop.h"
#include "net.h"
#include "worker.h"

// New destinations a second and at once. Each costs every line on its way one datagram by the
// general way.
#define LEARN_RATE 10
#define LEARN_BURST 50

size_t path_mtu_size(const struct conf *c)
{
	return pmtu_size(c->path_mtus);
}

int path_mtu_create(struct worker *w, int socket)
{
	const uint32_t entries = w->dp->conf->path_mtus;
	struct hash_key key;

	if (entries == 0)
		return 0;
	w->pmtu_mem =
		rte_zmalloc_socket("path MTUs", pmtu_size(entries), RTE_CACHE_LINE_SIZE, socket);
	if (w->pmtu_mem == NULL)
		return -ENOMEM;
	csprng_bytes(&w->rng, &key, sizeof(key));
	pmtu_init(&w->pmtu, w->pmtu_mem, entries, &key);
	return 0;
}

void path_mtu_free(struct worker *w)
{
	rte_free(w->pmtu_mem);
}

uint16_t path_mtu(const struct worker *w, uint8_t port, const struct addr *dst)
{
	const uint16_t link = w->dp->port[port].port->mtu;

	return RTE_MIN(link, pmtu_find(&w->pmtu, dst, w->now_ms));
}

bool path_mtu_lowered(const struct worker *w, const struct addr *dst)
{
	return pmtu_find(&w->pmtu, dst, w->now_ms) != PMTU_NONE;
}

void path_mtu_learn(struct worker *w, const struct net_icmp_error *e, const struct addr *client)
{
	const uint16_t mtu = pmtu_reported(addr_is_v4(&e->src.addr), e->mtu, e->len);
	const struct nexthop_way way = {&e->src.addr, &e->dst.addr, client};
	uint16_t neigh;
	uint8_t port;
	bool lowered;

	if (mtu == PMTU_NONE || nexthop_resolve(w, &way, &port, &neigh) != DP_SENT ||
		mtu >= path_mtu(w, port, &e->dst.addr))
		return;
	if (!path_mtu_lowered(w, &e->dst.addr) &&
		!bucket_take(&w->learns, LEARN_RATE, LEARN_BURST, w->now_ms * BUCKET_MS))
		return;
	if (pmtu_lower(&w->pmtu, &e->dst.addr, mtu, w->now_ms, &lowered))
		neigh_void_notes(w->neigh, neigh);
	w->live.path_mtus += lowered;
}
