// SPDX-License-Identifier: BSD-3-Clause
// The memory of a million allocations on 62 relay addresses, each with two permissions and one
// channel. First a computed table of parts for 1, 8 and 16 workers. Then one shard for all of them
// is started and timed, and the allocations are made in it while the process grows. Not a test: it
// takes half a minute. MEMORY_ALLOCATIONS=n sets the number.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "turn_fixture.h"
#include "limits/stranger.h"
#include "shard.h"

#define ADDRESSES 62
#define PORT_LO 49152
#define PORT_HI 65535
#define ALLOCATIONS 1000000

static struct addr relay[ADDRESSES];

static double resident(void)
{
	unsigned long size, pages;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static struct turn_config config(uint32_t workers)
{
	struct turn_config c = fixture_config();

	for (unsigned int i = 0; i < ADDRESSES; i++)
		relay[i] = addr_from_v4((const uint8_t[4]){10, 99, 0, (uint8_t)(1 + i)});
	c.relay = relay;
	c.nb_relay = ADDRESSES;
	c.port_lo = PORT_LO;
	c.port_hi = PORT_HI;
	c.workers = workers;
	c.nonce_lifetime_s = 86400;
	return c;
}

// --- computed -----------------------------------------------------------------------------------

enum part {
	PART_HOT,
	PART_COLD,
	PART_USAGE,
	PART_TIMER,
	PART_PERMISSIONS,
	PART_CHANNELS,
	PART_POOLS,
	PART_CLIENTS,
	PART_PORTS,
	PART_LIMITERS,
	PART_REST,
	PART_QUOTA,
	PARTS
};

static const char *const names[PARTS] = {"line of a relayed packet", "the rest of it",
	"usage record", "timer", "two permissions", "one channel", "pools beyond them",
	"table of clients", "free ports", "rate limiters", "lists, redirects", "quotas"};

// Adds the memory of each part of one worker.
static void parts_add(
	const struct turn_config *c, const struct turn_relay_map *map, uint8_t worker, size_t *part)
{
	const struct turn_shard_params p = {.config = c, .map = map, .worker = worker};
	const uint32_t slots = turn_relay_map_slots(map, worker);
	const struct turn_pools pools = turn_shard_pools(&p);
	size_t known = 0;
	size_t worker_part[PART_REST] = {sizeof(struct turn_line) * slots,
		sizeof(struct turn_cold) * slots, sizeof(struct usage) * slots,
		sizeof(struct wheel_node) * slots, sizeof(struct turn_permission) * 2 * slots,
		TURN_CHANNEL_BYTES * (size_t)slots,
		(pools.permissions + SHARE_SLACK) * TURN_RECORD_BYTES +
			(pools.channels + SHARE_SLACK) * TURN_CHANNEL_BYTES + 2 * share_size(slots),
		table_size(slots), relay_ports_size(map, worker), stranger_size()};

	for (int i = 0; i < PART_REST; i++) {
		part[i] += worker_part[i];
		known += worker_part[i];
	}
	part[PART_REST] += turn_shard_size(&p) - known;
}

static double parts_of(uint32_t workers, double bytes[PARTS])
{
	const struct turn_config c = config(workers);
	struct turn_relay_map *map = turn_relay_map_create(&c);
	size_t part[PARTS] = {0};
	double sum = 0;

	assert_non_null(map);
	for (uint32_t w = 0; w < workers; w++)
		parts_add(&c, map, (uint8_t)w, part);
	part[PART_QUOTA] = turn_quota_size(ADDRESSES * (PORT_HI - PORT_LO + 1u));
	for (int i = 0; i < PARTS; i++) {
		bytes[i] = (double)part[i] / ALLOCATIONS;
		sum += bytes[i];
	}
	turn_relay_map_free(map);
	return sum;
}

static void test_parts(void **state)
{
	static const uint32_t workers[] = {1, 8, 16};
	// Bytes per allocation, everything counted. The memory that does not grow with allocations
	// is twice as large with 16 workers as with 8: 0.7 MB each, limiters and counts of users.
	static const double goals[] = {400, 400, 407};
	double bytes[3][PARTS], sum[3];

	for (int i = 0; i < 3; i++)
		sum[i] = parts_of(workers[i], bytes[i]);
	printf("bytes an allocation, %u at once on %u x %u ports\n%-26s", ALLOCATIONS, ADDRESSES,
		PORT_HI - PORT_LO + 1, "workers");
	for (int i = 0; i < 3; i++)
		printf("%8u", workers[i]);
	for (int part = 0; part < PARTS; part++)
		printf("\n%-26s%8.1f%8.1f%8.1f", names[part], bytes[0][part], bytes[1][part],
			bytes[2][part]);
	printf("\n%-26s%8.1f%8.1f%8.1f\n", "together", sum[0], sum[1], sum[2]);
	for (int i = 0; i < 3; i++)
		assert_true(sum[i] <= goals[i]);
}

// --- measured -----------------------------------------------------------------------------------

static void make(struct fixture *f, unsigned int i)
{
	const uint8_t ip[4] = {20, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
	struct fixture_client c = fixture_client("20.0.0.0", (uint16_t)(1024 + i % 60000));
	char peer[ADDR_TEXT_LEN];

	c.endpoint.addr = addr_from_v4(ip);
	assert_int_equal(fixture_allocate(f, &c, 4), 0);
	for (unsigned int k = 0; k < 2; k++) {
		snprintf(peer, sizeof(peer), "10.98.%u.%u", i % 250, k + 1);
		if (k == 0)
			assert_int_equal(fixture_permit(f, &c, peer), 0);
		else
			assert_int_equal(fixture_bind(f, &c, CHANNEL_MIN, peer, 4000), 0);
	}
}

static void test_made(void **state)
{
	static struct fixture f;
	const struct turn_config c = config(1);
	const char *env = getenv("MEMORY_ALLOCATIONS");
	const unsigned int n = env != NULL ? (unsigned int)strtoul(env, NULL, 0) : ALLOCATIONS;
	const double before = resident(), start = fixture_seconds();
	double opened, grown;
	struct turn_stats stats;

	fixture_open(&f, &c, 1);
	assert_in_range(n, 1, turn_relay_map_slots(f.map, 0));
	opened = fixture_seconds() - start;
	printf("start: %.0f ms, %.0f MB touched\n", opened * 1e3, (resident() - before) / 1e6);
	for (unsigned int i = 0; i < n; i++)
		make(&f, i);
	grown = resident() - before;
	printf("made: %u allocations in %.1f s; the process has grown by %.1f bytes each\n", n,
		fixture_seconds() - start - opened, grown / n);
	turn_shard_stats(f.shard, &stats);
	assert_int_equal(stats.allocations, n);
	assert_int_equal(stats.permissions, 2 * (uint64_t)n);
	assert_int_equal(stats.channels, n);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts), cmocka_unit_test(test_made)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
