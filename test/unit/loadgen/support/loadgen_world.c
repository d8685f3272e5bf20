// SPDX-License-Identifier: BSD-3-Clause
// A population of the generator's clients with the test's clock, and the server that answers it.
#include "loadgen_world.h"

#include <stdlib.h>

#define IP_UDP_V4 28
#define IP_UDP_V6 48

static void answered(void *ctx, enum stun_method method, uint64_t ms)
{
	struct loadgen_world *w = ctx;

	assert_int_equal(method, w->request.method);
	w->answers++;
	w->last_ms = ms;
}

void world_addrs(struct config *c, const char *server, const char *client, const char *peer)
{
	memset(&c->peer, 0, sizeof(c->peer));
	assert_int_equal(addr_parse(server, &c->server.addr), 0);
	assert_int_equal(addr_range_parse(client, &c->client.addrs), 0);
	if (peer == NULL)
		return;
	assert_int_equal(addr_range_parse(peer, &c->peer.addrs), 0);
	c->peer.port_lo = 7000;
	c->peer.port_hi = 7999;
}

struct config world_config(enum mode mode)
{
	struct config c = {.role = ROLE_BOTH,
		.mode = mode,
		.client = {.port_lo = 10000, .port_hi = 59999},
		.server = {.port = 3478},
		.user = "ivan",
		.password = "pw",
		.lifetime_s = 600,
		.mtu = 1500};

	world_addrs(&c, "10.99.0.1", "198.51.100.2-198.51.100.5", "10.99.0.50");
	return c;
}

void world_open(struct loadgen_world *w, const struct config *config, uint32_t count, uint64_t seed)
{
	const bool v4 = addr_is_v4(
		config->peer.port_lo != 0 ? &config->peer.addrs.lo : &config->server.addr);
	const char *nonce = "a nonce of the server";

	*w = (struct loadgen_world){.config = *config,
		.rand = {seed},
		.now_ms = WORLD_NOW_MS,
		.realm = WORLD_REALM,
		.password = "pw",
		.alg = STUN_ALG_MD5,
		.lifetime_s = 600};
	csprng_init(&w->rng, test_rand_source, &w->rand);
	w->crypto = stun_crypto_create();
	assert_non_null(w->crypto);
	w->nonce_len = strlen(nonce);
	memcpy(w->nonce, nonce, w->nonce_len);
	assert_int_equal(addr_parse(v4 ? "10.99.0.1" : "fd99::1", &w->relay.addr), 0);
	w->relay.port = 50000;
	w->clients = clients_create(&(struct clients_params){.config = &w->config,
		.step = 1,
		.count = count,
		.rng = &w->rng,
		.now_ms = w->now_ms,
		.wall_s = WORLD_WALL_S,
		.answered = answered,
		.ctx = w});
	assert_non_null(w->clients);
	w->count = count;
}

void world_close(struct loadgen_world *w)
{
	clients_free(w->clients);
	stun_crypto_free(w->crypto);
}

int world_teardown(void **state)
{
	world_close(*state);
	return 0;
}

const struct client_stats *world_stats(const struct loadgen_world *w)
{
	return clients_stats(w->clients);
}

enum client_state world_state(const struct loadgen_world *w, uint32_t i)
{
	return clients_at(w->clients, i)->state;
}

void assert_failed(const struct loadgen_world *w, uint32_t i, enum client_fault fault)
{
	assert_int_equal(world_state(w, i), CLIENT_FAILED);
	for (int f = 0; f < CLIENT_NB_FAULTS; f++)
		assert_int_equal(world_stats(w)->fault[f], f == (int)fault);
}

// Asserts the invariants that hold after every call.
static void settle(struct loadgen_world *w, uint32_t i, size_t len)
{
	const struct client_stats *s = world_stats(w);
	const size_t headers = addr_is_v4(&w->config.server.addr) ? IP_UDP_V4 : IP_UDP_V6;
	uint64_t sum = 0;

	for (int state = 0; state < CLIENT_NB_STATES; state++)
		sum += s->state[state];
	assert_int_equal(sum, w->count);
	w->len = len;
	if (len == 0)
		return;
	w->i = i;
	assert_true(len + headers <= w->config.mtu && len <= sizeof(w->out));
	assert_int_equal(stun_parse(w->out, len, &w->request), 0);
	assert_int_equal(w->request.cls, STUN_REQUEST);
	assert_int_equal(w->request.nb_unknown, 0);
}

void world_start(struct loadgen_world *w, uint32_t i)
{
	settle(w, i, client_start(w->clients, i, w->now_ms, w->out));
}

void world_release(struct loadgen_world *w, uint32_t i)
{
	settle(w, i, client_release(w->clients, i, w->now_ms, w->out));
}

void world_tick(struct loadgen_world *w)
{
	uint32_t i = UINT32_MAX;
	const size_t len = clients_tick(w->clients, w->now_ms, &i, w->out);

	assert_true(len == 0 || i < w->count);
	settle(w, i, len);
}

bool world_wait(struct loadgen_world *w, uint64_t ms, uint64_t step_ms)
{
	world_tick(w);
	for (uint64_t t = 0; t < ms && w->len == 0; t += step_ms) {
		w->now_ms += step_ms;
		world_tick(w);
	}
	return w->len > 0;
}

void world_feed(struct loadgen_world *w, uint32_t i, const void *data, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, data, len);
	settle(w, i, client_input(w->clients, i, copy, len, w->now_ms, w->out));
	free(copy);
}

// --- the scripted server -------------------------------------------------------------------------

static bool value_is(const struct stun_msg *m, enum stun_attr a, const void *value, size_t len)
{
	return stun_has(m, a) && m->alen[a] == len && memcmp(m->data + m->off[a], value, len) == 0;
}

static void key_of(struct loadgen_world *w, struct stun_key *key)
{
	const struct stun_msg *m = &w->request;
	const struct stun_credential cred = {m->data + m->off[STUN_USERNAME],
		m->alen[STUN_USERNAME], w->realm, w->password, strlen(w->password)};

	assert_true(stun_key_make(w->crypto, w->alg, &cred, key));
}

bool world_signed(struct loadgen_world *w)
{
	const struct stun_msg *m = &w->request;
	const bool sha256 = w->alg == STUN_ALG_SHA256;
	struct stun_key key;

	assert_true(w->len > 0);
	if (!stun_has(m, STUN_MESSAGE_INTEGRITY) && !stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256)) {
		// RFC 8489 9.2.3.1: a first request has no credentials
		assert_false(stun_has(m, STUN_USERNAME) || stun_has(m, STUN_REALM) ||
			stun_has(m, STUN_NONCE) || stun_has(m, STUN_PASSWORD_ALGORITHM) ||
			stun_has(m, STUN_PASSWORD_ALGORITHMS));
		return false;
	}
	assert_int_equal(stun_has(m, STUN_MESSAGE_INTEGRITY), !sha256);
	assert_int_equal(stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256), sha256);
	assert_true(value_is(m, STUN_REALM, w->realm, strlen(w->realm)));
	assert_true(value_is(m, STUN_NONCE, w->nonce, w->nonce_len));
	if (sha256) {
		assert_true(value_is(m, STUN_PASSWORD_ALGORITHM, "\0\2\0\0", 4));
		assert_true(
			value_is(m, STUN_PASSWORD_ALGORITHMS, w->algorithms, w->algorithms_len));
	} else { // like a client of RFC 5389
		assert_false(stun_has(m, STUN_PASSWORD_ALGORITHM));
		assert_false(stun_has(m, STUN_PASSWORD_ALGORITHMS));
	}
	key_of(w, &key);
	assert_true(stun_integrity_ok(w->crypto, m, &key));
	return true;
}

void world_begin(struct loadgen_world *w, enum stun_class cls)
{
	assert_true(w->len > 0);
	stun_begin(
		&w->w, w->answer, sizeof(w->answer), cls, w->request.method, stun_tid(&w->request));
}

void world_sign(struct loadgen_world *w)
{
	struct stun_key key;

	key_of(w, &key);
	stun_put_integrity(&w->w, w->crypto, w->alg, &key);
}

void world_answer(struct loadgen_world *w)
{
	const uint16_t len = stun_end(&w->w);

	assert_int_not_equal(len, 0);
	world_feed(w, w->i, w->answer, len);
}

void world_challenge(struct loadgen_world *w, unsigned int code)
{
	world_begin(w, STUN_ERROR);
	stun_put_error(&w->w, code, "whatever it says");
	stun_put(&w->w, STUN_REALM, w->realm, strlen(w->realm));
	stun_put(&w->w, STUN_NONCE, w->nonce, w->nonce_len);
	if (w->algorithms_len > 0)
		stun_put(&w->w, STUN_PASSWORD_ALGORITHMS, w->algorithms, w->algorithms_len);
	world_answer(w);
}

void world_put_success(struct loadgen_world *w)
{
	const struct client *cl = clients_at(w->clients, w->i);
	uint32_t asked;

	if (w->request.method == STUN_ALLOCATE) {
		stun_put_xor_addr(&w->w, STUN_XOR_RELAYED_ADDRESS, &w->relay);
		stun_put_xor_addr(&w->w, STUN_XOR_MAPPED_ADDRESS, &cl->local);
	}
	if (w->request.method == STUN_ALLOCATE || w->request.method == STUN_REFRESH) {
		assert_true(stun_get_u32(&w->request, STUN_LIFETIME, &asked));
		stun_put_u32(&w->w, STUN_LIFETIME, asked == 0 ? 0 : w->lifetime_s);
	}
}

void world_accept(struct loadgen_world *w)
{
	world_begin(w, STUN_SUCCESS);
	world_put_success(w);
	if (world_signed(w))
		world_sign(w);
	world_answer(w);
}

void world_refuse(struct loadgen_world *w, unsigned int code)
{
	world_begin(w, STUN_ERROR);
	stun_put_error(&w->w, code, "");
	if (world_signed(w))
		world_sign(w);
	world_answer(w);
}

void world_ready(struct loadgen_world *w, uint32_t i)
{
	world_start(w, i);
	assert_false(world_signed(w));
	world_challenge(w, 401);
	while (w->len > 0)
		world_accept(w);
	assert_int_equal(world_state(w, i), CLIENT_READY);
}
