// SPDX-License-Identifier: BSD-3-Clause
// Maps relayed transport addresses to workers and slot numbers. A block is 128 ports: 64 slices of
// two. Either one worker owns a whole address, or the workers get its slices in turn, beginning
// with that of the lowest port: so each has its part of a small range, too. The slots of a worker
// on one address are its slices of the first block, then those of the next, and so on.
#include "relayed/relay_map.h"
#include "relayed/vacancy.h"
#include "turn_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SHIFT 7
#define BITMAP_LEN (65536 / 8)

struct slice {
	uint8_t worker; // relative to the worker of slice 0
	uint8_t rank; // its rank among the slices of that worker
	uint8_t nb; // number of slices of that worker
};

// Data of a relay address that a packet to it needs.
struct relay_address {
	uint8_t *listening; // bitmap of the ports of listeners on this address; NULL = no listeners
	uint32_t *base; // the address's first slot in a worker's shard, indexed by slice.worker
	uint8_t worker; // worker of slice 0
	bool cut; // dealt by slices; the index into slice[]
	bool is_v4;
};

// One worker's slots of one address; they begin at base.
struct segment {
	uint32_t base, addr;
};

struct turn_relay_map {
	struct relay_address *address; // per address, in the order of the configuration
	uint16_t port_lo, port_hi;
	uint32_t first_block, nb_blocks;
	uint32_t first_slice; // slice of the lowest port
	struct slice slice[2][TURN_SLICES]; // [0] of a whole address, [1] of a cut one
	// For the control path:
	struct addr *addr;
	uint32_t *by_addr; // indices into addr, sorted by address
	bool *lost; // by address; management writes, workers read
	uint32_t nb_addrs, workers;
	struct segment *segment; // worker by worker, by base
	uint32_t segment_from[TURN_WORKERS_MAX + 1]; // first segment of each worker
	uint32_t slots[TURN_WORKERS_MAX], slots_v4[TURN_WORKERS_MAX];
	uint32_t ports[2]; // ports that can be allocated, [is_v4]
	struct vacancy *vacancies; // by worker, TURN_WORKERS_MAX of them; workers write
	// Number of a worker's addresses that are not lost, [is_v4][worker]; management writes.
	uint32_t *living[2];
	// Memory that address points into.
	uint32_t *bases;
	uint8_t *bitmaps;
	bool shares; // ports are shared: slices have no usable port
#define X(type, field, make, free, home, slots) type *field;
	TURN_MAPS(X)
#undef X
};

static bool bit_is_set(const uint8_t *bitmap, uint16_t port)
{
	return (bitmap[port >> 3] >> (port & 7) & 1) != 0;
}

// --- queries ------------------------------------------------------------------------------------

int turn_relay_map_find(const struct turn_relay_map *m, const struct addr *a)
{
	uint32_t lo = 0, hi = m->nb_addrs;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const int order = addr_cmp(a, &m->addr[m->by_addr[mid]]);

		if (order == 0)
			return (int)m->by_addr[mid];
		if (order < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return -1;
}

static bool port_usable(
	const struct turn_relay_map *m, const struct relay_address *address, uint16_t port)
{
	return port >= m->port_lo && port <= m->port_hi &&
		(address->listening == NULL || !bit_is_set(address->listening, port));
}

// turn_relay_map_home() by the maps of features.
static bool home_shared(const struct turn_relay_map *m, unsigned int addr_index, uint16_t port,
	unsigned int *worker, uint32_t *slot)
{
#define X(type, field, make, free, home, slots)                                 \
	if (m->field != NULL && home(m->field, addr_index, port, worker, slot)) \
		return true;
	TURN_MAPS(X)
#undef X
	return false;
}

bool turn_relay_map_home(const struct turn_relay_map *m, unsigned int addr_index, uint16_t port,
	unsigned int *worker, uint32_t *slot)
{
	const struct relay_address *address = &m->address[addr_index];
	const struct slice *s = &m->slice[address->cut][(port >> 1) % TURN_SLICES];
	uint32_t pair;

	if (!port_usable(m, address, port))
		return home_shared(m, addr_index, port, worker, slot);
	pair = ((uint32_t)(port >> BLOCK_SHIFT) - m->first_block) * s->nb + s->rank;
	*worker = address->worker + s->worker;
	*slot = address->base[s->worker] + pair * 2 + (port & 1);
	return true;
}

bool turn_relay_map_run(
	const struct turn_relay_map *m, unsigned int addr_index, struct turn_relay_map_run *out)
{
	const struct relay_address *address = &m->address[addr_index];

	if (address->cut || address->listening != NULL || m->shares)
		return false;
	*out = (struct turn_relay_map_run){
		.base = address->base[0] - (m->first_block << BLOCK_SHIFT),
		.nb = (uint32_t)m->port_hi - m->port_lo + 1,
		.lo = m->port_lo,
		.worker = address->worker};
	return true;
}

unsigned int turn_relay_map_slice_worker(
	const struct turn_relay_map *m, unsigned int addr_index, unsigned int slice)
{
	const struct relay_address *address = &m->address[addr_index];

	return address->worker + m->slice[address->cut][slice].worker;
}

// Number of slices of an address that belong to a worker.
static uint32_t nb_slices(
	const struct turn_relay_map *m, const struct relay_address *address, unsigned int worker)
{
	if (address->cut)
		return (TURN_SLICES - worker + m->workers - 1) / m->workers;
	return address->worker == worker ? TURN_SLICES : 0;
}

// The slice with this rank among those of a worker.
static uint32_t slice_of(const struct turn_relay_map *m, const struct relay_address *address,
	unsigned int worker, uint32_t rank)
{
	return address->cut ? (m->first_slice + rank * m->workers + worker) % TURN_SLICES : rank;
}

uint32_t turn_relay_map_locate(
	const struct turn_relay_map *m, unsigned int worker, uint32_t slot, uint16_t *port)
{
	uint32_t lo = m->segment_from[worker], hi = m->segment_from[worker + 1];
	const struct relay_address *address;
	uint32_t pair, nb;

	// finds the last segment that begins at the slot or before it
	while (hi - lo > 1) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (m->segment[mid].base <= slot)
			lo = mid;
		else
			hi = mid;
	}
	address = &m->address[m->segment[lo].addr];
	nb = nb_slices(m, address, worker);
	pair = (slot - m->segment[lo].base) >> 1;
	*port = (uint16_t)((m->first_block + pair / nb) << BLOCK_SHIFT |
		slice_of(m, address, worker, pair % nb) << 1 | (slot & 1));
	return m->segment[lo].addr;
}

static void count_living(struct turn_relay_map *m, bool is_v4)
{
	uint32_t nb[TURN_WORKERS_MAX] = {0};

	for (uint32_t a = 0; a < m->nb_addrs; a++)
		for (unsigned int w = 0; w < m->workers && m->address[a].is_v4 == is_v4; w++)
			nb[w] += !m->lost[a] && nb_slices(m, &m->address[a], w) > 0;
	for (unsigned int w = 0; w < m->workers; w++)
		__atomic_store_n(&m->living[is_v4][w], nb[w], __ATOMIC_RELAXED);
}

void turn_relay_map_lose(struct turn_relay_map *m, unsigned int addr_index, bool lost)
{
	__atomic_store_n(&m->lost[addr_index], lost, __ATOMIC_RELAXED);
	count_living(m, m->address[addr_index].is_v4);
}

static int by_addr_cmp(const void *a, const void *b, void *addrs)
{
	const struct addr *addr = addrs;

	return addr_cmp(&addr[*(const uint32_t *)a], &addr[*(const uint32_t *)b]);
}

static void sort_addrs(struct turn_relay_map *m)
{
	qsort_r(m->by_addr, m->nb_addrs, sizeof(*m->by_addr), by_addr_cmp, m->addr);
}

void turn_relay_map_move(struct turn_relay_map *m, unsigned int addr_index, const struct addr *addr)
{
	m->addr[addr_index] = *addr;
	sort_addrs(m);
}

bool relay_map_living(const struct turn_relay_map *m, unsigned int worker, bool is_v4)
{
	return m->shares || __atomic_load_n(&m->living[is_v4][worker], __ATOMIC_RELAXED) > 0;
}

bool turn_relay_map_lost(const struct turn_relay_map *m, uint32_t addr_index)
{
	return __atomic_load_n(&m->lost[addr_index], __ATOMIC_RELAXED);
}

struct addr turn_relay_map_addr(const struct turn_relay_map *m, uint32_t index)
{
	return m->addr[index];
}

bool relay_map_shares(const struct turn_relay_map *m)
{
	return m->shares;
}

#define X(type, field, make, free, home, slots)                       \
	const type *relay_map_##field(const struct turn_relay_map *m) \
	{                                                             \
		return m->field;                                      \
	}
TURN_MAPS(X)
#undef X

uint32_t relay_map_ports(const struct turn_relay_map *m, bool is_v4)
{
	return m->ports[is_v4];
}

struct vacancy *relay_map_vacancies(const struct turn_relay_map *m)
{
	return m->vacancies;
}

uint32_t turn_relay_map_slots(const struct turn_relay_map *m, unsigned int worker)
{
	return m->slots[worker];
}

uint32_t relay_map_slots_v4(const struct turn_relay_map *m, unsigned int worker)
{
	return m->slots_v4[worker];
}

bool turn_relay_map_usable(const struct turn_relay_map *m, unsigned int worker, uint32_t slot)
{
	uint16_t port;
	uint32_t addr;

	if (slot >= m->slots[worker] || m->shares)
		return false;
	addr = turn_relay_map_locate(m, worker, slot, &port);
	return port_usable(m, &m->address[addr], port);
}

// --- making -------------------------------------------------------------------------------------

static void deal_slices(struct turn_relay_map *m)
{
	const struct relay_address cut = {.cut = true};

	for (uint32_t i = 0; i < TURN_SLICES; i++) {
		const uint32_t w = i % m->workers;

		m->slice[false][i] = (struct slice){.rank = (uint8_t)i, .nb = TURN_SLICES};
		m->slice[true][slice_of(m, &cut, w, i / m->workers)] = (struct slice){
			.worker = (uint8_t)w,
			.rank = (uint8_t)(i / m->workers),
			.nb = (uint8_t)nb_slices(m, &cut, w),
		};
	}
}

// Decides which addresses of a family are dealt whole, and to which worker.
static void deal_family(struct turn_relay_map *m, bool is_v4)
{
	uint32_t nb = 0, i = 0;

	for (uint32_t a = 0; a < m->nb_addrs; a++)
		nb += addr_is_v4(&m->addr[a]) == is_v4;
	for (uint32_t a = 0; a < m->nb_addrs; a++) {
		struct relay_address *address = &m->address[a];

		if (addr_is_v4(&m->addr[a]) != is_v4)
			continue;
		address->is_v4 = is_v4;
		address->cut = nb < m->workers;
		address->worker = address->cut ? 0 : (uint8_t)(i++ % m->workers);
	}
}

static int copy_addrs(struct turn_relay_map *m, const struct turn_config *c)
{
	m->nb_addrs = c->nb_relay;
	m->addr = calloc(c->nb_relay + 1, sizeof(*m->addr));
	m->by_addr = calloc(c->nb_relay + 1, sizeof(*m->by_addr));
	m->lost = calloc(c->nb_relay + 1, sizeof(*m->lost));
	m->address = calloc(c->nb_relay + 1, sizeof(*m->address));
	if (m->addr == NULL || m->by_addr == NULL || m->lost == NULL || m->address == NULL)
		return ENOMEM;
	for (uint32_t a = 0; a < c->nb_relay; a++) {
		m->addr[a] = c->relay[a];
		m->by_addr[a] = a;
	}
	sort_addrs(m);
	// if an address were listed twice, each of its ports would have two owners
	for (uint32_t i = 1; i < m->nb_addrs; i++) {
		if (addr_eq(&m->addr[m->by_addr[i - 1]], &m->addr[m->by_addr[i]]))
			return EINVAL;
	}
	return 0;
}

// Numbers the slots of a worker: first those on IPv4 addresses, then those on IPv6.
static int number_slots(struct turn_relay_map *m, unsigned int worker, uint32_t *nb_segments)
{
	uint64_t base = 0;

	for (int is_v4 = 1; is_v4 >= 0; is_v4--) {
		for (uint32_t a = 0; a < m->nb_addrs; a++) {
			struct relay_address *address = &m->address[a];
			const uint32_t nb = nb_slices(m, address, worker);

			if (address->is_v4 != (is_v4 == 1) || nb == 0)
				continue;
			if (base + (uint64_t)m->nb_blocks * nb * 2 >= UINT32_MAX)
				return EINVAL;
			m->segment[(*nb_segments)++] = (struct segment){(uint32_t)base, a};
			address->base[worker - address->worker] = (uint32_t)base;
			base += m->nb_blocks * nb * 2;
		}
		if (is_v4 == 1)
			m->slots_v4[worker] = (uint32_t)base;
	}
	m->slots[worker] = (uint32_t)base;
	m->segment_from[worker + 1] = *nb_segments;
	return 0;
}

static int number_all(struct turn_relay_map *m)
{
	uint32_t nb_bases = 0, nb_segments = 0;
	int err = 0;

	for (uint32_t a = 0; a < m->nb_addrs; a++)
		nb_bases += m->address[a].cut ? m->workers : 1;
	m->bases = calloc(nb_bases + 1, sizeof(*m->bases));
	m->segment = calloc(nb_bases + 1, sizeof(*m->segment));
	if (m->bases == NULL || m->segment == NULL)
		return ENOMEM;
	nb_bases = 0;
	for (uint32_t a = 0; a < m->nb_addrs; a++) {
		m->address[a].base = &m->bases[nb_bases];
		nb_bases += m->address[a].cut ? m->workers : 1;
	}
	for (unsigned int w = 0; w < m->workers && err == 0; w++)
		err = number_slots(m, w, &nb_segments);
	return err;
}

// Index of the relay address of a listener, if the listener takes a relay port there; else -1.
static int find_taken_addr(const struct turn_relay_map *m, const struct turn_listener *l)
{
	if (l->endpoint.port < m->port_lo || l->endpoint.port > m->port_hi)
		return -1;
	return turn_relay_map_find(m, &l->endpoint.addr);
}

// Makes a bitmap for each address that has a listener inside the relay port range: most have no
// listener.
static int mark_listeners(struct turn_relay_map *m, const struct turn_config *c)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < c->nb_listeners; i++)
		nb += find_taken_addr(m, &c->listeners[i]) >= 0;
	m->bitmaps = calloc(nb + 1, BITMAP_LEN);
	if (m->bitmaps == NULL)
		return ENOMEM;
	nb = 0;
	for (uint32_t i = 0; i < c->nb_listeners; i++) {
		const int a = find_taken_addr(m, &c->listeners[i]);
		const uint16_t port = c->listeners[i].endpoint.port;

		if (a < 0)
			continue;
		if (m->address[a].listening == NULL)
			m->address[a].listening = &m->bitmaps[(size_t)nb++ * BITMAP_LEN];
		m->address[a].listening[port >> 3] |= (uint8_t)(1 << (port & 7));
	}
	return 0;
}

static void count_ports(struct turn_relay_map *m)
{
	for (uint32_t a = 0; a < m->nb_addrs; a++) {
		const struct relay_address *address = &m->address[a];

		m->ports[address->is_v4] += (uint32_t)m->port_hi - m->port_lo + 1;
		for (uint32_t i = 0; address->listening != NULL && i < BITMAP_LEN; i++)
			m->ports[address->is_v4] -=
				(uint32_t)__builtin_popcount(address->listening[i]);
	}
}

// Makes the parts that change while the process lives.
static int make_changing(struct turn_relay_map *m)
{
	m->vacancies =
		aligned_alloc(_Alignof(struct vacancy), TURN_WORKERS_MAX * sizeof(*m->vacancies));
	m->living[0] = calloc((size_t)2 * TURN_WORKERS_MAX, sizeof(*m->living[0]));
	if (m->vacancies == NULL || m->living[0] == NULL)
		return ENOMEM;
	memset(m->vacancies, 0, TURN_WORKERS_MAX * sizeof(*m->vacancies));
	m->living[1] = m->living[0] + TURN_WORKERS_MAX;
	count_living(m, true);
	count_living(m, false);
	return 0;
}

// Makes the maps of features. If one is used, the slices have no ports.
static int make_shared(struct turn_relay_map *m, const struct turn_config *c)
{
	uint32_t nb_slots = 0;
	int err = 0;

#define X(type, field, make, free, home, slots) \
	if (err == 0)                           \
		err = make(&m->field, c);       \
	if (m->field != NULL) {                 \
		m->shares = true;               \
		nb_slots = slots(c);            \
	}
	TURN_MAPS(X)
#undef X
	if (!m->shares)
		return err;
	m->port_lo = UINT16_MAX;
	m->port_hi = 0;
	for (unsigned int w = 0; w < m->workers; w++)
		m->slots[w] = nb_slots;
	return err;
}

static int build_map(struct turn_relay_map *m, const struct turn_config *c)
{
	int err;

	if (c->workers == 0 || c->workers > TURN_WORKERS_MAX || c->port_lo == 0 ||
		c->port_lo > c->port_hi)
		return EINVAL;
	m->workers = c->workers;
	m->port_lo = c->port_lo;
	m->port_hi = c->port_hi;
	m->first_block = c->port_lo >> BLOCK_SHIFT;
	m->first_slice = (c->port_lo >> 1) % TURN_SLICES;
	m->nb_blocks = (c->port_hi >> BLOCK_SHIFT) - m->first_block + 1;
	deal_slices(m);
	err = copy_addrs(m, c);
	if (err != 0)
		return err;
	deal_family(m, true);
	deal_family(m, false);
	err = number_all(m);
	if (err == 0)
		err = mark_listeners(m, c);
	if (err == 0)
		err = make_changing(m);
	if (err == 0)
		err = make_shared(m, c);
	if (err == 0 && !m->shares)
		count_ports(m);
	return err;
}

struct turn_relay_map *turn_relay_map_create(const struct turn_config *c)
{
	struct turn_relay_map *m = calloc(1, sizeof(*m));
	int err;

	if (m == NULL)
		return NULL;
	err = build_map(m, c);
	if (err != 0) {
		turn_relay_map_free(m);
		errno = err;
		return NULL;
	}
	return m;
}

void turn_relay_map_free(struct turn_relay_map *m)
{
	if (m == NULL)
		return;
	free(m->address);
	free(m->addr);
	free(m->by_addr);
	free(m->lost);
	free(m->vacancies);
	free(m->living[0]);
	free(m->segment);
	free(m->bases);
	free(m->bitmaps);
#define X(type, field, make, free, home, slots) free(m->field);
	TURN_MAPS(X)
#undef X
	free(m);
}
