// SPDX-License-Identifier: BSD-3-Clause
// The system's clock is set: workers have the new time of day at once, which decides about REST
// names, tokens and nonces, while lifetimes continue as before.
#include "datapath.h"
#include "dp_world.h"
#include "path/worker.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct dp_world world;
static time_t step_s;

// Replaces the function of the C library.
int clock_gettime(clockid_t clock, struct timespec *t)
{
	const int rc = (int)syscall(SYS_clock_gettime, clock, t);

	if (clock == CLOCK_REALTIME)
		t->tv_sec += step_s;
	return rc;
}

static uint64_t wall_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec;
}

static void test_step(void **state)
{
	static const time_t steps[] = {3600, -7200, 1, 0};
	const struct world_setup s = {.workers = 2, .rx_queues = 2, .tx_queues = 2};

	world_open(&world, &s);
	world_round(&world);
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const uint64_t before_ms = world.ms += 100;

		step_s = steps[i];
		world_round(&world);
		for (unsigned int w = 0; w < 2; w++) {
			const struct worker *worker = world.dp->worker[w];

			assert_in_range(worker->wall_s, wall_s() - 1, wall_s());
			assert_in_range(worker->now_ms, before_ms, before_ms + 1);
		}
	}
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_step)};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
