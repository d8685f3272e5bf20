// SPDX-License-Identifier: BSD-3-Clause
// Timers of the generator's TURN clients: retransmissions to the millisecond (RFC 8489 6.2.1),
// refreshes over hours (RFC 8656 3.2, 9, 12), a large population.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/loadgen_world.h"

#define HOUR_MS (3600 * 1000)

static struct loadgen_world w;

static void open_mode(enum mode mode, uint32_t count)
{
	const struct config c = world_config(mode);

	world_open(&w, &c, count, 1);
	w.now_ms += 3; // not a multiple of the wheel's tick
}

static int setup(void **state)
{
	*state = &w;
	open_mode(MODE_ALLOC, 1);
	return 0;
}

// --- retransmissions -----------------------------------------------------------------------------

static void assert_transmissions(uint64_t begin)
{
	static const uint64_t sent[] = {0, 500, 1500, 3500, 7500, 15500, 31500};
	uint8_t first[CLIENT_MESSAGE_MAX];
	const size_t len = w.len;

	memcpy(first, w.out, len);
	for (int k = 1; k < 7; k++) {
		assert_true(world_wait(&w, HOUR_MS, 1));
		assert_int_equal(w.now_ms - begin, sent[k]);
		assert_int_equal(w.len, len);
		assert_memory_equal(w.out, first, len);
	}
	assert_false(world_wait(&w, 39500 - 31500 - 1, 1));
}

static void times_of_a_request_without_answer(void **state)
{
	world_start(&w, 0);
	assert_transmissions(w.now_ms);
	assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
	assert_false(world_wait(&w, 1, 1));
	assert_failed(&w, 0, CLIENT_FAULT_TIMEOUT);
	assert_int_equal(world_stats(&w)->requests, 1);
	assert_int_equal(world_stats(&w)->retransmissions, 6);
	assert_int_equal(w.answers, 0);
	assert_false(world_wait(&w, HOUR_MS, 100));
	world_start(&w, 0); // and from the start
	assert_transmissions(w.now_ms);
}

// Over TCP and TLS nothing is retransmitted; the client waits just as long (RFC 8489 6.2.2).
static void a_reliable_transport_is_trusted(void **state)
{
	for (enum transport t = TRANSPORT_TCP; t <= TRANSPORT_DTLS; t++) {
		struct config c = world_config(MODE_ALLOC);

		world_close(&w);
		c.transport = t;
		world_open(&w, &c, 1, 1);
		world_start(&w, 0);
		if (t == TRANSPORT_DTLS) { // datagrams in a session can be lost, too
			assert_transmissions(w.now_ms);
			continue;
		}
		assert_false(world_wait(&w, 39500 - 1, 1));
		assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
		assert_false(world_wait(&w, 1, 1));
		assert_failed(&w, 0, CLIENT_FAULT_TIMEOUT);
		assert_int_equal(world_stats(&w)->retransmissions, 0);
	}
}

// A client's state ends with its connection, in any state.
static void a_connection_that_ends(void **state)
{
	const struct config c = world_config(MODE_CHANNEL);

	world_close(&w);
	world_open(&w, &c, 4, 1);
	client_cut(w.clients, 3);
	assert_int_equal(world_state(&w, 3), CLIENT_IDLE);
	world_start(&w, 0);
	client_cut(w.clients, 0);
	assert_failed(&w, 0, CLIENT_FAULT_CONNECTION);
	client_cut(w.clients, 0); // once
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_CONNECTION], 1);
	world_start(&w, 1);
	world_challenge(&w, 401);
	world_accept(&w);
	world_accept(&w);
	assert_int_equal(world_state(&w, 1), CLIENT_READY);
	client_cut(w.clients, 1);
	assert_int_equal(world_state(&w, 1), CLIENT_FAILED);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_CONNECTION], 2);
	assert_false(world_wait(&w, HOUR_MS, 1000)); // no refreshes
	world_start(&w, 1); // over another connection
	world_accept(&w);
	world_accept(&w);
	world_release(&w, 1);
	client_cut(w.clients, 1); // counts as an answer
	assert_int_equal(world_state(&w, 1), CLIENT_IDLE);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_CONNECTION], 2);
	assert_false(world_wait(&w, HOUR_MS, 1000));
}

// A signed request is retransmitted byte for byte, too, while the server challenges other clients.
static void a_signed_request_is_retransmitted_as_it_was(void **state)
{
	open_mode(MODE_CHANNEL, 2);
	world_start(&w, 0);
	world_challenge(&w, 401);
	world_accept(&w);
	assert_int_equal(w.request.method, STUN_CHANNEL_BIND);
	for (int round = 0; round < 2; round++) {
		struct loadgen_world before = w;

		world_start(&w, 1);
		w.nonce_len = 300 * (size_t)(round + 1); // makes room for longer nonces
		world_challenge(&w, 401);
		world_refuse(&w, 486);
		memcpy(w.out, before.out, before.len);
		w.len = before.len;
	}
	assert_transmissions(w.now_ms);
	world_tick(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_BINDING);
	world_close(&w);
}

static void an_answer_to_an_earlier_transmission_counts(void **state)
{
	uint64_t begin;

	world_start(&w, 0);
	begin = w.now_ms;
	world_begin(&w, STUN_ERROR); // to the first
	stun_put_error(&w.w, 486, "");
	assert_true(world_wait(&w, 1000, 1));
	assert_true(world_wait(&w, 2000, 1));
	w.now_ms += 70;
	world_answer(&w);
	assert_failed(&w, 0, CLIENT_FAULT_REFUSED);
	assert_int_equal(w.answers, 1);
	assert_int_equal(w.last_ms, w.now_ms - begin);
	// and an answer to the second request, which no longer exists
	world_feed(&w, 0, w.answer, w.w.len);
	assert_int_equal(world_stats(&w)->stray, 1);
	assert_int_equal(world_stats(&w)->answers, 1);
}

static void other_messages_change_nothing(void **state)
{
	static const uint8_t tid[STUN_TID_LEN] = {1};

	world_start(&w, 0);
	for (int kind = 0; kind < 6; kind++) {
		const struct stun_msg request = w.request;

		stun_begin(&w.w, w.answer, sizeof(w.answer),
			kind == 0           ? STUN_REQUEST
				: kind == 1 ? STUN_INDICATION
					    : STUN_ERROR,
			kind == 2 ? STUN_REFRESH : STUN_ALLOCATE,
			kind == 3 ? tid : stun_tid(&request));
		stun_put_error(&w.w, 486, "");
		stun_put_fingerprint(&w.w);
		w.answer[w.w.len - 1] ^= kind == 4;
		world_feed(&w, 0, w.answer, w.w.len - (kind == 5 ? 4u : 0u));
		assert_int_equal(world_state(&w, 0), CLIENT_ALLOCATING);
		assert_int_equal(world_stats(&w)->stray, kind + 1);
	}
	assert_true(world_wait(&w, 500, 1));
}

// A sender that was delayed transmits once, and then at the interval of the RFC.
static void a_late_tick_sends_one_retransmission(void **state)
{
	uint64_t start_ms;

	world_start(&w, 0);
	w.now_ms += 10000;
	world_tick(&w);
	assert_true(w.len > 0);
	start_ms = w.now_ms;
	assert_true(world_wait(&w, HOUR_MS, 1));
	assert_int_equal(w.now_ms - start_ms, 1000);
}

// --- refreshes -----------------------------------------------------------------------------------

// Answers at once for hours, and computes when each request is due.
static void hold(enum mode mode, uint32_t lifetime_s, uint64_t hours)
{
	const uint64_t every[] = {[STUN_REFRESH] = lifetime_s * 1000ull * 5 / 6,
		[STUN_CREATE_PERMISSION] = 240 * 1000,
		[STUN_CHANNEL_BIND] = 540 * 1000};
	uint64_t due[STUN_CHANNEL_BIND + 1], end, n = 0;

	open_mode(mode, 1);
	w.lifetime_s = lifetime_s;
	world_ready(&w, 0);
	for (size_t m = STUN_REFRESH; m <= STUN_CHANNEL_BIND; m++)
		due[m] = w.now_ms + every[m];
	if (mode != MODE_CHANNEL)
		due[STUN_CHANNEL_BIND] = UINT64_MAX;
	if (mode == MODE_ALLOC_HOLD)
		due[STUN_CREATE_PERMISSION] = UINT64_MAX;
	end = w.now_ms + hours * HOUR_MS;
	while (world_wait(&w, end - w.now_ms, 1)) {
		const uint16_t method = w.request.method;

		n++;
		assert_int_equal(w.now_ms, due[method]);
		due[method] = w.now_ms + every[method];
		if (method == STUN_CHANNEL_BIND)
			due[STUN_CREATE_PERMISSION] = w.now_ms + every[STUN_CREATE_PERMISSION];
		if (method == STUN_REFRESH)
			assert_int_equal(load_be32(w.out + w.request.off[STUN_LIFETIME]), 600);
		world_accept(&w);
	}
	for (size_t m = STUN_REFRESH; m <= STUN_CHANNEL_BIND; m++)
		assert_true(every[m] == 0 || due[m] > w.now_ms);
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	assert_int_equal(world_stats(&w)->refreshes, n);
	assert_true(n >= hours * HOUR_MS / every[STUN_REFRESH]);
	assert_int_equal(world_stats(&w)->retransmissions, 0);
	world_close(&w);
}

static void refreshes_come_when_they_are_due(void **state)
{
	hold(MODE_CHANNEL, 600, 3);
	hold(MODE_CHANNEL, 3600, 3);
	hold(MODE_SEND, 600, 2);
	hold(MODE_SEND, 60, 1);
	hold(MODE_ALLOC_HOLD, 7, 1);
}

static void a_refresh_that_is_not_answered_times_out(void **state)
{
	world_ready(&w, 0);
	assert_true(world_wait(&w, HOUR_MS, 1));
	assert_int_equal(world_state(&w, 0), CLIENT_READY); // media flows on
	assert_transmissions(w.now_ms);
	world_wait(&w, 1, 1);
	assert_failed(&w, 0, CLIENT_FAULT_TIMEOUT);
}

// A client that is released during a refresh does not wait for its answer.
static void a_release_comes_before_a_refresh(void **state)
{
	world_ready(&w, 0);
	assert_true(world_wait(&w, HOUR_MS, 1));
	world_begin(&w, STUN_SUCCESS);
	world_put_success(&w);
	world_sign(&w);
	world_release(&w, 0);
	assert_true(w.len > 0);
	world_feed(&w, 0, w.answer, w.w.len); // to the Refresh before it
	assert_int_equal(world_state(&w, 0), CLIENT_RELEASING);
	assert_int_equal(world_stats(&w)->stray, 1);
	assert_true(world_wait(&w, 500, 1));
	world_accept(&w);
	assert_int_equal(world_state(&w, 0), CLIENT_IDLE);
}

// A hostile lifetime: as long and as short as possible.
static void lifetimes_at_the_ends(void **state)
{
	w.lifetime_s = UINT32_MAX;
	world_ready(&w, 0);
	assert_false(world_wait(&w, 1000ull * HOUR_MS, HOUR_MS));
	assert_int_equal(world_state(&w, 0), CLIENT_READY);
	world_release(&w, 0);
	world_accept(&w);
	w.lifetime_s = 1;
	world_start(&w, 0);
	world_accept(&w);
	assert_true(world_wait(&w, 834, 1));
	assert_int_equal(w.request.method, STUN_REFRESH);
}

// --- many clients --------------------------------------------------------------------------------

#define CROWD 20000

static void a_crowd_times_out_together(void **state)
{
	uint64_t begin;

	open_mode(MODE_ALLOC, CROWD);
	begin = w.now_ms;
	for (uint32_t i = 0; i < CROWD; i++)
		world_start(&w, i);
	for (; w.now_ms < begin + 45000; w.now_ms++)
		do
			world_tick(&w);
		while (w.len > 0);
	assert_int_equal(world_stats(&w)->retransmissions, 6 * CROWD);
	assert_int_equal(world_stats(&w)->fault[CLIENT_FAULT_TIMEOUT], CROWD);
	assert_int_equal(world_stats(&w)->state[CLIENT_FAILED], CROWD);
	world_close(&w);
}

static size_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long total, pages;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &total, &pages), 2);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

#define POPULATION 100000

// All clients have an allocation and a key; nonces are as long as slipring's, and as long as
// allowed.
static void population_in_its_memory(void **state)
{
	const size_t before = resident();
	struct config c = world_config(MODE_ALLOC_HOLD);
	size_t each[2];

	world_addrs(&c, "10.99.0.1", "198.51.100.2-198.51.100.5", NULL);
	c.user_per_client = true;
	world_open(&w, &c, POPULATION, 1);
	w.nonce_len = 32;
	for (uint32_t i = 0; i < POPULATION; i++) {
		world_start(&w, i);
		world_challenge(&w, 401);
		world_begin(&w, STUN_SUCCESS);
		world_put_success(&w);
		world_sign(&w);
		world_answer(&w);
	}
	assert_int_equal(world_stats(&w)->state[CLIENT_READY], POPULATION);
	each[0] = (resident() - before) / POPULATION;
	for (uint32_t i = 0; i < POPULATION; i++) {
		world_release(&w, i);
		w.nonce_len = STUN_TEXT_MAX;
		world_challenge(&w, 438);
	}
	each[1] = (resident() - before) / POPULATION;
	printf("bytes per client: %zu, with the longest nonces %zu\n", each[0], each[1]);
#ifndef __SANITIZE_ADDRESS__
	assert_true(each[1] < 1200);
	if (getenv("MALLOC_PERTURB_") == NULL) // which writes to unused memory
		assert_true(each[0] < 320);
#endif
	world_close(&w);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(population_in_its_memory), // first, because it measures
		ONE(times_of_a_request_without_answer),
		ONE(a_reliable_transport_is_trusted),
		ONE(a_connection_that_ends),
		cmocka_unit_test(a_signed_request_is_retransmitted_as_it_was),
		ONE(an_answer_to_an_earlier_transmission_counts),
		ONE(other_messages_change_nothing),
		ONE(a_late_tick_sends_one_retransmission),
		cmocka_unit_test(refreshes_come_when_they_are_due),
		ONE(a_refresh_that_is_not_answered_times_out),
		ONE(a_release_comes_before_a_refresh),
		ONE(lifetimes_at_the_ends),
		cmocka_unit_test(a_crowd_times_out_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
