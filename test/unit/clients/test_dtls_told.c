// SPDX-License-Identifier: BSD-3-Clause
// Ends of sessions and handshakes that cannot be reported at once, to another worker or by the
// thread: they are reported later, and nothing leaks.
#include "feature_names.h"
#include "clients/dtls_clients.h"
#include "clients/sessions.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dtls_clients_world.h"
#include "turn_mark.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"
#include "workers/messages.h"

#define CLIENTS 36 // of half as many pairs, at least one has its ends on different workers
#define REPLIES 3
#define SCAN_MS 1100 // in which every session is checked once
#define GIVEN_UP_MS 20000 // age at which a handshake is abandoned; the thread is notified again
#define AGAIN_MS 10000 // this long after that

static void open_world(void **state, unsigned int clients)
{
	clients_world_open(*state);
	for (unsigned int i = 0; i < clients; i++)
		client_place("10.99.0.20", world.dtls + 2);
}

// --- an allocation on another worker -------------------------------------------------------------

#ifdef FEATURE_RESERVATIONS
// Finds a session with an allocation on another worker.
static struct session *find_away(struct worker **home)
{
	for (unsigned int i = 0; i < world.dp->nb_workers; i++) {
		struct worker *w = world.dp->worker[i];

		for (uint32_t k = 0; k < w->sessions->used; k++) {
			if (w->sessions->session[k].away == 0)
				continue;
			*home = w;
			return &w->sessions->session[k];
		}
	}
	return NULL;
}
#endif

static void fill_ring(struct worker *w, unsigned int target)
{
	const struct turn_view nobody = {.src = world_endpoint("203.0.113.9", 0).addr,
		.src_port = 9,
		.leg = TURN_FROM_CLIENT,
		.via = TURN_NO_WORKER,
		.stream = 9};

	while (messages_client_ended(w, target, &nobody))
		;
}

// Sends an answer from the worker with the allocation.
static void reply(struct worker *w, const struct turn_view *client_view, unsigned int owner)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(world.dp->pool);
	struct mbuf_meta *p;

	assert_non_null(m);
	w->live.made++;
	p = mbuf_meta_of(m);
	p->kind = MBUF_META_SEAL;
	p->seal.client = client_view->src;
	p->seal.port = client_view->src_port;
	p->seal.listener = client_view->listener;
	p->seal.conn = client_view->stream;
	p->seal.owner = (uint8_t)owner;
	p->seal.media = false;
	p->seal.lease_s = 600;
	dtls_clients_reply_for(w, m);
}

#ifdef FEATURE_RESERVATIONS
// An allocation that was made after its worker had been notified of the session's end.
static void test_end_owed(void **state)
{
	struct worker *w = NULL;
	struct turn_view client_view;
	struct session *c;
	uint64_t dropped;
	unsigned int owner;

	open_world(state, CLIENTS);
	handshake_all();
	for (unsigned int i = 0; i < CLIENTS; i += 2)
		allocate_next(i);
	c = find_away(&w);
	assert_non_null(c);
	client_view = sessions_view(w, c);
	owner = (unsigned int)__builtin_ctzll(c->away);
	c->away = 0;
	sessions_end(w, c, &w->live.dtls.idle);
	settle(4);
	assert_int_equal(world_stats(&world).turn.allocations, CLIENTS);

	dropped = world_dropped(&world, DP_DROP_DTLS_ENDED);
	fill_ring(w, owner);
	for (unsigned int i = 0; i < REPLIES; i++)
		reply(w, &client_view, owner);
	assert_int_equal(w->sessions->nb_owed, 1);
	settle(60); // messages in the ring before it come in bursts
	assert_int_equal(w->sessions->nb_owed, 0);
	assert_int_equal(world_dropped(&world, DP_DROP_DTLS_ENDED), dropped + REPLIES);
	assert_int_equal(world_stats(&world).turn.allocations, CLIENTS - 1);
	clients_world_close();
}
#endif

// However many ends there are, only as many are kept as there is room for.
static void test_many_owed(void **state)
{
	struct worker *w;
	struct turn_view client_view = {.src = world_endpoint("203.0.113.9", 0).addr,
		.src_port = 9,
		.leg = TURN_FROM_CLIENT,
		.via = TURN_NO_WORKER};

	open_world(state, 1);
	w = world.dp->worker[0];
	fill_ring(w, 1);
	for (unsigned int i = 0; i < 2 * OWED_ENDS; i++) {
		client_view.stream = UINT64_C(1) << 48 | i; // a session of the first worker
		reply(w, &client_view, 1);
	}
	assert_int_equal(w->sessions->nb_owed, OWED_ENDS);
	handshake_all(); // a worker that has never had a session has no ticks
	settle(60);
	assert_int_equal(w->sessions->nb_owed, 0);
	clients_world_close();
}

// --- the thread ----------------------------------------------------------------------------------

// The thread loses everything that has been handed to it.
static void forget(void)
{
	struct stream_message m[STREAM_BURST];
	const unsigned int n = streams_ops.receive(world.dp, 0, 0, m, STREAM_BURST);

	assert_in_range(n, 1, STREAM_BURST);
	for (unsigned int i = 0; i < n; i++)
		streams_ops.release(world.dp, 0, 0, m[i].buf);
}

// A handshake that the thread has forgotten, and then an answer that found no room.
static void test_never_told(void **state)
{
	const struct session *c;

	open_world(state, 1);
	c = world.dp->worker[0]->sessions->session;
	thread_asleep = true;
	for (unsigned int i = 0; i < 4; i++) {
		dtls_client_handshake(&end[0]);
		step();
	}
	assert_int_equal(c->state, SESSION_HANDSHAKE);
	forget();
	world_wait(&world, GIVEN_UP_MS + SCAN_MS);
	assert_int_equal(c->state, SESSION_GIVEN_UP);
	forget(); // in place of an answer that found no room
	world_wait(&world, AGAIN_MS + SCAN_MS);
	assert_int_equal(c->state, SESSION_GIVEN_UP);
	thread_asleep = false;
	settle(2);
	assert_int_equal(c->state, SESSION_FREE);
	clients_world_close();
}

// A thread may report an end twice. The session that it handed over still goes back to it.
static void test_told_twice(void **state)
{
	struct rte_mbuf *m;
	struct session *c;
	struct worker *w;
	uint64_t conn;

	open_world(state, 1);
	handshake_all();
	w = world.dp->worker[0];
	c = w->sessions->session;
	conn = sessions_conn(w, c);
	do { // until there is no room for it to return
		m = rte_pktmbuf_alloc(world.dp->pool);
		assert_non_null(m);
		mbuf_meta_of(m)->kind = MBUF_META_DTLS_NOTE;
		mbuf_meta_of(m)->dtls.kind = STREAM_GONE;
		mbuf_meta_of(m)->dtls.conn = 0; // belongs to no connection
		mbuf_meta_of(m)->dtls.session = NULL;
	} while (streams_give(w, 0, m));
	rte_pktmbuf_free(m);
	sessions_end(w, c, &w->live.dtls.idle);
	assert_int_equal(c->state, SESSION_CLOSED);
	sessions_refused(w, conn, NULL);
	settle(4);
	world_wait(&world, SCAN_MS);
	settle(4);
	assert_int_equal(c->state, SESSION_FREE);
	assert_int_equal(dtls_thread_stats().dtls_sessions, 0);
	clients_world_close();
}

static struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .dtls = true},
	{.workers = 3, .rx_queues = 2, .tx_queues = 3, .dtls = true},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef FEATURE_RESERVATIONS
		WORLD_CASE(test_end_owed, setups, 1),
#endif
		WORLD_CASE(test_many_owed, setups, 1),
		WORLD_CASE(test_never_told, setups, 0),
		WORLD_CASE(test_told_twice, setups, 0),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
