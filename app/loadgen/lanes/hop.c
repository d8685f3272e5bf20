// SPDX-License-Identifier: BSD-3-Clause
// Next hops: the server, the relayed transport addresses, or the gateways that lead to them. They
// are few. Each gets ARP or ND requests until it answers. There is no neighbour unreachability
// detection.
#include "lanes/hop.h"

#include <stdio.h>

#include "lanes/lane.h"

#define TICK_MS 100
#define ASK_MS 500 // between two requests for an unknown MAC
#define CONFIRM_MS 20000 // between two requests for a known one, to notice when it changes

static const struct side *side_of(const struct engine *e, unsigned int side)
{
	return side == SIDE_CLIENT ? &e->config->client : &e->config->peer;
}

static uint32_t count_hops(const struct engine *e)
{
	return __atomic_load_n(&e->nb_hops, __ATOMIC_ACQUIRE);
}

static uint16_t find_hop(const struct engine *e, unsigned int side, const struct addr *target)
{
	const uint32_t n = count_hops(e);

	for (uint32_t i = 0; i < n; i++)
		if (e->hop[i].side == side && addr_eq(&e->hop[i].target, target))
			return (uint16_t)i;
	return HOP_NONE;
}

// The MAC of one of our addresses on the same port is known: some virtual ports cannot answer.
static uint64_t own_mac(const struct engine *e, unsigned int side, const struct addr *target)
{
	uint64_t value = HOP_KNOWN;

	for (unsigned int i = 0; i < SIDE_NB; i++) {
		if (e->port[i] != e->port[side] || !side_has(side_of(e, i), target))
			continue;
		memcpy(&value, e->port[i]->mac, 6);
		return value;
	}
	return 0;
}

uint16_t hop_to(struct engine *e, unsigned int side, const struct addr *dst)
{
	static const struct addr none;
	const struct side *s = side_of(e, side);
	const struct prefix link = {.addr = *dst, .len = s->prefix_len};
	const struct addr *target = dst;
	uint16_t hop;

	// dst is on the link when its prefix, at the link's length, contains our own address
	if (!addr_prefix_contains(&link, &s->addrs.lo))
		target = &s->gateway;
	if (addr_eq(target, &none) || addr_is_v4(target) != addr_is_v4(dst))
		return HOP_NONE;
	hop = find_hop(e, side, target);
	if (hop != HOP_NONE)
		return hop;
	rte_spinlock_lock(&e->hop_lock);
	hop = find_hop(e, side, target); // another lane may have added it meanwhile
	if (hop == HOP_NONE && e->nb_hops < HOPS_MAX) {
		hop = (uint16_t)e->nb_hops;
		e->hop[hop] = (struct hop){
			.target = *target, .side = (uint8_t)side, .mac = own_mac(e, side, target)};
		__atomic_store_n(&e->nb_hops, hop + 1u, __ATOMIC_RELEASE);
	}
	rte_spinlock_unlock(&e->hop_lock);
	return hop;
}

void hop_learn(struct engine *e, unsigned int side, const struct addr *addr, const uint8_t mac[6])
{
	static const uint8_t none[6];
	const uint32_t n = count_hops(e);
	uint64_t value = HOP_KNOWN;

	if (memcmp(mac, none, 6) == 0)
		return; // a neighbour advertisement may come without the option
	memcpy(&value, mac, 6);
	for (uint32_t i = 0; i < n; i++)
		if (e->port[e->hop[i].side] == e->port[side] && addr_eq(&e->hop[i].target, addr))
			__atomic_store_n(&e->hop[i].mac, value, __ATOMIC_RELAXED);
}

static void request_mac(struct lane *l, struct hop *h)
{
	struct engine *e = l->engine;
	struct rte_mbuf *m = lane_alloc(l);
	uint16_t len;

	if (m == NULL)
		return;
	len = (uint16_t)net_write_ask(rte_pktmbuf_mtod(m, uint8_t *), &e->l2[h->side],
		&side_of(e, h->side)->addrs.lo, &h->target, NULL);
	m->data_len = len;
	m->pkt_len = len;
	lane_put(l, h->side, m, FRAME_CONTROL, 0);
	h->asked_ms = l->now_ms;
}

void hop_tick(struct lane *l)
{
	struct engine *e = l->engine;
	const uint32_t n = count_hops(e);

	if (l->now_ms < l->asked_ms + TICK_MS)
		return;
	l->asked_ms = l->now_ms;
	for (uint32_t i = 0; i < n; i++) {
		struct hop *h = &e->hop[i];
		const bool known = __atomic_load_n(&h->mac, __ATOMIC_RELAXED) != 0;

		if (h->asked_ms == 0 || l->now_ms >= h->asked_ms + (known ? CONFIRM_MS : ASK_MS))
			request_mac(l, h);
	}
}

bool hop_missing(const struct engine *e, char *text, size_t len)
{
	const uint32_t n = count_hops(e);
	char addr[ADDR_TEXT_LEN];

	for (uint32_t i = 0; i < n; i++) {
		if (__atomic_load_n(&e->hop[i].mac, __ATOMIC_RELAXED) != 0)
			continue;
		snprintf(text, len, "%s on the %s port %s",
			addr_format(&e->hop[i].target, addr, sizeof(addr)),
			e->hop[i].side == SIDE_CLIENT ? "clients'" : "peers'",
			e->port[e->hop[i].side]->name);
		return true;
	}
	return false;
}
