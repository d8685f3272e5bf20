// SPDX-License-Identifier: BSD-3-Clause
// No cache line has two writers: data that one lcore writes while another reads or writes next to
// it has its own cache lines. Offsets by the compiler, addresses from a data path.
#include "datapath.h"
#include "dp_world.h"
#include "exception/exception.h"
#include "path/worker.h"

#define LINE(s, f) (offsetof(struct s, f) / RTE_CACHE_LINE_SIZE)
#define STARTS_LINE(s, f) assert_int_equal(offsetof(struct s, f) % RTE_CACHE_LINE_SIZE, 0)

static struct dp_world world;

static void assert_line(const void *p)
{
	assert_int_equal((uintptr_t)p % RTE_CACHE_LINE_SIZE, 0);
}

// Parts of a worker that other threads read, and parts that they write.
static void test_worker(void **state)
{
	STARTS_LINE(worker, steer);
	STARTS_LINE(worker, page);
	STARTS_LINE(worker, mailbox);
	assert_int_equal(sizeof(struct worker) % RTE_CACHE_LINE_SIZE, 0);
	// counters that are read now and then share no line with fields that change per packet
	assert_true(LINE(worker, live) < LINE(worker, steer));
	assert_true(LINE(worker, steer) < LINE(worker, page));
	assert_true(LINE(worker, page) < LINE(worker, mailbox));
}

// The requester writes the request, the worker writes the answer.
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

// Workers read the properties of a port; the management lcore writes its part each tick.
static void test_port(void **state)
{
	STARTS_LINE(dp_port, link_up);
	assert_true(LINE(dp_port, announce) < LINE(dp_port, link_up));
	assert_true(LINE(dp_port, steering) >= LINE(dp_port, link_up));
	assert_int_equal(sizeof(struct dp_port) % RTE_CACHE_LINE_SIZE, 0);
}

// A worker writes the counters of its lane of an exception port, the thread writes its own fields.
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

// Cache lines of real allocations; no two workers share a line.
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
