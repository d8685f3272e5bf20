// SPDX-License-Identifier: BSD-3-Clause
// Makes state areas, and checks if a block of bytes is one.
#include "state/area.h"
#include "relayed/relay_map.h"
#include "shard.h"

static const char *const refusals[] = {
#define X(id, text) [id] = text,
	TURN_STATE_REFUSALS(X)
#undef X
};

const char *turn_state_refusal_text(unsigned int refusal)
{
	return refusal < TURN_STATE_REFUSAL_END ? refusals[refusal] : NULL;
}

// --- making -------------------------------------------------------------------------------------

static uint64_t take_part(uint64_t *used, uint64_t each, uint64_t nb)
{
	const uint64_t offset = *used;

	*used += (each * nb + 63) & ~UINT64_C(63);
	return offset;
}

// Offsets and sizes of a worker's records.
static struct state_part part_make(const struct turn_config *c, const struct turn_relay_map *map,
	uint8_t worker, uint64_t *used)
{
	const struct turn_shard_params params = {.config = c, .map = map, .worker = worker};
	const struct turn_pools pools = turn_shard_pools(&params);
	struct state_part p = {.nb_slots = turn_relay_map_slots(map, worker)};
	const struct share permissions = {
		.sure = pools.sure_permissions, .size = pools.permissions};
	const struct share channels = {.sure = pools.sure_channels, .size = pools.channels};

	p.nb_permissions = share_records(&permissions, p.nb_slots);
	p.nb_channels = share_records(&channels, p.nb_slots);
#define X(bind, has, gone, records, put) p.nb_endpoints += records(&params);
	TURN_REGISTERED(X)
#undef X
	p.alloc_at = take_part(used, sizeof(struct state_alloc), p.nb_slots);
	p.usage_at = take_part(used, sizeof(struct usage), p.nb_slots);
	p.permission_at = take_part(used, sizeof(struct state_permission), p.nb_permissions);
	p.channel_at = take_part(used, sizeof(struct state_channel), p.nb_channels);
	p.endpoint_at = take_part(used, sizeof(struct state_channel), p.nb_endpoints);
	return p;
}

// Offsets of the tables. Sets h->size to the end of them.
static void header_make(struct state_header *h, const struct turn_config *c, bool shared)
{
	uint64_t used = sizeof(*h);

	*h = (struct state_header){.magic = STATE_MAGIC,
		.layout = TURN_STATE_LAYOUT,
		.workers = c->workers,
		.layout_digest = turn_state_digest(),
		.nb_listeners = c->nb_listeners,
		.nb_relay = c->nb_relay,
		.shared = shared};
	h->listeners_at = take_part(&used, sizeof(struct state_listener), c->nb_listeners);
	h->relay_at = take_part(&used, sizeof(struct addr), c->nb_relay);
	h->parts_at = take_part(&used, sizeof(struct state_part), c->workers);
	h->size = used;
}

size_t turn_state_size(const struct turn_config *c, const struct turn_relay_map *map)
{
	struct state_header h;

	header_make(&h, c, relay_map_shares(map));
	for (unsigned int w = 0; w < c->workers; w++)
		part_make(c, map, (uint8_t)w, &h.size);
	return h.size;
}

uint64_t state_header_check(const struct state_header *h)
{
	static const struct hash_key key = {{0x7274730a, 0x61746573, 0x0d0a1a0a, 1}};
	const uint64_t tables = h->parts_at + h->workers * sizeof(struct state_part);
	uint64_t sum = hash_bytes(&key, h, offsetof(struct state_header, check));

	sum ^= hash_bytes(&key, &h->listeners_at,
		offsetof(struct state_header, offset) -
			offsetof(struct state_header, listeners_at));
	return sum ^ hash_bytes(&key, h + 1, tables - sizeof(*h));
}

static void write_tables(struct state_header *h, const struct turn_config *c)
{
	struct state_listener *listener = (struct state_listener *)state_at(h, h->listeners_at);

	for (uint32_t i = 0; i < c->nb_listeners; i++)
		listener[i] = (struct state_listener){.addr = c->listeners[i].endpoint.addr,
			.port = c->listeners[i].endpoint.port,
			.transport = c->listeners[i].transport};
	memcpy((void *)state_relay(h, 0), c->relay, c->nb_relay * sizeof(*c->relay));
}

struct turn_state *turn_state_create(void *mem, const struct turn_state_new *n)
{
	const struct turn_config *c = n->config;
	struct turn_state *a = mem;
	struct state_header *h = &a->header;
	struct state_part *part;

	header_make(h, c, relay_map_shares(n->map));
	part = (struct state_part *)state_at(h, h->parts_at);
	write_tables(h, c);
	for (uint32_t w = 0; w < c->workers; w++)
		part[w] = part_make(c, n->map, (uint8_t)w, &h->size);
	if (n->before != NULL)
		h->life = (((const struct state_header *)n->before)->life + 1) & STATE_LIFE_MASK;
	memcpy(h->version, n->version, strnlen(n->version, sizeof(h->version) - 1));
	memcpy(h->boot_id, n->boot_id, sizeof(h->boot_id));
	h->keys = *n->keys;
	csprng_bytes(n->rng, &h->record_key, sizeof(h->record_key));
	turn_state_clock(a, n->boot_ms, n->clock_ms);
	h->check = state_header_check(h);
	return a;
}

void turn_state_move(struct turn_state *a, const struct turn_config *c)
{
	write_tables(&a->header, c);
	a->header.check = state_header_check(&a->header);
}

void turn_state_seal(struct turn_state *a)
{
	__atomic_store_n(&a->header.sealed, 1, __ATOMIC_RELEASE);
}

void turn_state_clock(struct turn_state *a, uint64_t boot_ms, uint64_t clock_ms)
{
	__atomic_store_n(&a->header.offset, boot_ms - clock_ms, __ATOMIC_RELAXED);
	__atomic_store_n(&a->header.alive_ms, boot_ms, __ATOMIC_RELAXED);
}

void state_open(struct turn_shard *s, struct turn_state *area)
{
	const struct state_header *h = &area->header;
	const struct state_part *p = state_part(h, s->worker);
	uint8_t *base = (uint8_t *)area;

	s->usage = (struct usage *)(base + p->usage_at);
	s->state = (struct state_writer){.alloc = (struct state_alloc *)(base + p->alloc_at),
		.permission = (struct state_permission *)(base + p->permission_at),
		.channel = (struct state_channel *)(base + p->channel_at),
		.endpoint = (struct state_channel *)(base + p->endpoint_at),
		.offset = &h->offset,
		.key = h->record_key,
		.numbers = (h->life & STATE_LIFE_MASK) << STATE_LIFE_SHIFT};
}

// --- checking -----------------------------------------------------------------------------------

// True if nb objects of a size lie within an area, after its header.
static bool lies_in(const struct state_header *h, uint64_t offset, uint64_t each, uint64_t nb)
{
	return offset % 8 == 0 && offset >= sizeof(*h) && offset <= h->size &&
		nb * each <= h->size - offset;
}

static bool part_fits(const struct state_header *h, const struct state_part *p)
{
	return lies_in(h, p->alloc_at, sizeof(struct state_alloc), p->nb_slots) &&
		lies_in(h, p->usage_at, sizeof(struct usage), p->nb_slots) &&
		lies_in(h, p->permission_at, sizeof(struct state_permission), p->nb_permissions) &&
		lies_in(h, p->channel_at, sizeof(struct state_channel), p->nb_channels) &&
		lies_in(h, p->endpoint_at, sizeof(struct state_channel), p->nb_endpoints);
}

// True if header and tables are as turn_state_create makes them. The checksum detects damage. In
// addition, nothing in them may point outside the area.
static bool header_fits(const struct state_header *h)
{
	if (h->workers == 0 || h->workers > TURN_WORKERS_MAX || h->nb_listeners > UINT8_MAX ||
		h->nb_relay > TURN_SOURCES_MAX || h->shared > 1 ||
		!lies_in(h, h->listeners_at, sizeof(struct state_listener), h->nb_listeners) ||
		!lies_in(h, h->relay_at, sizeof(struct addr), h->nb_relay) ||
		!lies_in(h, h->parts_at, sizeof(struct state_part), h->workers) ||
		state_header_check(h) != h->check || h->version[sizeof(h->version) - 1] != 0)
		return false;
	for (unsigned int w = 0; w < h->workers; w++)
		if (!part_fits(h, state_part(h, w)))
			return false;
	return true;
}

enum turn_state_refusal turn_state_check(
	const void *mem, size_t size, const uint8_t boot_id[TURN_STATE_BOOT_ID_LEN])
{
	const struct state_header *h = mem;

	if (size < offsetof(struct state_header, layout) ||
		memcmp(h->magic, STATE_MAGIC, sizeof(h->magic)) != 0)
		return TURN_STATE_FOREIGN;
	if (size < offsetof(struct state_header, check))
		return TURN_STATE_TRUNCATED;
	// layout and digest have the same offset in every layout
	if (h->layout != TURN_STATE_LAYOUT || h->layout_digest != turn_state_digest())
		return TURN_STATE_LAYOUT_OTHER;
	if (size < sizeof(*h) || h->size > size)
		return TURN_STATE_TRUNCATED;
	if (!header_fits(h))
		return TURN_STATE_DAMAGED;
	if (h->sealed != 1)
		return TURN_STATE_UNFINISHED;
	return memcmp(h->boot_id, boot_id, sizeof(h->boot_id)) == 0 ? TURN_STATE_GOOD
								    : TURN_STATE_OTHER_BOOT;
}

void turn_state_keys_of(const void *mem, struct turn_state_keys *out)
{
	*out = ((const struct state_header *)mem)->keys;
}

void turn_state_about(const void *mem, struct turn_state_about *out)
{
	const struct state_header *h = mem;

	*out = (struct turn_state_about){.boot_ms = h->alive_ms, .workers = h->workers};
	memcpy(out->version, h->version, sizeof(out->version));
	for (unsigned int w = 0; w < h->workers; w++)
		out->slots += state_part(h, w)->nb_slots;
}
