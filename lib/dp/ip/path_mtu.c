// SPDX-License-Identifier: BSD-3-Clause
// Path MTU discovery (RFC 1191, RFC 8201) for packets that the data path sends. Each worker learns
// for itself, from errors about packets of its own allocations.
//
// A path MTU applies to the packets of one allocation only: from its relayed transport address to a
// peer's address, or from a listener to its client. So nobody can shorten the path of another
// client. While no path MTU is known the table is not read. Learning one clears the hop note of the
// line that it is about (of both lines of a dual allocation, if it is about their client). The line
// gets no new note, and so does not vouch, as long as the entry lives.
#include <errno.h>

#include <rte_malloc.h>

#include "ip/path_mtu.h"
#include "addr.h"
#include "conf.h"
#include "csprng.h"
#include "datapath.h"
#include "drop_of.h"
#include "icmp_error.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "turn_icmp.h"
#include "turn_line.h"
#include "path/worker.h"

// New flows of a user per second, and in one burst. Each may displace another flow; the next error
// about that flow restores it.
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

// The packets of one allocation. All ports of a peer's address count as one flow, as for
// permissions, so nobody can create many. On a listener's endpoint, which many clients use, the
// client's port distinguishes them.
static struct pmtu_flow flow_of(
	const struct worker *w, const struct endpoint *src, const struct endpoint *dst)
{
	const struct local_addr *laddr = local_addrs_find(w->local, &src->addr);
	const bool one = !turn_config_shares_ports(&w->dp->conf->turn) && laddr != NULL &&
		local_addrs_listener(w->local, laddr, src->port) < 0;

	return (struct pmtu_flow){.src = src->addr,
		.dst = dst->addr,
		.src_port = src->port,
		.dst_port = one ? 0 : dst->port};
}

static uint16_t known_mtu(
	const struct worker *w, const struct endpoint *src, const struct endpoint *dst)
{
	struct pmtu_flow flow;

	if (!pmtu_any(&w->pmtu, w->now_ms))
		return PMTU_NONE;
	flow = flow_of(w, src, dst);
	return pmtu_find(&w->pmtu, &flow, w->now_ms);
}

uint16_t path_mtu(const struct worker *w, uint8_t port, const struct endpoint *src,
	const struct endpoint *dst)
{
	const uint16_t link = w->dp->port[port].port->mtu, path = known_mtu(w, src, dst);

	return RTE_MIN(link, path);
}

bool path_mtu_lowered(
	const struct worker *w, const struct endpoint *src, const struct endpoint *dst)
{
	return known_mtu(w, src, dst) != PMTU_NONE;
}

// False if the user has learned too many flows recently. So forged errors only stop users that
// share a bucket from learning.
static bool take_learning(struct worker *w, uint32_t slot)
{
	static const struct limit learns = {LEARN_RATE, LEARN_BURST};
	struct bucket *b = &w->learns[turn_icmp_user(w->shard, slot) % PATH_MTU_BUCKETS];

	if (bucket_take(b, &learns, w->now_ms * BUCKET_MS))
		return true;
	w->live.path_mtus_refused++;
	return false;
}

void path_mtu_learn(
	struct worker *w, const struct net_icmp_error *e, uint32_t slot, unsigned int out_leg)
{
	const uint16_t mtu = pmtu_reported(addr_is_v4(&e->src.addr), e->mtu, e->len);
	const struct pmtu_flow flow = flow_of(w, &e->src, &e->dst);
	struct addr via;
	uint32_t sibling;
	uint8_t port;

	if (mtu == PMTU_NONE || !nexthop_find(w->hot, &e->src.addr, &e->dst.addr, &port, &via) ||
		mtu >= path_mtu(w, port, &e->src, &e->dst))
		return;
	if (!path_mtu_lowered(w, &e->src, &e->dst) && !take_learning(w, slot))
		return;
	if (!pmtu_lower(&w->pmtu, &flow, mtu, w->now_ms))
		return;
	w->lines[slot].hop[out_leg] = 0;
	sibling = out_leg == TURN_FROM_CLIENT ? turn_icmp_sibling(w->shard, slot) : TURN_NONE;
	if (sibling != TURN_NONE) // both send to the client along one path
		w->lines[sibling].hop[out_leg] = 0;
	w->live.path_mtus++;
}
