// SPDX-License-Identifier: BSD-3-Clause
#include "dtls_clients.h"

#include <stdio.h>

#include "sessions.h"
#include "stream_int.h"

struct world world;
struct worker *worker;
unsigned int clients;
struct world_client client[CLIENTS_MAX];
struct dtls_client end[CLIENTS_MAX];
struct endpoint peer[CLIENTS_MAX];
struct dtls_session *session[CLIENTS_MAX];

static struct streams streams;
static struct thread *thread;
static unsigned int listener;

// --- the world -----------------------------------------------------------------------------------

static void open_world(void)
{
	const struct world_setup setup = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true};
	char error[256];

	world_open(&world, &setup);
	worker = world.dp->worker[0];
	listener = world.dtls + 2; // 10.99.0.1:5349
	streams.conf = (struct stream_config){.connections = 1,
		.workers = 1,
		.threads = 1,
		.room = 1600,
		.ops = &streams_ops,
		.ctx = world.dp,
		.tls = dtls_files(),
		.dtls = sessions_config(&world.conf)};
	assert_int_equal(caps_init(&streams.caps, 1, 0), 0);
	assert_int_equal(caps_init(&streams.sessions, 1000, 0), 0);
	pthread_mutex_init(&streams.tls_lock, NULL);
	assert_int_equal(tls_load_all(&streams, false, true, &streams.tls, error, 256), 0);
	thread = thread_create(&streams, 0);
	assert_non_null(thread);
}

void clients_close(void)
{
	for (unsigned int i = 0; i < clients; i++)
		dtls_client_close(&end[i]);
	thread_free(thread);
	world_close(&world);
	SSL_CTX_free(streams.tls.dtls);
	caps_fini(&streams.caps);
	caps_fini(&streams.sessions);
}

static void run_thread(void)
{
	struct stream_message m[STREAM_BURST];
	const unsigned int n = streams_ops.receive(world.dp, 0, 0, m, STREAM_BURST);

	for (unsigned int i = 0; i < n; i++) {
		shake_take(thread, 0, &m[i]);
		streams_ops.release(world.dp, 0, 0, m[i].buf);
	}
	shake_tell(thread);
	thread->now_ms = world.ms;
	shake_tick(thread);
}

static void step(void)
{
	struct datagram d;

	for (unsigned int i = 0; i < clients; i++)
		while (wire_take(&end[i].out, &d))
			world_send_bytes(&world, &client[i].at, &client[i].server, d.data, d.len);
	world_round(&world);
	run_thread();
	world_round(&world);
	for (unsigned int k = 0; k < world.nb_seen; k++) {
		const struct world_datagram *got = &world.seen[k];

		wire_put(&end[got->dst.port - CLIENT_PORT].in, got->data, got->len);
	}
	world.nb_seen = 0;
}

// --- clients -------------------------------------------------------------------------------------

// Sends what is in client i's writer, signed once there is a nonce: 0 or the error code.
static unsigned int ask(unsigned int i)
{
	struct world_client *c = &client[i];
	uint16_t len;
	int n = -1;

	if (c->nonce_len > 0) {
		stun_put(&c->w, STUN_USERNAME, "ivan", 4);
		stun_put(&c->w, STUN_REALM, "turn.test", 9);
		stun_put(&c->w, STUN_NONCE, c->nonce, c->nonce_len);
		stun_put_integrity(&c->w, world.crypto, STUN_ALG_MD5, &c->key);
	}
	len = stun_end(&c->w);
	assert_int_equal(SSL_write(end[i].ssl, c->message, len), len);
	for (unsigned int k = 0; k < 20 && n <= 0; k++) {
		step();
		n = SSL_read(end[i].ssl, c->answer, sizeof(c->answer));
	}
	assert_true(n > 0);
	assert_int_equal(stun_parse(c->answer, (size_t)n, &c->reply), 0);
	if (c->reply.cls == STUN_SUCCESS)
		return 0;
	return c->answer[c->reply.off[STUN_ERROR_CODE] + 2] * 100u +
		c->answer[c->reply.off[STUN_ERROR_CODE] + 3];
}

static void begin_allocate(struct world_client *c)
{
	client_begin(&world, c, STUN_ALLOCATE);
	stun_put_u32(&c->w, STUN_REQUESTED_TRANSPORT, 17u << 24);
}

static void allocate(unsigned int i)
{
	struct world_client *c = &client[i];
	int family;

	begin_allocate(c);
	assert_int_equal(ask(i), 401);
	c->nonce_len = c->reply.alen[STUN_NONCE];
	memcpy(c->nonce, c->answer + c->reply.off[STUN_NONCE], c->nonce_len);
	begin_allocate(c);
	assert_int_equal(ask(i), 0);
	assert_true(stun_decode_xor_addr(&c->reply, c->reply.off[STUN_XOR_RELAYED_ADDRESS],
		c->reply.alen[STUN_XOR_RELAYED_ADDRESS], &c->relay, &family));
	peer[i] = world_endpoint("10.99.0.77", (uint16_t)(PEER_PORT + i));
	client_begin(&world, c, STUN_CHANNEL_BIND);
	stun_put_u32(&c->w, STUN_CHANNEL_NUMBER, (uint32_t)CLIENT_CHANNEL << 16);
	stun_put_xor_addr(&c->w, STUN_XOR_PEER_ADDRESS, &peer[i]);
	assert_int_equal(ask(i), 0);
}

static void shake_all(void)
{
	unsigned int done = 0;

	for (unsigned int i = 0; i < clients; i++) {
		world_client(&world, &client[i], "10.99.0.20", (uint16_t)(CLIENT_PORT + i));
		client[i].server = world.listeners[listener].at;
		dtls_client_open(&end[i], NULL);
	}
	for (unsigned int n = 0; n < 200 && done < clients; n++) {
		done = 0;
		for (unsigned int i = 0; i < clients; i++)
			done += dtls_client_shake(&end[i]);
		step();
	}
	assert_int_equal(done, clients);
}

void clients_open(unsigned int n)
{
	clients = n;
	open_world();
	shake_all();
	for (unsigned int i = 0; i < clients; i++) {
		const struct endpoint *at = &client[i].at;
		const struct session *s;

		allocate(i);
		s = session_find(worker, &at->addr, at->port, (uint8_t)listener, SESSION_OPEN);
		assert_non_null(s);
		session[i] = s->dtls;
	}
}
