// SPDX-License-Identifier: BSD-3-Clause
// Maps shared relay addresses to workers. The addresses of a family, without the ports of
// listeners, are dealt one by one: every worker has some if there are at least as many addresses as
// workers.
#include "features/shared/shared_map.h"
#include "invariant.h"
#include "turn_config.h"

#include <errno.h>
#include <stdlib.h>

#define LISTENS UINT16_MAX // in place of a number: a listener uses this address
#define SPARE_SLOTS 1024 // slots of a worker beyond one and a half times its share

struct home {
	uint16_t number; // index among the worker's addresses
	uint8_t worker;
};

struct shared_map {
	struct home *home; // for (address, port) at address * nb_ports + port - port_lo
	uint32_t nb, nb_ports; // entries of home, ports per address
	uint16_t port_lo;
	uint32_t *by_number; // indices into home, worker by worker
	uint32_t first[TURN_WORKERS_MAX + 1]; // first entry of each worker
	uint8_t *is_v4; // by address
};

bool shared_map_home(const struct shared_map *m, unsigned int addr, uint16_t port,
	unsigned int *worker, uint32_t *number)
{
	const uint32_t offset = (uint32_t)port - m->port_lo; // a large number below port_lo
	const struct home *h;

	if (offset >= m->nb_ports)
		return false;
	h = &m->home[addr * m->nb_ports + offset];
	*worker = h->worker;
	*number = h->number;
	return h->number != LISTENS;
}

uint32_t shared_map_count(const struct shared_map *m, unsigned int worker)
{
	return m->first[worker + 1] - m->first[worker];
}

struct shared_relayed shared_map_relayed(
	const struct shared_map *m, unsigned int worker, uint32_t number)
{
	const uint32_t i = m->by_number[m->first[worker] + number];

	ASSERT(number < shared_map_count(m, worker));
	ASSERT(m->home[i].worker == worker && m->home[i].number == number);
	return (struct shared_relayed){.addr = i / m->nb_ports,
		.port = (uint16_t)(m->port_lo + i % m->nb_ports),
		.is_v4 = m->is_v4[i / m->nb_ports]};
}

uint32_t turn_shared_slots(const struct turn_config *c)
{
	const uint64_t all = c->limits.allocations;
	const uint64_t share = all / c->workers * 3 / 2 + SPARE_SLOTS;

	return (uint32_t)(share < all ? share : all);
}

static bool is_listener(const struct turn_config *c, const struct addr *a, uint16_t port)
{
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		if (c->listeners[i].endpoint.port == port &&
			addr_eq(&c->listeners[i].endpoint.addr, a))
			return true;
	return false;
}

// Deals the addresses of a family to the workers. Returns 0, or EINVAL if the family has relay
// addresses but a worker gets no address.
static int deal_addrs(
	struct shared_map *m, const struct turn_config *c, bool is_v4, uint16_t *count)
{
	uint32_t dealt = 0;
	bool any = false;

	for (uint32_t i = 0; i < m->nb; i++) {
		const struct addr *a = &c->relay[i / m->nb_ports];
		const uint16_t port = (uint16_t)(m->port_lo + i % m->nb_ports);

		if (addr_is_v4(a) != is_v4)
			continue;
		any = true;
		m->home[i].number = LISTENS;
		if (is_listener(c, a, port))
			continue;
		m->home[i].worker = (uint8_t)(dealt++ % c->workers);
		m->home[i].number = count[m->home[i].worker]++;
	}
	return any && dealt < c->workers ? EINVAL : 0;
}

static int fill_map(struct shared_map *m, const struct turn_config *c)
{
	uint16_t count[TURN_WORKERS_MAX] = {0};
	int err = deal_addrs(m, c, true, count);

	if (err == 0)
		err = deal_addrs(m, c, false, count);
	for (unsigned int w = 0; w < c->workers; w++)
		m->first[w + 1] = m->first[w] + count[w];
	for (uint32_t i = 0; i < m->nb; i++)
		if (m->home[i].number != LISTENS)
			m->by_number[m->first[m->home[i].worker] + m->home[i].number] = i;
	for (uint32_t a = 0; a < c->nb_relay; a++)
		m->is_v4[a] = addr_is_v4(&c->relay[a]);
	return err;
}

static int build_map(struct shared_map *m, const struct turn_config *c)
{
	const uint32_t nb_ports = (uint32_t)c->port_hi - c->port_lo + 1;
	const uint64_t nb = (uint64_t)c->nb_relay * nb_ports;

	if (nb == 0 || nb > TURN_SHARED_MAX || c->limits.allocations == 0)
		return EINVAL;
	m->nb = (uint32_t)nb;
	m->nb_ports = nb_ports;
	m->port_lo = c->port_lo;
	m->home = calloc(nb, sizeof(*m->home));
	m->by_number = calloc(nb, sizeof(*m->by_number));
	m->is_v4 = calloc(c->nb_relay, sizeof(*m->is_v4));
	if (m->home == NULL || m->by_number == NULL || m->is_v4 == NULL)
		return ENOMEM;
	return fill_map(m, c);
}

int shared_map_create(struct shared_map **out, const struct turn_config *c)
{
	if (!c->shared.enabled)
		return 0;
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? build_map(*out, c) : ENOMEM;
}

void shared_map_free(struct shared_map *m)
{
	if (m == NULL)
		return;
	free(m->home);
	free(m->by_number);
	free(m->is_v4);
	free(m);
}
