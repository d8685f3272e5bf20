// SPDX-License-Identifier: BSD-3-Clause
// Relay ports for TCP, and the numbers of connections.
#include "features/tcp/tcp_table.h"
#include "csprng.h"
#include "invariant.h"
#include "relayed/relay_map.h"
#include "relayed/relayed.h"
#include "shard.h"
#include "features/tcp/tcp_usage.h"

uint32_t tcp_table_ports(const struct turn_shard_params *p)
{
	const struct turn_config *c = p->config;
	const uint32_t n =
		c->tcp.ports_hi != 0 ? (uint32_t)c->tcp.ports_hi - c->tcp.ports_lo + 1 : 0;

	if (!c->tcp.enabled || n <= p->worker)
		return 0;
	return (n - p->worker - 1) / c->workers + 1;
}

size_t tcp_table_size(const struct turn_shard_params *p, uint32_t permissions)
{
	const uint32_t nb = tcp_table_ports(p);

	return nb > 0 ? nb * (sizeof(struct tcp_port) + sizeof(uint32_t)) + share_size(nb) : 0;
}

// Publishes the number of free ports to the other workers.
static void tell_vacancy(const struct turn_shard *s)
{
	struct vacancy *v = &relay_map_vacancies(s->map)[s->worker];

	__atomic_store_n(&v->tcp, s->tcp.free, __ATOMIC_RELAXED);
}

void tcp_table_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p)
{
	const struct turn_config *c = p->config;
	struct tcp_table *t = &s->tcp;

	t->nb = t->free = tcp_table_ports(p);
	t->port = mem;
	t->rest = (uint32_t *)(t->port + t->nb);
	if (t->nb > 0) {
		t->share = share_part(0, t->nb, turn_shard_pools(p).per_user);
		share_init(&t->share, t->rest + t->nb, t->nb);
	}
	tell_vacancy(s);
	t->port_lo = c->tcp.ports_lo;
	t->port_hi = c->tcp.ports_hi;
	t->on = c->tcp.enabled;
	for (uint32_t i = 0; i < t->nb; i++)
		t->rest[i] = i;
}

bool tcp_is_on(const struct turn_shard *s)
{
	return s->tcp.on;
}

// The indexes count the ports of all workers.
static uint32_t index_of(const struct turn_shard *s, uint32_t i)
{
	return i * s->workers + s->worker;
}

static struct tcp_port *find_port(const struct turn_shard *s, uint32_t port_index)
{
	return &s->tcp.port[port_index / s->workers];
}

enum turn_refusal tcp_table_take(struct turn_shard *s, uint64_t user, uint32_t *port_index)
{
	struct tcp_table *t = &s->tcp;

	if (t->free == 0)
		return TURN_REFUSED_NO_PORT;
	if (!share_fits(&t->share, user, 0, 1))
		return TURN_REFUSED_PORT_SHARE;
	ASSERT(t->free <= t->nb && t->rest[t->first] < t->nb);
	ASSERT(t->port[t->rest[t->first]].allocation == 0);
	share_take(&t->share, user, 0);
	*port_index = index_of(s, t->rest[t->first]);
	t->first = (t->first + 1) % t->nb;
	t->free--;
	tell_vacancy(s);
	return TURN_GRANTED;
}

void tcp_table_give(struct turn_shard *s, uint32_t port_index, uint64_t user)
{
	struct tcp_table *t = &s->tcp;

	ASSERT(t->free < t->nb && port_index % s->workers == s->worker);
	ASSERT(find_port(s, port_index)->allocation == 0);
	share_give(&t->share, user, 1);
	share_round(&t->share); // the port may be allocated again at once
	t->rest[(t->first + t->free++) % t->nb] = port_index / s->workers;
	tell_vacancy(s);
}

// A TCP allocation has no copy of a peer, so the peer's part of its line is free.
void tcp_table_begin(struct turn_shard *s, uint32_t slot, uint32_t port_index)
{
	struct turn_line *l = alloc_at(s, slot);
	uint16_t port;

	line_set_state(l, ALLOC_TCP);
	l->mark[TURN_FROM_PEER] = relayed_locate(s, slot, &port) << 16;
	l->relay_port = __builtin_bswap16((uint16_t)(s->tcp.port_lo + port_index));
	l->end[TURN_FROM_PEER].d[0] = port_index;
}

uint32_t tcp_table_port_index(const struct turn_shard *s, uint32_t slot)
{
	return (uint32_t)alloc_at(s, slot)->end[TURN_FROM_PEER].d[0];
}

void tcp_table_made(struct turn_shard *s, uint32_t slot)
{
	struct tcp_port *p = find_port(s, tcp_table_port_index(s, slot));

	ASSERT(p->allocation == 0 && alloc_is_tcp(s, slot));
	p->slot = slot;
	__atomic_store_n(&p->connections, 0, __ATOMIC_RELAXED);
	tcp_usage_begin(s, p);
	__atomic_store_n(&p->allocation, alloc_id(s, slot), __ATOMIC_RELEASE);
}

void tcp_table_close(struct turn_shard *s, uint32_t slot)
{
	ASSERT(find_port(s, tcp_table_port_index(s, slot))->allocation == alloc_id(s, slot));
	ASSERT(find_port(s, tcp_table_port_index(s, slot))->slot == slot);
	__atomic_store_n(
		&find_port(s, tcp_table_port_index(s, slot))->allocation, 0, __ATOMIC_RELEASE);
	tcp_usage_end(s, slot);
}

void tcp_table_end(struct turn_shard *s, uint32_t slot, uint64_t user)
{
	tcp_table_give(s, tcp_table_port_index(s, slot), user);
}

uint32_t tcp_table_at(const struct turn_shard *s, uint16_t port)
{
	return port >= s->tcp.port_lo && port <= s->tcp.port_hi ? (uint32_t)port - s->tcp.port_lo
								: TURN_NONE;
}

void tcp_table_show(const struct turn_shard *s, uint32_t slot, struct turn_info *out)
{
	if (alloc_is_tcp(s, slot))
		out->connections =
			__atomic_load_n(&find_port(s, tcp_table_port_index(s, slot))->connections,
				__ATOMIC_RELAXED);
}

uint32_t tcp_table_slot(const struct turn_shard *s, uint32_t port_index, uint64_t allocation)
{
	return turn_tcp_table_lives(s, port_index, allocation) ? find_port(s, port_index)->slot
							       : TURN_NONE;
}

bool turn_tcp_table_lives(const struct turn_shard *s, uint32_t port_index, uint64_t allocation)
{
	return allocation != 0 && port_index / s->workers < s->tcp.nb &&
		__atomic_load_n(&find_port(s, port_index)->allocation, __ATOMIC_ACQUIRE) ==
		allocation;
}

void turn_tcp_table_counted(
	struct turn_shard *s, uint32_t port_index, uint64_t allocation, uint32_t connections)
{
	if (turn_tcp_table_lives(s, port_index, allocation))
		__atomic_store_n(
			&find_port(s, port_index)->connections, connections, __ATOMIC_RELAXED);
}

uint32_t tcp_table_number(struct turn_shard *s)
{
	uint32_t id;

	do
		csprng_bytes(s->rng, &id, sizeof(id));
	while (id == 0); // 0 means no connection
	return id;
}
