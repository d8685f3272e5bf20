// SPDX-License-Identifier: BSD-3-Clause
// Ids of allocations across restarts: a surviving allocation keeps its id, or is reported with
// both. No id is given twice, whatever happens in between.
#include "restart_world.h"
#include "shard_rows.h"

#define CLIENTS 50
#define PORTS 4

static struct restart r;
static struct turn_config config;
static struct fixture_client client[CLIENTS];

static void begin(unsigned int workers)
{
	config = fixture_config();
	config.workers = workers;
	restart_open(&r, &config, 7);
}

static void allocate(struct fixture_client *c, uint16_t port)
{
	*c = fixture_client("198.51.100.1", port);
	assert_int_equal(restart_allocate(&r, c, 4), 0);
}

// The id of the client's allocation, from the worker that has it; 0 = no allocation.
static uint64_t id_of(const struct fixture_client *c)
{
	struct turn_info info[2 * CLIENTS];

	for (unsigned int w = 0; w < r.nb; w++) {
		const unsigned int n = shard_rows(r.worker[w].shard, info, 2 * CLIENTS);

		for (unsigned int i = 0; i < n; i++)
			if (endpoint_eq(&info[i].client, &c->endpoint))
				return info[i].id;
	}
	return 0;
}

static uint64_t moved(void)
{
	uint64_t n = 0;

	for (unsigned int w = 0; w < r.nb; w++)
		n += r.worker[w].told.moved;
	return n;
}

// True if an event reports the client's allocation with both ids.
static bool is_told(const struct fixture_client *c, uint64_t was, uint64_t id)
{
	for (unsigned int w = 0; w < r.nb; w++)
		for (uint32_t i = 0; i < r.worker[w].told.nb; i++) {
			const struct turn_event *e = fixture_event(&r.worker[w], i);

			if (e->kind == TURN_EVENT_MOVED && e->was == was && e->id == id)
				return endpoint_eq(&e->client, &c->endpoint) &&
					endpoint_eq(&e->relay, &c->relay) && e->worker == w &&
					e->name_len > 0 && e->lifetime_s > 500;
		}
	return false;
}

static void test_lives_on(void **state)
{
	static const unsigned int nb[] = {2, 3, 3, 1, 4, 2};
	uint64_t ids[CLIENTS];

	begin(2);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		allocate(&client[i], (uint16_t)(5000 + i));
		ids[i] = id_of(&client[i]);
		assert_int_not_equal(ids[i], 0);
	}
	for (unsigned int k = 0; k < sizeof(nb) / sizeof(nb[0]); k++) {
		const bool same = nb[k] == config.workers;
		uint64_t changed = 0;

		config.workers = nb[k];
		restart_again(&r, &config, 1000);
		assert_int_equal(r.adopted.allocations, CLIENTS);
		for (unsigned int i = 0; i < CLIENTS; i++) {
			const uint64_t id = id_of(&client[i]);

			assert_true(id == ids[i] || is_told(&client[i], ids[i], id));
			changed += id != ids[i];
			ids[i] = id;
		}
		assert_int_equal(moved(), changed);
		assert_true(same ? changed == 0 : changed > 0);
	}
	restart_close(&r);
}

// Clients come and go on a few ports, across processes that adopt the state or not, and with other
// numbers of workers.
static void test_never_twice(void **state)
{
	static const unsigned int nb[] = {1, 1, 2, 2, 1, 3, 1, 2};
	static uint64_t given[8 * PORTS];
	unsigned int n = 0;

	begin(1);
	config.port_hi = (uint16_t)(config.port_lo + PORTS - 1);
	for (unsigned int k = 0; k < sizeof(nb) / sizeof(nb[0]); k++) {
		config.workers = nb[k];
		config.quarantine_s = k % 3 == 2 ? 60 : 0;
		restart_again(&r, &config, k % 2 ? 1000 : 100000);
		for (unsigned int i = 0; i < PORTS; i++) {
			struct fixture_client *c = &client[i];

			*c = fixture_client("198.51.100.1", (uint16_t)(5000 + n));
			if (restart_allocate(&r, c, 4) != 0)
				continue; // no port is free
			given[n] = id_of(c);
			for (unsigned int j = 0; j < n; j++)
				assert_int_not_equal(given[n], given[j]);
			n++;
			if (i % 2)
				continue; // it survives
			assert_int_equal(fixture_refresh(restart_at(&r, c), c, 0), 0);
			restart_notes(&r);
		}
		// half of the live ones end while no process runs
		restart_advance(&r, k % 2 ? 700000 : 0);
		for (unsigned int w = 0; w < r.nb; w++)
			fixture_expire(&r.worker[w]);
		restart_notes(&r);
	}
	assert_in_range(n, PORTS, 8 * PORTS);
	restart_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives_on),
		cmocka_unit_test(test_never_twice),
	};

	return cmocka_run_group_tests_name("state_ids", tests, NULL, NULL);
}
