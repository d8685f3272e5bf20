// SPDX-License-Identifier: BSD-3-Clause
// DTLS clients against a data path. This file runs the stream thread's code in turn with the
// workers.
#include "feature_names.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dtls_clients_world.h"
#include "path/worker.h"

#include <unistd.h>

struct dp_world world;
bool thread_asleep, wire_harmed;
unsigned int nb_clients;
struct world_client client[CLIENTS_MAX];
struct dtls_client end[CLIENTS_MAX];
void (*on_the_wire)(unsigned int i, const struct datagram *d) = client_sends;

// --- the world -----------------------------------------------------------------------------------

void clients_world_open(const struct world_setup *s)
{
	world_open(&world, s);
	dtls_thread_open(&(struct stream_config){.workers = world.dp->nb_workers,
		.ops = &streams_ops,
		.ctx = world.dp,
		.dtls = sessions_config(&world.conf)});
	nb_clients = 0;
}

void clients_world_close(void)
{
	for (unsigned int i = 0; i < nb_clients; i++)
		dtls_client_close(&end[i]);
	dtls_thread_close();
	world_close(&world);
}

void client_place(const char *host, unsigned int listener)
{
	const unsigned int i = nb_clients++;

	assert_true(i < CLIENTS_MAX);
	world_client(&world, &client[i], "10.99.0.20", (uint16_t)(CLIENT_PORT + i));
	client[i].endpoint = world_endpoint(host, (uint16_t)(CLIENT_PORT + i));
	client[i].server = world.listeners[listener].endpoint;
	dtls_client_open(&end[i], NULL);
}

void client_sends(unsigned int i, const struct datagram *d)
{
	world_send_bytes(&world, &client[i].endpoint, &client[i].server, d->data, d->len);
}

// --- rounds --------------------------------------------------------------------------------------

static void run_thread(void)
{
	struct stream_message m[STREAM_BURST];

	for (unsigned int w = 0; w < world.dp->nb_workers; w++) {
		const unsigned int n = streams_ops.receive(world.dp, 0, w, m, STREAM_BURST);

		for (unsigned int i = 0; i < n; i++) {
			assert_int_not_equal(m[i].kind, STREAM_BYTES);
			dtls_thread_take(w, &m[i]);
			streams_ops.release(world.dp, 0, w, m[i].buf);
		}
	}
	dtls_thread_round(world.ms);
}

void step(void)
{
	struct world_datagram got;
	struct datagram d;

	for (unsigned int i = 0; i < nb_clients; i++)
		for (unsigned int n = 0; n < 8 && wire_take(&end[i].out, &d); n++)
			on_the_wire(i, &d);
	world_round(&world);
	if (!thread_asleep)
		run_thread();
	world_round(&world);
	for (unsigned int i = 0; i < nb_clients; i++) {
		while (world_take(&world, &client[i].endpoint, &got)) {
			assert_true(endpoint_eq(&got.src, &client[i].server) || wire_harmed);
			assert_false(got.no_checksum);
			if (end[i].in.n < WIRE_MAX)
				wire_put(&end[i].in, got.data, got.len);
		}
	}
}

void settle(unsigned int rounds)
{
	while (rounds-- > 0)
		step();
}

uint64_t sum_open(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		n += world.dp->worker[i]->live.dtls.open;
	return n;
}

uint64_t sum_half_open(void)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < world.dp->nb_workers; i++)
		n += world.dp->worker[i]->live.dtls.half_open;
	return n;
}

// --- undisturbed clients -------------------------------------------------------------------------

// The clients' timers use the wall clock, so lost messages are sent again only if the rounds do not
// run faster than that clock.
void handshake_all(void)
{
	unsigned int done = 0;

	for (unsigned int n = 0; n < 1000 && done < nb_clients; n++) {
		if (n > 20)
			usleep(1000);
		done = 0;
		for (unsigned int i = 0; i < nb_clients; i++)
			done += dtls_client_handshake(&end[i]);
		step();
	}
	assert_int_equal(done, nb_clients);
	settle(4);
	assert_int_equal(sum_half_open(), 0);
}

// Sends the request in client[i].w and reads the answer. Returns 0 or the error code.
unsigned int exchange(unsigned int i)
{
	struct world_client *c = &client[i];
	const uint16_t len = stun_end(&c->w);
	int n = -1;

	assert_int_equal(SSL_write(end[i].ssl, c->message, len), len);
	for (unsigned int k = 0; k < 20 && n <= 0; k++) {
		step();
		n = SSL_read(end[i].ssl, c->answer, sizeof(c->answer));
	}
	assert_true(n > 0);
	assert_int_equal(stun_parse(c->answer, (size_t)n, &c->reply), 0);
	assert_memory_equal(c->answer + 8, c->message + 8, STUN_TID_LEN);
	if (c->reply.cls == STUN_SUCCESS)
		return 0;
	return c->answer[c->reply.off[STUN_ERROR_CODE] + 2] * 100u +
		c->answer[c->reply.off[STUN_ERROR_CODE] + 3];
}

void sign(unsigned int i)
{
	struct world_client *c = &client[i];

	stun_put(&c->w, STUN_USERNAME, "ivan", 4);
	stun_put(&c->w, STUN_REALM, "turn.test", 9);
	stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
	client_algorithms(c);
	stun_put_integrity(&c->w, world.crypto, STUN_ALG_MD5, &c->key);
}

unsigned int ask(unsigned int i)
{
	sign(i);
	return exchange(i);
}

void begin_allocate(unsigned int i)
{
	client_begin(&world, &client[i], STUN_ALLOCATE);
	stun_put_u32(&client[i].w, STUN_REQUESTED_TRANSPORT, 17u << 24);
}

struct endpoint peer_of(unsigned int i)
{
	return world_endpoint("10.99.0.77", (uint16_t)(PEER_PORT + i));
}

void get_nonce(unsigned int i)
{
	struct world_client *c = &client[i];

	begin_allocate(i);
	assert_int_equal(exchange(i), 401);
	c->nonce_len = c->reply.alen[STUN_NONCE];
	memcpy(c->nonce, c->answer + c->reply.off[STUN_NONCE], c->nonce_len);
}

unsigned int bind_channel(unsigned int i)
{
	struct world_client *c = &client[i];
	const struct endpoint peer = peer_of(i);

	client_begin(&world, c, STUN_CHANNEL_BIND);
	stun_put_u32(&c->w, STUN_CHANNEL_NUMBER, (uint32_t)CLIENT_CHANNEL << 16);
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, &peer);
	return ask(i);
}

// Completes an allocation that begin_allocate started; the client has a nonce.
void finish_allocate(unsigned int i)
{
	struct world_client *c = &client[i];
	int family;

	assert_int_equal(ask(i), 0);
	assert_true(stun_decode_xor_addr(&c->reply, c->reply.off[STUN_XOR_RELAYED_ADDRESS],
		c->reply.alen[STUN_XOR_RELAYED_ADDRESS], &c->relay, &family));
}

void allocate(unsigned int i)
{
	get_nonce(i);
	begin_allocate(i);
	finish_allocate(i);
	assert_int_equal(bind_channel(i), 0);
}

#ifdef FEATURE_RESERVATIONS
void allocate_next(unsigned int i)
{
	uint8_t token[8];

	get_nonce(i);
	begin_allocate(i);
	stun_put(&client[i].w, STUN_EVEN_PORT, (const uint8_t[]){0x80}, 1);
	finish_allocate(i);
	memcpy(token, client[i].answer + client[i].reply.off[STUN_RESERVATION_TOKEN], 8);
	assert_int_equal(bind_channel(i), 0);
	get_nonce(i + 1);
	begin_allocate(i + 1);
	stun_put(&client[i + 1].w, STUN_RESERVATION_TOKEN, token, sizeof(token));
	finish_allocate(i + 1);
	assert_int_equal(client[i + 1].relay.port, client[i].relay.port + 1);
	assert_int_equal(bind_channel(i + 1), 0);
}
#else
void allocate_next(unsigned int i)
{
	allocate(i);
	allocate(i + 1);
}
#endif
