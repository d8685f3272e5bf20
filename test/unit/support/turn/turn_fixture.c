// SPDX-License-Identifier: BSD-3-Clause
// A shard with its policy, map and quota, and clients that send requests and read answers.
#include "turn_fixture.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>

#include "addr_text.h"
#include "feature_names.h"
#include "turn_shard.h"
#include "turn_state.h"

static const uint8_t algorithms[8] = {0, 2, 0, 0, 0, 1, 0, 0}; // RFC 8489 14.11: SHA-256, MD5

struct endpoint fixture_endpoint(const char *addr, uint16_t port)
{
	return (struct endpoint){.addr = addr_text(addr), .port = port};
}

struct turn_config fixture_config(void)
{
	static struct turn_user users[] = {{.name = (char *)"ivan", .password = (char *)"pw"},
		{.name = (char *)"eve", .password = (char *)"evil"}};
	static char *secrets[] = {(char *)"s3cret"};
	static struct turn_listener listeners[2];
	static struct turn_local local[2];
	static struct addr relay[2];
	static struct prefix allow[3];

	relay[0] = addr_text("10.99.0.1");
	relay[1] = addr_text("fd99::1");
	local[0] = (struct turn_local){relay[0], addr_text_prefix("10.99.0.0/24")};
	local[1] = (struct turn_local){relay[1], addr_text_prefix("fd99::/64")};
	for (int i = 0; i < 2; i++)
		listeners[i] = (struct turn_listener){{relay[i], 3478}, TURN_OVER_UDP};
	allow[0] = addr_text_prefix("10.99.0.0/24");
	allow[1] = addr_text_prefix("10.98.0.0/16");
	allow[2] = addr_text_prefix("fd99::/64");
	return (struct turn_config){.first.name = (char *)FIXTURE_REALM,
		.first.users = users,
		.first.nb_users = 2,
		.first.secrets = secrets,
		.first.nb_secrets = 1,
		.nonce_lifetime_s = 600,
		.rest_expiry = TURN_REST_IGNORED,
		.nonce_secret = (char *)"",
		.listeners = listeners,
		.nb_listeners = 2,
		.relay = relay,
		.nb_relay = 2,
		.local = local,
		.nb_local = 2,
		.allow = allow,
		.nb_allow = 3,
		.port_lo = 50000,
		.port_hi = 50255,
		.hairpin = true,
		.workers = 1,
		.limits = {.permissions = 16,
			.channels = 8,
			.lifetime_default_s = 600,
			.lifetime_max_s = 3600}};
}

#ifdef FEATURE_TCP
void fixture_add_tcp(struct turn_config *c, uint16_t lo, uint16_t hi)
{
	static struct turn_listener listeners[3];

	memcpy(listeners, c->listeners, 2 * sizeof(listeners[0]));
	listeners[2] = (struct turn_listener){c->listeners[0].endpoint, TURN_OVER_TCP};
	c->listeners = listeners;
	c->nb_listeners = 3;
	c->tcp = (struct turn_tcp){.enabled = true, .ports_lo = lo, .ports_hi = hi};
}
#endif

static void count_made(void *ctx, uint32_t slot)
{
	struct fixture *f = ctx;
	const struct turn_line *l = &turn_shard_lines(f->shard)[slot];

	assert_true(l->mark[TURN_FROM_CLIENT] >> 24 != 0);
	assert_int_not_equal((uint16_t)l->mark[TURN_FROM_CLIENT], 0);
	assert_int_not_equal(l->relay_port, 0);
	if (l->until != 0)
		assert_int_not_equal((uint16_t)l->mark[TURN_FROM_PEER], 0);
	f->lines_made++;
}

static void count_moved(void *ctx, uint32_t slot, uint64_t stream)
{
	struct fixture *f = ctx;

	f->clients_moved++;
	f->stream = stream;
}

static void keep_event(void *ctx, const struct turn_event *e)
{
	struct fixture_told *t = &((struct fixture *)ctx)->told;

	t->event[t->nb++ % FIXTURE_EVENTS] = *e;
	switch ((enum turn_event_kind)e->kind) {
	case TURN_EVENT_MADE:
		t->made++;
		break;
	case TURN_EVENT_INTERIM:
		t->interim++;
		break;
	case TURN_EVENT_ROAMED:
		t->roamed++;
		break;
	case TURN_EVENT_MOVED:
		t->moved++;
		break;
	case TURN_EVENT_PEER:
		t->peers++;
		break;
	case TURN_EVENT_ENDED:
		assert_non_null(turn_end_name(e->reason));
		t->ended[e->reason]++;
		break;
	case TURN_EVENT_CONNECTION:
		assert_true(e->reason < TURN_CONNECTION_REASONS);
		t->connections[e->reason] += e->more > 0 ? e->more : 1;
		break;
	case TURN_EVENT_REFUSED:
		assert_non_null(turn_refusal_info(e->reason));
		t->refused[e->reason] += e->more > 0 ? e->more : 1;
		break;
	}
}

const struct turn_event *fixture_event(const struct fixture *f, uint32_t n)
{
	assert_true(n < FIXTURE_EVENTS && n < f->told.nb);
	return &f->told.event[(f->told.nb - 1 - n) % FIXTURE_EVENTS];
}

#ifdef FEATURE_REALMS
#include "turn_tallies.h"

// With a single realm there are no tallies.
static void number_realms(struct fixture *f)
{
	if (f->config.nb_realms == 0)
		return;
	f->tallies = turn_tallies_create(f->config.workers);
	assert_non_null(f->tallies);
	assert_int_equal(turn_tallies_number(f->tallies, &f->config, NULL, f->quota), 0);
}

static void forget_realms(struct fixture *f)
{
	turn_tallies_free(f->tallies);
}
#else
static void number_realms(struct fixture *f)
{
}

static void forget_realms(struct fixture *f)
{
}
#endif

static void shard_open(struct fixture *f, uint8_t worker)
{
	size_t size;
	void *mem;

	f->crypto = stun_crypto_create();
	assert_non_null(f->crypto);
	csprng_init(&f->rng, test_rand_source, &f->rand);
	f->params.policy = f->policy;
	f->params.config = &f->config;
	f->params.map = f->map;
	f->params.quota = f->quota;
#define X(type, field) f->params.field = f->field;
	TURN_CONFIG_SHARD_PARAMS(X)
#undef X
	f->params.crypto = f->crypto;
	f->params.rng = &f->rng;
	f->params.worker = worker;
	f->params.line_made = count_made;
	f->params.moved = count_moved;
	f->params.event = keep_event;
	f->params.ctx = f;
	size = turn_shard_size(&f->params);
	mem = aligned_alloc(64, (size + 63) & ~(size_t)63);
	assert_non_null(mem);
	memset(mem, 0, size);
	f->shard = turn_shard_create(mem, &f->params, f->now_ms);
	assert_non_null(f->shard);
	assert_ptr_equal(f->shard, mem); // then freeing mem frees the shard
	turn_shard_round(f->shard, f->now_ms, f->wall_s);
}

void fixture_open(struct fixture *f, const struct turn_config *config, uint64_t seed)
{
	fixture_open_sized(f, config, &(struct turn_shard_params){0}, seed);
}

void fixture_open_sized(struct fixture *f, const struct turn_config *config,
	const struct turn_shard_params *sizes, uint64_t seed)
{
	struct turn_state_keys keys;
	uint32_t slots = 0;

	*f = (struct fixture){.config = *config,
		.params = {.redirects = sizes->redirects,
			.client_key = sizes->client_key,
			.state = sizes->state},
		.rand = {seed},
		.now_ms = FIXTURE_NOW_MS,
		.wall_s = FIXTURE_WALL_S,
		.via = TURN_NO_WORKER};
	test_rand_fill(&f->rand, &keys.quota, sizeof(keys.quota));
	test_rand_fill(&f->rand, keys.boot, sizeof(keys.boot));
	if (sizes->state != NULL)
		turn_state_keys_of(sizes->state, &keys);
#ifdef FEATURE_LOOKUP
	f->ask = sizes->ask;
#endif
	f->map = turn_relay_map_create(&f->config);
	assert_non_null(f->map);
	for (uint32_t w = 0; w < config->workers; w++)
		slots += turn_relay_map_slots(f->map, w);
	f->quota = turn_quota_create(slots, &keys.quota);
	assert_non_null(f->quota);
	number_realms(f);
	f->crypto = stun_crypto_create();
	assert_non_null(f->crypto);
	memcpy(f->boot_key, keys.boot, sizeof(f->boot_key));
	f->policy = turn_policy_create(&f->config, f->crypto, keys.boot);
	stun_crypto_free(f->crypto);
	assert_non_null(f->policy);
	shard_open(f, 0);
}

void fixture_open_worker(struct fixture *f, const struct fixture *first, uint8_t worker)
{
	*f = (struct fixture){.config = first->config,
		.policy = first->policy,
		.map = first->map,
		.quota = first->quota,
#define X(type, field) .field = first->field,
		TURN_CONFIG_SHARD_PARAMS(X)
#undef X
			.params = {.redirects = first->params.redirects,
			.client_key = first->params.client_key,
			.state = first->params.state},
		.rand = {first->rand.s + worker},
		.now_ms = first->now_ms,
		.wall_s = first->wall_s,
		.via = TURN_NO_WORKER,
		.shares = first};
	shard_open(f, worker);
}

void fixture_close(struct fixture *f)
{
	turn_shard_check(f->shard);
	turn_shard_close(f->shard);
	turn_shard_check(f->shard);
	if (f->shares == NULL) // every shard has returned its quota
		assert_int_equal(turn_quota_total(f->quota), 0);
	fixture_forget(f);
}

void fixture_forget(struct fixture *f)
{
	free(f->shard);
	f->shard = NULL;
	stun_crypto_free(f->crypto);
	free(f->datagram);
	if (f->shares != NULL)
		return;
	turn_policy_free(f->policy);
	turn_relay_map_free(f->map);
	turn_quota_free(f->quota);
	forget_realms(f);
}

int fixture_teardown(void **state)
{
	fixture_close(*state);
	return 0;
}

void fixture_advance(struct fixture *f, uint64_t ms)
{
	f->wall_s += (f->now_ms % 1000 + ms) / 1000;
	f->now_ms += ms;
	turn_shard_round(f->shard, f->now_ms, f->wall_s);
}

void fixture_expire(struct fixture *f)
{
	while (turn_shard_expire(f->shard))
		;
}

struct fixture_client fixture_client(const char *addr, uint16_t port)
{
	struct fixture_client c = {.endpoint = fixture_endpoint(addr, port),
		.user = "ivan",
		.password = "pw",
		.alg = STUN_ALG_MD5};

	c.listener = addr_is_v4(&c.endpoint.addr) ? 0 : 1;
	return c;
}

struct fixture_client fixture_eve(const char *addr, uint16_t port)
{
	struct fixture_client c = fixture_client(addr, port);

	c.user = "eve";
	c.password = "evil";
	return c;
}

void fixture_begin(struct fixture *f, enum stun_class cls, enum stun_method method)
{
	uint8_t tid[STUN_TID_LEN] = {'t', 'i', 'd'};

	store_be32(tid + 8, ++f->tids);
	stun_begin(&f->w, f->message, sizeof(f->message), cls, (uint16_t)method, tid);
}

void fixture_route(struct turn_shard *s, struct turn_burst *b)
{
	b->n = 1;
	turn_route_begin(s, b);
	turn_route_finish(s, b, 0);
}

// Routes the datagram in f->datagram. Its view is filled in already.
static const struct turn_plan *route(struct fixture *f)
{
	memset(&f->burst.plan, 0xa5, sizeof(f->burst.plan));
	fixture_route(f->shard, &f->burst);
	return &f->burst.plan;
}

static void load(struct fixture *f, const void *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	free(f->datagram);
	f->datagram = copy;
	f->burst.view[0] = (struct turn_view){.data = copy, .len = (uint16_t)len};
}

const struct turn_plan *fixture_from_client(
	struct fixture *f, const struct fixture_client *c, const void *data, size_t len)
{
	struct turn_view *v = &f->burst.view[0];

	load(f, data, len);
	v->src = c->endpoint.addr;
	v->src_port = c->endpoint.port;
	v->leg = TURN_FROM_CLIENT;
	v->listener = c->listener;
	v->via = f->via;
	v->tried = f->tried;
	return route(f);
}

// Routes the loaded datagram to a relayed transport address, received from the wire or in process.
static const struct turn_plan *to_relay(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, enum turn_inside inside)
{
	struct turn_view *v = &f->burst.view[0];
	const int index = turn_relay_map_find(f->map, &relay->addr);
	unsigned int worker;

	v->src = peer->addr;
	v->src_port = peer->port;
	v->leg = TURN_FROM_PEER;
	v->via = TURN_NO_WORKER;
	v->inside = inside;
	v->source = (uint16_t)((uint32_t)index + f->to_pool * f->params.config->nb_relay);
	assert_true(index >= 0);
	assert_true(
		turn_relay_map_home(f->map, (unsigned int)index, relay->port, &worker, &v->slot));
	assert_int_equal(worker, f->params.worker);
	return route(f);
}

const struct turn_plan *fixture_from_peer(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, const void *data, size_t len)
{
	load(f, data, len);
	return to_relay(f, relay, peer, TURN_INSIDE_NO);
}

const struct turn_plan *fixture_hairpin(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, const void *data, size_t len)
{
	load(f, data, len);
	return to_relay(f, relay, peer, TURN_INSIDE_RELAYED);
}

const struct turn_plan *fixture_from_program(struct fixture *f, const struct endpoint *relay,
	const struct endpoint *peer, const void *data, size_t len)
{
	load(f, data, len);
	return to_relay(f, relay, peer, TURN_INSIDE_PROGRAM);
}

const struct turn_plan *fixture_channel_data(struct fixture *f, const struct fixture_client *c,
	uint16_t channel, const void *data, size_t len)
{
	uint8_t packet[CHANNEL_HEADER_LEN + 2048];

	assert_true(len <= 2048);
	store_be16(packet, channel);
	store_be16(packet + 2, (uint16_t)len);
	memcpy(packet + CHANNEL_HEADER_LEN, data, len);
	return fixture_from_client(f, c, packet, CHANNEL_HEADER_LEN + len);
}

const struct turn_plan *fixture_send(struct fixture *f, const struct fixture_client *c)
{
	const uint16_t len = stun_end(&f->w);

	assert_int_not_equal(len, 0);
	return fixture_from_client(f, c, f->message, len);
}

const struct turn_plan *fixture_resend(struct fixture *f, const struct fixture_client *c)
{
	uint8_t copy[sizeof(f->message)];
	const uint16_t len = f->burst.view[0].len;

	assert_true(len <= sizeof(copy));
	memcpy(copy, f->datagram, len);
	return fixture_from_client(f, c, copy, len);
}

unsigned int fixture_code(struct fixture *f)
{
	const struct turn_plan *plan = &f->burst.plan;
	struct stun_msg *m = &f->answer;
	const uint8_t *value;

	assert_int_equal(plan->verdict, TURN_REPLY);
	assert_int_equal(stun_parse(f->burst.side.front, plan->front_len, m), 0);
	assert_memory_equal(stun_tid(m), f->datagram + 8, STUN_TID_LEN);
	assert_int_equal(m->nb_unknown, 0);
	assert_false(m->fingerprint_bad);
	if (m->cls == STUN_SUCCESS)
		return 0;
	assert_int_equal(m->cls, STUN_ERROR);
	assert_true(stun_has(m, STUN_ERROR_CODE));
	assert_in_range(m->alen[STUN_ERROR_CODE], 4, 4 + 127); // RFC 8489 14.8; phrases are ASCII
	value = m->data + m->off[STUN_ERROR_CODE];
	return value[2] * 100u + value[3];
}

struct endpoint fixture_answer_addr(struct fixture *f, enum stun_attr a)
{
	const struct stun_msg *m = &f->answer;
	struct endpoint e;
	int family;

	assert_true(stun_has(m, a));
	assert_true(stun_decode_xor_addr(m, m->off[a], m->alen[a], &e, &family));
	return e;
}

static const char *realm_of(const struct fixture_client *c)
{
	return c->realm != NULL ? c->realm : FIXTURE_REALM;
}

static void client_key(struct fixture *f, const struct fixture_client *c, struct stun_key *key)
{
	const struct stun_credential cred = {
		c->user, strlen(c->user), realm_of(c), c->password, strlen(c->password)};

	assert_true(stun_key_make(f->crypto, c->alg, &cred, key));
	if (c->mac.len > 0)
		*key = c->mac;
}

bool fixture_signed(struct fixture *f, const struct fixture_client *c)
{
	const enum stun_attr want =
		c->alg == STUN_ALG_SHA256 ? STUN_MESSAGE_INTEGRITY_SHA256 : STUN_MESSAGE_INTEGRITY;
	struct stun_key key;

	client_key(f, c, &key);
	return stun_has(&f->answer, want) && stun_integrity_ok(f->crypto, &f->answer, &key);
}

// Takes NONCE from the answer, if there is one.
static void take_nonce(struct fixture *f, struct fixture_client *c)
{
	const struct stun_msg *m = &f->answer;

	if (!stun_has(m, STUN_NONCE))
		return;
	c->nonce_len = m->alen[STUN_NONCE];
	assert_true(c->nonce_len <= sizeof(c->nonce));
	memcpy(c->nonce, m->data + m->off[STUN_NONCE], c->nonce_len);
}

// Gets a nonce as a client does, by an Allocate without credentials.
static void ask_nonce(struct fixture *f, struct fixture_client *c)
{
	const struct stun_writer w = f->w;
	uint8_t message[sizeof(f->message)];

	memcpy(message, f->message, w.len);
	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
#ifdef FEATURE_REALMS
	if (c->origin != NULL)
		stun_put(&f->w, STUN_ORIGIN, c->origin, strlen(c->origin));
#endif
	fixture_send(f, c);
	assert_int_equal(fixture_code(f), 401);
	take_nonce(f, c);
	assert_int_not_equal(c->nonce_len, 0);
	memcpy(f->message, message, w.len);
	f->w = w;
}

void fixture_sign(struct fixture *f, struct fixture_client *c)
{
	struct stun_key key;
	uint8_t hash[32];

	if (c->nonce_len == 0)
		ask_nonce(f, c);
	client_key(f, c, &key);
#ifdef FEATURE_TOKENS
	if (c->access_len > 0)
		stun_put(&f->w, STUN_ACCESS_TOKEN, c->access, c->access_len);
#endif
	if (c->userhash) {
		assert_true(stun_userhash(f->crypto, c->user, strlen(c->user), realm_of(c), hash));
		stun_put(&f->w, STUN_USERHASH, hash, sizeof(hash));
	} else {
		stun_put(&f->w, STUN_USERNAME, c->user, strlen(c->user));
	}
	stun_put(&f->w, STUN_REALM, realm_of(c), strlen(realm_of(c)));
	stun_put(&f->w, STUN_NONCE, c->nonce, c->nonce_len);
	if (c->alg == STUN_ALG_SHA256) {
		stun_put(&f->w, STUN_PASSWORD_ALGORITHMS, algorithms, sizeof(algorithms));
		stun_put(&f->w, STUN_PASSWORD_ALGORITHM, algorithms, 4);
	}
	stun_put_integrity(&f->w, f->crypto, c->alg, &key);
}

unsigned int fixture_ask(struct fixture *f, struct fixture_client *c)
{
	unsigned int code;

	fixture_sign(f, c);
	fixture_send(f, c);
	code = fixture_code(f);
	if (code == 401 || code == 438)
		take_nonce(f, c);
	return code;
}

unsigned int fixture_allocate(struct fixture *f, struct fixture_client *c, int family)
{
	unsigned int code;

	fixture_begin(f, STUN_REQUEST, STUN_ALLOCATE);
	stun_put_u32(&f->w, STUN_REQUESTED_TRANSPORT, (uint32_t)IPPROTO_UDP << 24);
	if (family != 0) // RFC 8656 18.6: 1 is IPv4, 2 is IPv6
		stun_put_u32(
			&f->w, STUN_REQUESTED_ADDRESS_FAMILY, family == 4 ? 1u << 24 : 2u << 24);
	code = fixture_ask(f, c);
	if (code != 0)
		return code;
	c->relay = fixture_answer_addr(f, STUN_XOR_RELAYED_ADDRESS);
#ifdef FEATURE_RESERVATIONS
	if (f->answer.alen[STUN_RESERVATION_TOKEN] == sizeof(c->token))
		memcpy(c->token, f->answer.data + f->answer.off[STUN_RESERVATION_TOKEN],
			sizeof(c->token));
#endif
	assert_true(stun_get_u32(&f->answer, STUN_LIFETIME, &c->lifetime_s));
	return 0;
}

unsigned int fixture_refresh(struct fixture *f, struct fixture_client *c, uint32_t lifetime_s)
{
	unsigned int code;

	fixture_begin(f, STUN_REQUEST, STUN_REFRESH);
	stun_put_u32(&f->w, STUN_LIFETIME, lifetime_s);
	code = fixture_ask(f, c);
	if (code == 0)
		assert_true(stun_get_u32(&f->answer, STUN_LIFETIME, &c->lifetime_s));
	return code;
}

unsigned int fixture_permit(struct fixture *f, struct fixture_client *c, const char *peer)
{
	const struct endpoint e = fixture_endpoint(peer, 0);

	fixture_begin(f, STUN_REQUEST, STUN_CREATE_PERMISSION);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &e);
	return fixture_ask(f, c);
}

unsigned int fixture_bind(struct fixture *f, struct fixture_client *c, uint16_t channel,
	const char *peer, uint16_t port)
{
	const struct endpoint e = fixture_endpoint(peer, port);

	fixture_begin(f, STUN_REQUEST, STUN_CHANNEL_BIND);
	stun_put_u32(&f->w, STUN_CHANNEL_NUMBER, (uint32_t)channel << 16);
	stun_put_xor_addr(&f->w, STUN_XOR_PEER_ADDRESS, &e);
	return fixture_ask(f, c);
}

struct fixture_client fixture_open_ivan(struct fixture *f)
{
	const struct turn_config c = fixture_config();

	fixture_open(f, &c, 1);
	return fixture_client("198.51.100.7", 5000);
}

void fixture_assert_challenge(const struct fixture *f)
{
	fixture_assert_challenge_of(f, FIXTURE_REALM);
}

void fixture_assert_challenge_of(const struct fixture *f, const char *realm)
{
	const struct stun_msg *m = &f->answer;

	assert_int_equal(m->alen[STUN_REALM], strlen(realm));
	assert_memory_equal(m->data + m->off[STUN_REALM], realm, strlen(realm));
	assert_in_range(m->alen[STUN_NONCE], 13, 32);
	assert_memory_equal(m->data + m->off[STUN_NONCE], "obMatJos2", 9);
	assert_true(stun_has(m, STUN_PASSWORD_ALGORITHMS));
	assert_int_equal(m->alen[STUN_ERROR_CODE], 4); // no reason phrase
	assert_false(stun_has(m, STUN_SOFTWARE));
	assert_false(stun_has(m, STUN_MESSAGE_INTEGRITY));
	assert_false(stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256));
	assert_false(stun_has(m, STUN_USERNAME));
}

struct turn_stats fixture_stats(const struct fixture *f)
{
	struct turn_stats s;

	turn_shard_stats(f->shard, &s);
	return s;
}

double fixture_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

unsigned int fixture_drop(const struct turn_plan *p)
{
	return p->verdict == TURN_DROP ? p->reason : TURN_OK;
}
