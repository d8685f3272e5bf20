// SPDX-License-Identifier: BSD-3-Clause
// A storm of authenticated requests during calls. No relayed datagram may be lost, and every
// request must be answered or counted. Clients that retransmit as RFC 8489 requires get their
// answers in time, even during a storm of others.
#include "storm_world.h"
#include "datapath.h"

// --- storms -------------------------------------------------------------------------------------

// On the queue of a call, at rates below and far above the rate that a worker can answer.
static void test_same_queue(void **state)
{
	const uint64_t rates[] = {100000, 250000, 400000, 1000000, 3000000};

	for (unsigned int i = 0; i < RTE_DIM(rates); i++) {
		storm_open(1, 0);
		call_begins(0, 0, 5000);
		begin(storm, 2 * CLIENTS, 0, rates[i]);
		run(50);
		check(50, RTE_MIN(rates[i] * 9 / 10, UINT64_C(150000)));
	}
}

// Nothing has been relayed for long when the call begins, and no ring is full then.
static void test_call_begins(void **state)
{
	storm_open(1, 0);
	begin(storm, 2 * CLIENTS, 0, 3000000);
	run_for(20);
	call_begins(0, 0, 5000);
	run(50);
	check(70, 100000);
}

// A worker that relays at its limit is not delayed either.
static void test_busy(void **state)
{
	storm_open(1, 0);
	call_begins(0, 0, 3500000);
	begin(storm, 2 * CLIENTS, 0, 300000);
	run(20);
	check(20, 50000);
}

// The storm comes in on another worker's queue, is handed over, and uses the ring between the
// workers alone or shares it with the call.
static void test_other_queue(void **state)
{
	for (unsigned int shared = 0; shared < 2; shared++) {
		storm_open(2, 0);
		call_begins((uint16_t)shared, (uint16_t)shared, 20000);
		begin(storm, 2 * CLIENTS, 1, 2000000);
		run(50);
		check(50, 150000);
	}
}

// A storm of clients of one worker on all queues, and a call of the other worker, one direction of
// which uses the ring between them.
static void test_other_worker(void **state)
{
	storm_open(2, 1);
	begin(storm, 2 * CLIENTS, 0, 1000000);
	begin(storm, 2 * CLIENTS, 1, 1000000);
	call_begins(0, 1, 20000);
	run(50);
	check(50, 150000);
}

// Refreshes during requests of strangers: on one queue, and through the ring between workers.
static void test_strangers(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		const uint16_t queue = (uint16_t)(workers - 1);

		world_begin(workers, false);
		askers_make(ASKERS, 20000, true);
		fakes_of_strangers(CLIENTS);
		call_begins(queue, queue, 20000);
		begin(fakes, CLIENTS, queue, 3000000);
		run_askers(queue);
		assert_int_equal(world_stats(&world).drop[DP_DROP_BACKLOG_KNOWN], 0);
		check(PATIENCE_MS, 0);
	}
}

// Refreshes during requests of strangers on a worker that relays at its limit: nearly every burst
// is full.
static void test_strangers_busy(void **state)
{
	world_begin(1, false);
	askers_make(ASKERS, 20000, true);
	fakes_of_strangers(CLIENTS);
	call_begins(0, 0, 2500000);
	begin(fakes, CLIENTS, 0, 3000000);
	run_askers(0);
	check(PATIENCE_MS, 0);
}

// Requests spoofed in the name of some clients: all other clients get their answers in time.
static void test_in_the_name_of(void **state)
{
	const unsigned int victims[] = {1, 20, 200};

	for (unsigned int i = 0; i < RTE_DIM(victims); i++) {
		const unsigned int n = victims[i];

		world_begin(1, false);
		askers_make(ASKERS, 20000, true);
		fakes_of_askers(ASKERS - n, n);
		askers_forget(ASKERS - n); // these do not ask
		call_begins(0, 0, 20000);
		begin(fakes, n, 0, 3000000);
		run_askers(0);
		assert_int_equal(world_stats(&world).drop[DP_DROP_BACKLOG], 0);
		if (n == 1) // and none of the others
			assert_int_equal(world_stats(&world).drop[DP_DROP_BACKLOG_KNOWN], 0);
		check(PATIENCE_MS, 0);
	}
}

// A storm in the name of clients does not keep new clients out.
static void test_newcomers(void **state)
{
	world_begin(1, false);
	askers_make(CLIENTS, 20000, true);
	fakes_of_askers(0, CLIENTS);
	askers_forget(0);
	askers_make(CLIENTS, 30000, false);
	call_begins(0, 0, 20000);
	begin(fakes, CLIENTS, 0, 3000000);
	run_askers(0);
	check(PATIENCE_MS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_queue),
		cmocka_unit_test(test_call_begins),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_other_queue),
		cmocka_unit_test(test_other_worker),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_strangers_busy),
		cmocka_unit_test(test_in_the_name_of),
		cmocka_unit_test(test_newcomers),
	};

	world_eal();
	return cmocka_run_group_tests_name("storm", tests, NULL, NULL);
}
