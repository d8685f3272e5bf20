// SPDX-License-Identifier: BSD-3-Clause
// No cache line has two writers: what one lcore writes while another reads or writes beside it
// stands on lines of its own. Offsets by the compiler, addresses from a data path.
#include "datapath.h"
#include "dp_world.h"
#include "exception/exception.h"
#include "worker.h"

#define LINE(s, f) (offsetof(struct s, f) / RTE_CACHE_LINE_SIZE)
#define STARTS_LINE(s, f) assert_int_equal(offsetof(struct s, f) % RTE_CACHE_LINE_SIZE, 0)

static struct dp_world world;

static void assert_line(const void *p)
{
	assert_int_equal((uintptr_t)p % RTE_CACHE_LINE_SIZE, 0);
}

// What other threads read of a worker, and what they write to it.
static void test_worker(void **state)
{
	STARTS_LINE(worker, steer);
	STARTS_LINE(worker, page);
	STARTS_LINE(worker, mailbox);
	assert_int_equal(sizeof(struct worker) % RTE_CACHE_LINE_SIZE, 0);
	// counters that are read now and then do not share a line with what changes per packet
	assert_true(LINE(worker, live) < LINE(worker, steer));
	assert_true(LINE(worker, steer) < LINE(worker, page));
	assert_true(LINE(worker, page) < LINE(worker, mailbox));
}

// Asked by the requester, answered by the worker.
static void test_mailbox(void **state)
{
	STARTS_LINE(mailbox, answered);
	assert_int_not_equal(LINE(mailbox, asked), LINE(mailbox, answered));
	assert_int_not_equal(LINE(mailbox, slot), LINE(mailbox, answered));
	STARTS_LINE(mailbox_slot, answered);
	assert_int_not_equal(LINE(mailbox_slot, lock), LINE(mailbox_slot, answered));
	assert_int_equal(sizeof(struct mailbox) % RTE_CACHE_LINE_SIZE, 0);
}

static void test_stats_page(void **state)
{
	assert_int_equal(sizeof(struct stats_page) % RTE_CACHE_LINE_SIZE, 0);
}

// Workers read what a port is; the management lcore writes its part each tick.
static void test_port(void **state)
{
	STARTS_LINE(dp_port, link_up);
	assert_true(LINE(dp_port, announce) < LINE(dp_port, link_up));
	assert_true(LINE(dp_port, steering) >= LINE(dp_port, link_up));
	assert_int_equal(sizeof(struct dp_port) % RTE_CACHE_LINE_SIZE, 0);
}

// A worker writes its lane's counters of an exception port, the thread what is its own.
static void test_exception(void **state)
{
	STARTS_LINE(exception, taken);
	STARTS_LINE(exception, to_meter);
	STARTS_LINE(exception, lane);
	STARTS_LINE(exception_lane, given);
	assert_true(LINE(exception, rules) < LINE(exception, taken));
	assert_true(LINE(exception, taken) < LINE(exception, to_meter));
	assert_int_equal(sizeof(struct exception_lane) % RTE_CACHE_LINE_SIZE, 0);
}

// Producer and consumer of a ring.
static void test_ring(void **state)
{
	STARTS_LINE(rte_ring, prod);
	STARTS_LINE(rte_ring, cons);
	assert_int_not_equal(LINE(rte_ring, prod), LINE(rte_ring, cons));
	assert_true(LINE(rte_ring, name) < LINE(rte_ring, prod));
}

// The same of what was really allocated, and no two workers are neighbours on a line.
static void test_addresses(void **state)
{
	const struct world_setup s = {.workers = 4, .rx_queues = 4, .tx_queues = 4};
	struct dp *d;

	world_open(&world, &s);
	d = world.dp;
	assert_line(d);
	for (unsigned int w = 0; w < d->nb_workers; w++) {
		assert_line(d->worker[w]);
		assert_line(d->worker[w]->shard_mem);
		assert_line(d->worker[w]->neigh_mem);
		for (unsigned int target = 0; target < d->nb_workers; target++)
			assert_line(d->worker[w]->out[target]);
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worker),
		cmocka_unit_test(test_mailbox),
		cmocka_unit_test(test_stats_page),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_exception),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_addresses),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
