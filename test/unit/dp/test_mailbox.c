// SPDX-License-Identifier: BSD-3-Clause
// Questions to workers: answered over several rounds, abandoned and asked again, one requester at a
// time; and the explanation of every drop.
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "datapath.h"
#include "dp_world.h"
#include "turn_event.h"
#include "turn_quota.h"
#include "path/worker.h"

#define CLIENTS 150 // more than an answer has rows, and more than one call closes

static struct dp_world world;
static struct world_client client[CLIENTS];

static void wide_ring(struct dp_world *w)
{
	w->conf.events = 1024;
}

static const struct world_setup one = {
	.workers = 1, .rx_queues = 1, .tx_queues = 1, .relay_ports = 1024, .change = wide_ring};

static void open_world(unsigned int clients)
{
	world_open(&world, &one);
	for (unsigned int i = 0; i < clients; i++) {
		world_client(&world, &client[i], "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &client[i], 4), 0);
	}
}

static bool round_once(void)
{
	return worker_round(
		world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
}

// Asks and runs rounds until there is an answer. Returns how many rounds it took.
static unsigned int ask(const struct dp_question *q, const struct dp_answer **a)
{
	unsigned int rounds = 0;

	assert_int_equal(dp_ask(world.dp, 0, q), 0);
	while ((*a = dp_answered(world.dp, 0, q->kind)) == NULL) {
		round_once();
		assert_true(++rounds < 1000);
	}
	return rounds;
}

static void rows_come_page_by_page(void **state)
{
	struct dp_question q = {.kind = DP_ASK_ROWS, .max = 1000};
	const struct dp_answer *a;
	uint64_t last;

	open_world(CLIENTS);
	ask(&q, &a);
	assert_int_equal(a->nb, DP_ANSWER_ROWS);
	assert_false(a->walk.end);
	last = a->rows[a->nb - 1].id;
	q.walk = a->walk;
	dp_answer_done(world.dp, 0, q.kind);
	ask(&q, &a);
	assert_int_equal(a->nb, CLIENTS - DP_ANSWER_ROWS);
	assert_true(a->walk.end);
	assert_true(a->rows[0].id > last);
	dp_answer_done(world.dp, 0, q.kind);
	world_close(&world);
}

// A round closes 64 allocations at most, and is busy until all are closed: the worker does not
// sleep.
static void an_order_goes_on_over_rounds(void **state)
{
	const struct dp_question q = {.kind = DP_ASK_KILL};
	const struct dp_answer *a;

	open_world(CLIENTS);
	assert_int_equal(dp_ask(world.dp, 0, &q), 0);
	assert_true(round_once());
	assert_null(dp_answered(world.dp, 0, q.kind));
	assert_true(round_once());
	assert_null(dp_answered(world.dp, 0, q.kind));
	round_once();
	a = dp_answered(world.dp, 0, q.kind);
	assert_non_null(a);
	assert_int_equal(a->nb, CLIENTS);
	dp_answer_done(world.dp, 0, q.kind);
	world_round(&world);
	assert_int_equal(world_stats(&world).turn.allocations, 0);
	client_begin(&world, &client[0], STUN_REFRESH);
	assert_int_equal(client_ask(&world, &client[0]), 437); // RFC 8656 5
	world_close(&world);
}

// A worker that does not keep up gives questions one portion a millisecond, and datagrams the rest.
static void datagrams_come_before_questions(void **state)
{
	const struct dp_question q = {.kind = DP_ASK_KILL};
	const struct endpoint stranger = world_endpoint("10.99.0.21", 5000);
	unsigned int left = CLIENTS, ms = 0;

	open_world(CLIENTS);
	world.ms++;
	assert_int_equal(dp_ask(world.dp, 0, &q), 0);
	for (; dp_answered(world.dp, 0, q.kind) == NULL; world.ms++, ms++) {
		const unsigned int before = left;

		for (unsigned int i = 0; i < 10; i++) {
			for (unsigned int k = 0; k < 32; k++)
				world_send_bytes(
					&world, &stranger, &client[0].server, "12345678", 8);
			assert_true(round_once());
		}
		left = turn_quota_total(world.dp->quota);
		assert_in_range(before - left, 1, 64);
	}
	assert_int_equal(left, 0);
	assert_int_equal(ms, 3);
	dp_answer_done(world.dp, 0, q.kind);
	world_close(&world);
}

static void one_question_at_a_time(void **state)
{
	const struct dp_question q = {.kind = DP_ASK_KEYS, .max = 8};
	static struct turn_info rows[32];
	const struct dp_answer *a;

	open_world(3);
	assert_int_equal(dp_ask(world.dp, 1, &q), -ERANGE);
	assert_int_equal(dp_ask(world.dp, 0, &q), 0);
	assert_int_equal(dp_ask(world.dp, 0, &q), -EBUSY);
	assert_null(dp_answered(world.dp, 0, q.kind));
	// an abandoned question is not overwritten before the worker has seen it
	assert_int_equal(dp_list(world.dp, 0, 0, rows), -EBUSY);
	assert_int_equal(dp_list(world.dp, 0, 0, rows), -EBUSY);
	dp_answer_done(world.dp, 0, q.kind);
	assert_int_equal(dp_ask(world.dp, 0, &q), -EBUSY);
	assert_true(round_once());
	round_once();
	ask(&q, &a);
	assert_int_equal(a->nb, 3);
	dp_answer_done(world.dp, 0, q.kind);
	world_close(&world);
}

static void *list_thread(void *result)
{
	static struct turn_info rows[32];

	*(int *)result = dp_list(world.dp, 0, 0, rows);
	return NULL;
}

// Asks for a page from another thread.
static pthread_t list_begin(int *result)
{
	const struct mailbox_slot *s = &world.dp->worker[0]->mailbox.slot[MAILBOX_PAGES];
	const uint64_t before = s->asked;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, list_thread, result), 0);
	while (__atomic_load_n(&s->asked, __ATOMIC_ACQUIRE) == before) {
	}
	return thread;
}

// A scan asks again and again, and so does a reader of metrics: they take turns.
static void scans_and_pages_take_turns(void **state)
{
	const struct dp_question q = {.kind = DP_ASK_KEYS, .max = 8};
	const struct dp_answer *a;

	open_world(3);
	ask(&q, &a);
	dp_answer_done(world.dp, 0, q.kind);
	for (unsigned int i = 0; i < 3; i++) {
		int result = -1;
		pthread_t thread;

		assert_int_equal(dp_ask(world.dp, 0, &q), 0);
		thread = list_begin(&result);
		assert_true(round_once());
		assert_null(dp_answered(world.dp, 0, q.kind));
		pthread_join(thread, NULL);
		assert_int_equal(result, 3);
		thread = list_begin(&result);
		assert_true(round_once());
		assert_int_equal(dp_answered(world.dp, 0, q.kind)->nb, 3);
		dp_answer_done(world.dp, 0, q.kind);
		round_once();
		pthread_join(thread, NULL);
		assert_int_equal(result, 3);
		ask(&q, &a);
		dp_answer_done(world.dp, 0, q.kind);
	}
	world_close(&world);
}

// A reader of metrics asks for pages all the time, one after the other. Orders wait neither for a
// turn among these nor for their answers, and management's orders wait for no others.
static void orders_wait_for_no_list(void **state)
{
	const struct turn_intake none = {.drains = true};
	const struct dp_question list = {.kind = DP_ASK_KEYS, .max = 8},
				 kill = {.kind = DP_ASK_KILL},
				 drain = {.kind = DP_ASK_INTAKE, .intake = &none};
	int result = -1;
	pthread_t thread;

	open_world(3);
	assert_int_equal(dp_ask(world.dp, 0, &list), 0);
	thread = list_begin(&result);
	assert_int_equal(dp_ask(world.dp, 0, &kill), 0);
	assert_int_equal(dp_ask(world.dp, 0, &drain), 0);
	assert_int_equal(dp_ask(world.dp, 0, &kill), -EBUSY);
	assert_true(round_once());
	assert_non_null(dp_answered(world.dp, 0, drain.kind));
	assert_null(dp_answered(world.dp, 0, kill.kind));
	assert_true(round_once());
	assert_int_equal(dp_answered(world.dp, 0, kill.kind)->nb, 3);
	assert_null(dp_answered(world.dp, 0, list.kind));
	round_once();
	round_once();
	assert_int_equal(dp_answered(world.dp, 0, list.kind)->nb, 0); // all were closed
	pthread_join(thread, NULL);
	assert_int_equal(result, 0);
	dp_answer_done(world.dp, 0, drain.kind);
	dp_answer_done(world.dp, 0, kill.kind);
	dp_answer_done(world.dp, 0, list.kind);
	world_close(&world);
}

static void small_ring(struct dp_world *w)
{
	w->conf.events = 64;
}

// Takes all events from the ring; returns how many of them close an allocation.
static unsigned int ends_taken(void)
{
	struct turn_event e[64];
	unsigned int n, ends = 0;

	while ((n = dp_events(world.dp, e, 64)) > 0)
		for (unsigned int i = 0; i < n; i++)
			ends += e[i].kind == TURN_EVENT_ENDED;
	return ends;
}

// Each closed allocation has its event: an order to close more than the ring has room for waits for
// management, and the worker waits for nothing.
static void an_order_leaves_room_for_events(void **state)
{
	const struct world_setup small = {.workers = 1,
		.rx_queues = 1,
		.tx_queues = 1,
		.relay_ports = 1024,
		.change = small_ring};
	struct dp_question q = {.kind = DP_ASK_KILL};
	unsigned int killed = 0, ends = 0;
	const struct dp_answer *a;

	world_open(&world, &small);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		world_client(&world, &client[i], "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &client[i], 4), 0);
		ends_taken();
	}
	for (bool end = false; !end;) {
		const unsigned int before = killed;

		ask(&q, &a);
		killed += a->nb;
		q.walk = a->walk;
		end = a->walk.end;
		dp_answer_done(world.dp, 0, q.kind);
		// nobody takes events: the next answer comes at once, and says that no allocation
		// was closed
		if (!end) {
			assert_int_equal(ask(&q, &a), 1);
			assert_int_equal(a->nb, 0);
			assert_false(a->walk.end);
			dp_answer_done(world.dp, 0, q.kind);
			assert_false(round_once());
			assert_true(killed > before);
		}
		ends += ends_taken();
	}
	assert_int_equal(killed, CLIENTS);
	assert_int_equal(ends, CLIENTS);
	assert_int_equal(world_stats(&world).session_events_lost, 0);
	world_close(&world);
}

static void detail_says_the_way(void **state)
{
	struct dp_question q = {.kind = DP_ASK_ROWS, .max = 1};
	const struct endpoint near = world_endpoint("10.99.0.30", 7000),
			      far = world_endpoint("198.51.100.9", 7000),
			      gateway = world_endpoint("10.99.0.254", 0);
	const struct dp_answer *a;

	open_world(1);
	assert_int_equal(client_permit(&world, &client[0], &near), 0);
	assert_int_equal(client_bind(&world, &client[0], 0x4000, &far), 0);
	ask(&q, &a);
	q = (struct dp_question){
		.kind = DP_ASK_DETAIL, .filter = {.wants = TURN_FILTER_ID, .id = a->rows[0].id}};
	dp_answer_done(world.dp, 0, q.kind);
	ask(&q, &a);
	assert_true(a->detail.found);
	assert_true(a->detail.client.known);
	assert_true(addr_eq(&a->detail.client.via, &client[0].endpoint.addr)); // on-link
	assert_int_equal(a->detail.turn.nb_permissions, 2);
	for (unsigned int i = 0; i < 2; i++) {
		const struct addr *peer = &a->detail.turn.permission[i].peer;

		assert_true(addr_eq(&a->detail.permission[i].via,
			addr_eq(peer, &far.addr) ? &gateway.addr : peer));
	}
	assert_null(a->detail.cipher);
	dp_answer_done(world.dp, 0, q.kind);
	q.filter.id++;
	ask(&q, &a);
	assert_false(a->detail.found);
	dp_answer_done(world.dp, 0, q.kind);
	world_close(&world);
}

static void neighbours_are_those_of_the_link(void **state)
{
	const struct dp_question q = {.kind = DP_ASK_NEIGHBOURS, .max = DP_ANSWER_ROWS};
	struct dp_question next = q;
	const struct dp_answer *a;
	unsigned int found = 0;
	bool end = false;

	open_world(1);
	while (!end) {
		ask(&next, &a);
		for (unsigned int i = 0; i < a->nb; i++) {
			found += addr_eq(&a->neighbours[i].target, &client[0].endpoint.addr);
			if (addr_eq(&a->neighbours[i].target, &client[0].endpoint.addr))
				assert_int_equal(a->neighbours[i].state, NEIGH_REACHABLE);
		}
		next.walk = a->walk;
		end = a->walk.end;
		dp_answer_done(world.dp, 0, q.kind);
	}
	assert_int_equal(found, 1);
	world_close(&world);
}

static void every_drop_is_explained(void **state)
{
	for (unsigned int i = 0; i < DP_DROP_END; i++) {
		if (dp_drop_advice(i) == NULL)
			print_error("%s\n", dp_drop_name(i));
		assert_non_null(dp_drop_advice(i));
		assert_in_range(strlen(dp_drop_text(i)), 4, 200);
	}
	assert_null(dp_drop_advice(DP_DROP_END));
	assert_string_not_equal(dp_drop_advice(DP_DROP_NO_ROUTE), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_page_by_page),
		cmocka_unit_test(an_order_goes_on_over_rounds),
		cmocka_unit_test(datagrams_come_before_questions),
		cmocka_unit_test(one_question_at_a_time),
		cmocka_unit_test(scans_and_pages_take_turns),
		cmocka_unit_test(orders_wait_for_no_list),
		cmocka_unit_test(an_order_leaves_room_for_events),
		cmocka_unit_test(detail_says_the_way),
		cmocka_unit_test(neighbours_are_those_of_the_link),
		cmocka_unit_test(every_drop_is_explained),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
