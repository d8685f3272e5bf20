// SPDX-License-Identifier: BSD-3-Clause
// Servers that start and die over one state area.
#include "restart_world.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define BOOT_MS UINT64_C(77000000) // time that the machine was up before the first server

static void *private_memory(size_t size)
{
	void *mem = aligned_alloc(64, (size + 63) & ~(size_t)63);

	assert_non_null(mem);
	memset(mem, 0, size);
	return mem;
}

static void *shared_memory(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

static struct turn_state *area_make(
	struct restart *r, const struct turn_config *c, size_t *size, void *memory(size_t))
{
	struct turn_relay_map *map = turn_relay_map_create(c);
	struct csprng rng;
	const struct turn_state_new n = {.config = c,
		.map = map,
		.keys = &r->keys,
		.before = r->area,
		.rng = &rng,
		.boot_id = r->boot_id,
		.version = "test",
		.boot_ms = r->boot_ms,
		.clock_ms = FIXTURE_NOW_MS};
	void *mem;

	assert_non_null(map);
	csprng_init(&rng, test_rand_source, &r->rand);
	*size = turn_state_size(c, map);
	mem = memory(*size);
	turn_state_create(mem, &n);
	turn_relay_map_free(map);
	return mem;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned int home_of(void *ctx, const struct endpoint *client, uint8_t listener)
{
	const struct restart *r = ctx;

	return turn_client_home(turn_client_hash(&r->keys.clients, &client->addr,
					client->port | (uint32_t)listener << 16),
		r->nb);
}

static void note_progress(void *ctx, uint64_t done, uint64_t all)
{
	assert_true(done <= all);
	((struct restart *)ctx)->progress = done;
}

static struct turn_state_adoption adoption(
	struct restart *r, const void *area, const struct turn_config *c)
{
	return (struct turn_state_adoption){.area = area,
		.boot_ms = r->boot_ms,
		.clock_ms = FIXTURE_NOW_MS,
		.wall_s = r->wall_s,
		.config = c,
		.home = home_of,
		.progress = note_progress,
		.ctx = r};
}

// Makes the workers, each with this number of redirects.
static void workers_open(struct restart *r, const struct turn_config *c, uint32_t redirects)
{
	const struct turn_shard_params sizes = {
		.state = r->area, .client_key = &r->keys.clients, .redirects = redirects};

	fixture_open_sized(&r->worker[0], c, &sizes, test_rand(&r->rand));
	for (unsigned int w = 1; w < r->nb; w++)
		fixture_open_worker(&r->worker[w], &r->worker[0], (uint8_t)w);
	for (unsigned int w = 0; w < r->nb; w++) {
		r->worker[w].wall_s = r->wall_s;
		r->worker[w].tids = ++r->lives << 20; // transaction ids are never repeated
		fixture_advance(&r->worker[w], 0);
	}
}

static void open_in(
	struct restart *r, const struct turn_config *c, uint64_t seed, void *memory(size_t))
{
	*r = (struct restart){
		.rand = {seed}, .nb = c->workers, .boot_ms = BOOT_MS, .wall_s = FIXTURE_WALL_S};
	assert_in_range(r->nb, 1, RESTART_WORKERS);
	test_rand_fill(&r->rand, &r->keys, sizeof(r->keys));
	test_rand_fill(&r->rand, r->boot_id, sizeof(r->boot_id));
	r->area = area_make(r, c, &r->size, memory);
	workers_open(r, c, 0);
	turn_state_seal(r->area);
}

void restart_open(struct restart *r, const struct turn_config *c, uint64_t seed)
{
	open_in(r, c, seed, private_memory);
}

void restart_open_shared(struct restart *r, const struct turn_config *c, uint64_t seed)
{
	open_in(r, c, seed, shared_memory);
	r->shared = true;
}

void restart_look(const struct restart *r, const void *mem, struct restart *out)
{
	*out = (struct restart){.size = r->size,
		.boot_ms = r->boot_ms,
		.wall_s = r->wall_s,
		.area = private_memory(r->size),
		.rand = {1}};
	memcpy(out->boot_id, r->boot_id, sizeof(out->boot_id));
	memcpy(out->area, mem, r->size);
	restart_up(out, &r->worker[0].config, 0);
}

void restart_die(struct restart *r)
{
	for (unsigned int w = r->nb; w-- > 0;)
		fixture_forget(&r->worker[w]);
}

void restart_up(struct restart *r, const struct turn_config *c, uint64_t gone_ms)
{
	struct turn_state *old = r->area;
	struct turn_shard *shards[RESTART_WORKERS];
	struct turn_state_adoption a;
	uint32_t redirects[TURN_WORKERS_MAX], most = 0;
	struct turn_relay_map *map = turn_relay_map_create(c);

	assert_non_null(map);
	r->wall_s += (r->boot_ms % 1000 + gone_ms) / 1000;
	r->boot_ms += gone_ms;
	r->nb = c->workers;
	assert_int_equal(turn_state_check(old, r->size, r->boot_id), TURN_STATE_GOOD);
	turn_state_keys_of(old, &r->keys);
	a = adoption(r, old, c);
	a.map = map;
	turn_state_redirects(&a, redirects);
	for (unsigned int w = 0; w < r->nb; w++)
		most = redirects[w] > most ? redirects[w] : most;
	r->area = area_make(r, c, &r->size, private_memory);
	workers_open(r, c, most + 64);
	for (unsigned int w = 0; w < r->nb; w++)
		shards[w] = r->worker[w].shard;
	a.map = r->worker[0].map;
	a.shards = shards;
	r->took_s = cpu_seconds();
	assert_int_equal(turn_state_adopt(&a, &r->adopted), 0);
	r->took_s = cpu_seconds() - r->took_s;
	turn_state_seal(r->area);
	turn_relay_map_free(map);
	free(old);
}

void restart_again(struct restart *r, const struct turn_config *c, uint64_t gone_ms)
{
	restart_die(r);
	restart_up(r, c, gone_ms);
}

void restart_close(struct restart *r)
{
	for (unsigned int w = r->nb; w-- > 1;)
		fixture_close(&r->worker[w]);
	fixture_close(&r->worker[0]);
	if (r->shared)
		munmap(r->area, r->size);
	else
		free(r->area);
}

void restart_advance(struct restart *r, uint64_t ms)
{
	r->boot_ms += ms;
	for (unsigned int w = 0; w < r->nb; w++)
		fixture_advance(&r->worker[w], ms);
	r->wall_s = r->worker[0].wall_s;
	turn_state_clock(r->area, r->boot_ms, r->worker[0].now_ms);
}

void restart_notes(struct restart *r)
{
	struct turn_redirect_note note[64];

	for (unsigned int w = 0; w < r->nb; w++) {
		const unsigned int n = turn_redirect_notes(r->worker[w].shard, note, 64);

		for (unsigned int i = 0; i < n; i++)
			turn_redirect_apply(r->worker[note[i].redirect_worker].shard, &note[i]);
	}
}

unsigned int restart_home(const struct restart *r, const struct fixture_client *c)
{
	const unsigned int home = home_of((void *)r, &c->endpoint, c->listener);
	const struct turn_view v = {
		.src = c->endpoint.addr, .src_port = c->endpoint.port, .listener = c->listener};
	const uint8_t target = turn_redirect_to(r->worker[home].shard, &v);

	return target != TURN_NO_WORKER ? target : home;
}

struct fixture *restart_at(struct restart *r, const struct fixture_client *c)
{
	const unsigned int home = home_of(r, &c->endpoint, c->listener),
			   worker = restart_home(r, c);

	r->worker[worker].via = worker != home ? (uint8_t)home : TURN_NO_WORKER;
	return &r->worker[worker];
}

struct fixture *restart_first(struct restart *r, const struct fixture_client *c)
{
	return &r->worker[home_of(r, &c->endpoint, c->listener)];
}

struct fixture *restart_carry(struct restart *r, struct fixture *f, const struct fixture_client *c)
{
	for (unsigned int hops = 0; f->burst.plan.verdict == TURN_HANDOVER; hops++) {
		struct fixture *target = &r->worker[f->burst.plan.flow];

		assert_true(hops < 4);
		target->via = f->params.worker;
		target->tried = f->burst.view[0].tried;
		fixture_from_client(target, c, f->datagram, f->burst.view[0].len);
		target->via = TURN_NO_WORKER;
		target->tried = 0;
		f = target;
	}
	return f;
}

unsigned int restart_ask(struct restart *r, struct fixture_client *c, struct fixture **answerer)
{
	struct fixture *f = restart_first(r, c);
	unsigned int code;

	fixture_sign(f, c);
	fixture_send(f, c);
	f = restart_carry(r, f, c);
	code = fixture_code(f);
	restart_notes(r);
	if (answerer != NULL)
		*answerer = f;
	return code;
}

unsigned int restart_allocate(struct restart *r, struct fixture_client *c, int family)
{
	struct fixture *f = restart_first(r, c);
	unsigned int code;

	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&f->w, STUN_REQUESTED_ADDRESS_FAMILY, family == 4 ? 1u << 24 : 2u << 24);
	code = restart_ask(r, c, &f);
	if (code == 0)
		c->relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
	return code;
}

struct fixture *restart_owner(struct restart *r, const struct endpoint *relay)
{
	const struct turn_relay_map *map = r->worker[0].map;
	const int addr = turn_relay_map_find(map, &relay->addr);
	unsigned int worker;
	uint32_t slot;

	assert_true(addr >= 0);
	assert_true(turn_relay_map_home(map, (unsigned int)addr, relay->port, &worker, &slot));
	return &r->worker[worker];
}
