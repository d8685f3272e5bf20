// SPDX-License-Identifier: BSD-3-Clause
// Clients that speak TURN to a dp_world, by datagrams and over streams.
#include "bytes.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_world.h"
#include "framing.h"

void world_client(struct dp_world *w, struct world_client *c, const char *addr, uint16_t port)
{
	*c = (struct world_client){.endpoint = world_endpoint(addr, port), .user = "ivan"};
	c->server = w->listeners[addr_is_v4(&c->endpoint.addr) ? 0 : 1].endpoint;
	client_realm(w, c, WORLD_REALM);
}

void client_realm(struct dp_world *w, struct world_client *c, const char *realm)
{
	c->realm = realm;
	assert_true(stun_key_make(w->crypto, STUN_ALG_MD5,
		&(struct stun_credential){c->user, strlen(c->user), realm, "pw", 2}, &c->key));
}

void client_user(struct dp_world *w, struct world_client *c, const char *user)
{
	c->user = user;
	client_realm(w, c, c->realm);
}

void world_stream_client(
	struct dp_world *w, struct world_client *c, const char *addr, uint16_t port)
{
	world_client(w, c, addr, port);
	c->server = world_endpoint("10.99.0.1", 3478);
	c->conn = UINT64_C(1) << 32 | w->nb_streams;
	assert_true(w->nb_streams < WORLD_STREAMS);
	w->stream[w->nb_streams++] = c->endpoint;
	world_run(w); // so that workers leave buffers for the thread
}

static struct stream_from stream_from(const struct dp_world *w, const struct world_client *c)
{
	return (struct stream_from){
		.client = c->endpoint, .listener = (uint8_t)w->tcp, .tos = c->tos, .conn = c->conn};
}

bool world_stream_send(
	struct dp_world *w, const struct world_client *c, const void *data, size_t len)
{
	const struct stream_from origin = stream_from(w, c);
	const unsigned int home = streams_ops.home(w->dp, &c->endpoint, origin.listener);
	struct stream_message m;

	if ((stun_framing_is_request(data) && !streams_ops.may_ask(w->dp, 0, home)) ||
		!streams_ops.take(w->dp, 0, home, &m))
		return false;
	memcpy(m.data, data, len);
	m.len = (uint16_t)len;
	m.conn = c->conn;
	streams_ops.send(w->dp, 0, home, &m, &origin);
	return true;
}

void world_stream_end(struct dp_world *w, const struct world_client *c)
{
	const struct stream_from origin = stream_from(w, c);

	for (unsigned int worker = 0; worker < w->dp->nb_workers; worker++)
		assert_true(streams_ops.ended(w->dp, 0, worker, &origin));
}

void client_begin(struct dp_world *w, struct world_client *c, enum stun_method method)
{
	uint8_t tid[STUN_TID_LEN];

	test_rand_fill(&w->rand, tid, sizeof(tid));
	stun_begin(&c->w, c->message, sizeof(c->message), STUN_REQUEST, method, tid);
}

// Sends the message in c->w and reads the answer.
static unsigned int exchange(struct dp_world *w, struct world_client *c)
{
	struct world_datagram d;
	const uint16_t len = stun_end(&c->w);

	assert_int_not_equal(len, 0);
	if (c->conn != 0)
		assert_true(world_stream_send(w, c, c->message, len));
	else
		world_send_bytes(w, &c->endpoint, &c->server, c->message, len);
	world_run(w);
	assert_true(world_take(w, &c->endpoint, &d));
	assert_true(endpoint_eq(&d.src, &c->server));
	memcpy(c->answer, d.data, d.len);
	assert_int_equal(stun_parse(c->answer, d.len, &c->reply), 0);
	assert_memory_equal(c->answer + 8, c->message + 8, STUN_TID_LEN);
	if (c->reply.cls == STUN_SUCCESS)
		return 0;
	assert_true(stun_has(&c->reply, STUN_ERROR_CODE));
	return c->answer[c->reply.off[STUN_ERROR_CODE] + 2] * 100u +
		c->answer[c->reply.off[STUN_ERROR_CODE] + 3];
}

static void nonce_get(struct dp_world *w, struct world_client *c)
{
	struct world_client asker = *c;

	client_begin(w, &asker, STUN_ALLOCATE);
	stun_put_u32(&asker.w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	assert_int_equal(exchange(w, &asker), 401);
	c->nonce_len = asker.reply.alen[STUN_NONCE];
	memcpy(c->nonce, asker.answer + asker.reply.off[STUN_NONCE], c->nonce_len);
}

void client_algorithms(struct world_client *c)
{
	// RFC 8489 14.11, 14.12: SHA-256 and MD5 are offered, MD5 is chosen
	if (!c->rfc8489)
		return;
	stun_put(&c->w, STUN_PASSWORD_ALGORITHMS, "\0\2\0\0\0\1\0\0", 8);
	stun_put(&c->w, STUN_PASSWORD_ALGORITHM, "\0\1\0\0", 4);
}

unsigned int client_ask(struct dp_world *w, struct world_client *c)
{
	struct stun_writer w0 = c->w;

	if (c->nonce_len == 0)
		nonce_get(w, c);
	c->w = w0;
	stun_put(&c->w, STUN_USERNAME, c->user, strlen(c->user));
	stun_put(&c->w, STUN_REALM, c->realm, strlen(c->realm));
	stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
	client_algorithms(c);
	stun_put_integrity(&c->w, w->crypto, STUN_ALG_MD5, &c->key);
	return exchange(w, c);
}

unsigned int client_allocate(struct dp_world *w, struct world_client *c, int family)
{
	unsigned int code;
	int got;

	client_begin(w, c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
	stun_put_u32(&c->w, STUN_REQUESTED_ADDRESS_FAMILY, family == 4 ? 1u << 24 : 2u << 24);
	code = client_ask(w, c);
	if (code != 0)
		return code;
	assert_true(stun_decode_xor_addr(&c->reply, c->reply.off[STUN_XOR_RELAYED_ADDRESS],
		c->reply.alen[STUN_XOR_RELAYED_ADDRESS], &c->relay, &got));
	assert_int_equal(got, family);
	return 0;
}

unsigned int client_bind(
	struct dp_world *w, struct world_client *c, uint16_t channel, const struct endpoint *peer)
{
	client_begin(w, c, STUN_CHANNEL_BIND);
	stun_put_u32(&c->w, STUN_CHANNEL_NUMBER, (uint32_t)channel << 16);
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, peer);
	return client_ask(w, c);
}

unsigned int client_permit(struct dp_world *w, struct world_client *c, const struct endpoint *peer)
{
	client_begin(w, c, STUN_CREATE_PERMISSION);
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, peer);
	return client_ask(w, c);
}

void client_channel_data(
	struct dp_world *w, struct world_client *c, uint16_t channel, const void *data, size_t len)
{
	struct world_datagram d = {
		.src = c->endpoint, .dst = c->server, .len = (uint16_t)(len + 4)};

	store_be16(d.data, channel);
	store_be16(d.data + 2, (uint16_t)len);
	memcpy(d.data + 4, data, len);
	if (c->conn != 0)
		assert_true(world_stream_send(w, c, d.data, d.len));
	else
		world_send(w, &d);
}

uint16_t client_free_port(const struct dp_world *w, const struct world_client c[2])
{
	uint16_t port = w->conf.turn.port_lo;

	while (port == c[0].relay.port || port == c[1].relay.port)
		port++;
	return port;
}

void client_indication(struct dp_world *w, struct world_client *c, const struct endpoint *peer,
	const void *data, size_t len)
{
	static const uint8_t tid[12] = "indications";
	struct world_datagram d = {.src = c->endpoint, .dst = c->server};
	struct stun_writer sw;

	stun_begin(&sw, d.data, sizeof(d.data), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&sw, STUN_XOR_PEER_ADDRESS, peer);
	stun_put(&sw, STUN_DATA_ATTR, data, len);
	d.len = stun_end(&sw);
	world_send(w, &d);
}

void client_assert_relays(
	struct dp_world *w, struct world_client *c, uint16_t channel, const struct endpoint *peer)
{
	struct world_datagram got;

	client_channel_data(w, c, channel, "to the peer", 11);
	world_send_bytes(w, peer, &c->relay, "to the client", 13);
	world_round(w);
	world_run(w);
	assert_true(world_take(w, peer, &got));
	assert_int_equal(got.len, 11);
	assert_true(world_take(w, &c->endpoint, &got));
	assert_int_equal(got.len, 4 + 13);
}
