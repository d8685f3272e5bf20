// SPDX-License-Identifier: BSD-3-Clause
// The timer wheel against a list of times: no timer fires early or is lost, at any interval between
// two calls, and no call takes long.
#include <string.h>

#include "test.h"
#include "test_rand.h"
#include "wheel.h"

#define NODES 300
#define HOUR 3600000ull
#define DAY (24 * HOUR)

static struct wheel wheel;
static struct wheel_node nodes[NODES];

static bool fires(uint64_t now, uint32_t want)
{
	uint32_t ids[4];
	const unsigned int n = wheel_expire(&wheel, now, ids, 4);

	return n == 1 && ids[0] == want;
}

static bool silent(uint64_t now)
{
	uint32_t id;

	return wheel_expire(&wheel, now, &id, 1) == 0;
}

static void test_basics(void **state)
{
	memset(nodes, 0xa5, sizeof(nodes));
	wheel_init(&wheel, nodes, NODES, 1000);
	assert_false(wheel_armed(&wheel, 0));
	assert_false(wheel_armed(&wheel, NODES - 1));
	assert_true(silent(1000));
	assert_false(wheel_armed(&wheel, 5));
	wheel_set(&wheel, 5, 1100);
	assert_true(wheel_armed(&wheel, 5));
	assert_true(silent(1099));
	assert_true(silent(1103)); // tick 69 begins at 1104
	assert_true(fires(1104, 5));
	assert_false(wheel_armed(&wheel, 5));
	wheel_set(&wheel, 5, 2000);
	wheel_set(&wheel, 5, 3000); // later than before
	assert_true(silent(2500));
	wheel_set(&wheel, 5, 2600); // earlier than before
	assert_true(fires(2616, 5));
	wheel_set(&wheel, 5, 100); // long past
	wheel_set(&wheel, 6, 5000);
	wheel_cancel(&wheel, 6);
	wheel_cancel(&wheel, 6);
	assert_true(fires(2616, 5));
	assert_true(silent(10000));
}

static void test_max(void **state)
{
	uint32_t ids[NODES];
	bool seen[NODES] = {false};
	unsigned int total = 0, n;

	wheel_init(&wheel, nodes, NODES, 0);
	for (uint32_t id = 0; id < NODES; id++)
		wheel_set(&wheel, id, 500 + id / 100);
	do {
		n = wheel_expire(&wheel, 10 * DAY, ids, 32);
		for (unsigned int i = 0; i < n; i++) {
			assert_false(seen[ids[i]]);
			seen[ids[i]] = true;
		}
		total += n;
		// a timer set meanwhile is not lost and not early
		if (total == 32)
			wheel_set(&wheel, ids[0], 11 * DAY);
	} while (wheel_behind(&wheel, 10 * DAY));
	assert_int_equal(total, NODES);
	assert_true(silent(11 * DAY - 1));
	assert_int_equal(wheel_expire(&wheel, 11 * DAY + 16, ids, 32), 1);
	assert_int_equal(wheel_expire(&wheel, 11 * DAY + 16, ids, 0), 0);
}

// Times beyond the reach of the wheel, and a clock that crosses the end of its top level.
static void test_far(void **state)
{
	const uint64_t reach = 64ull * 64 * 64 * 64 * 64 * WHEEL_TICK_MS, far = 2 * reach - 10008;
	const uint64_t start = reach - 5000;

	wheel_init(&wheel, nodes, NODES, start);
	wheel_set(&wheel, 0, reach + 5008);
	wheel_set(&wheel, 1, reach - 16);
	wheel_set(&wheel, 2, UINT64_MAX);
	wheel_set(&wheel, 3, start + far);
	assert_true(silent(reach - 17));
	assert_true(fires(reach - 16, 1));
	assert_true(silent(reach + 5007));
	assert_true(fires(reach + 5008, 0));
	for (uint64_t now = reach + 6000; now < start + far; now += 20 * DAY)
		assert_true(silent(now));
	assert_true(silent(start + far - 1));
	assert_true(fires(start + far, 3));
	assert_true(silent(start + WHEEL_FAR_MS - 100));
	assert_true(fires(start + WHEEL_FAR_MS + 100, 2)); // as late as allowed
}

// An earlier time takes effect, a later one does not; an idle node is armed with any time.
static void test_sooner(void **state)
{
	wheel_init(&wheel, nodes, NODES, 1000);
	assert_false(wheel_later(&wheel, 4, 1000));
	wheel_set_sooner(&wheel, 4, 5000);
	assert_true(wheel_later(&wheel, 4, 1000));
	assert_true(wheel_later(&wheel, 4, 4970));
	assert_false(wheel_later(&wheel, 4, 5000));
	wheel_set_sooner(&wheel, 4, 9000);
	assert_true(silent(4999));
	assert_true(fires(5008, 4));
	wheel_set_sooner(&wheel, 4, 9000);
	wheel_set_sooner(&wheel, 4, 6000);
	assert_true(fires(6016, 4));
	assert_true(silent(10000));
	// across the overflow of a 32-bit counter
	wheel_init(&wheel, nodes, NODES, (UINT64_C(1) << 32) * WHEEL_TICK_MS - 5000);
	wheel_set(&wheel, 4, (UINT64_C(1) << 32) * WHEEL_TICK_MS + 5000);
	wheel_set_sooner(&wheel, 4, (UINT64_C(1) << 32) * WHEEL_TICK_MS + 6000);
	wheel_set_sooner(&wheel, 4, (UINT64_C(1) << 32) * WHEEL_TICK_MS + 4000);
	assert_true(silent((UINT64_C(1) << 32) * WHEEL_TICK_MS + 3999));
	assert_true(fires((UINT64_C(1) << 32) * WHEEL_TICK_MS + 4000, 4));
}

// A gap of a month costs one step per level, not a step per tick: 10,000 such gaps would be 10^12.
static void test_long_gaps(void **state)
{
	uint64_t now = 0;

	wheel_init(&wheel, nodes, NODES, now);
	for (int i = 0; i < 10000; i++) {
		wheel_set(&wheel, 7, now + 30 * DAY + 1600);
		now += 30 * DAY;
		assert_true(silent(now));
		now += 1632;
		assert_true(fires(now, 7));
	}
}

#define MANY 20000

static struct wheel_node many[MANY];

static uint64_t many_when(uint32_t id)
{
	return 600000 + id * 3;
}

// Records which list each node is on.
static void lists_of(uint32_t list[MANY])
{
	for (uint32_t id = 0; id < MANY; id++)
		list[id] = WHEEL_NONE;
	for (uint32_t l = 0; l < WHEEL_LEVELS * WHEEL_SLOTS; l++)
		for (uint32_t id = wheel.head[l / WHEEL_SLOTS][l % WHEEL_SLOTS]; id != WHEEL_NONE;
			id = many[id].next)
			list[id] = l;
}

// Number of nodes that a call moves from one list to another, or fires.
static unsigned int moved_by(uint64_t now, bool fired[])
{
	static uint32_t before[MANY], after[MANY];
	uint32_t ids[64];
	unsigned int n, moved = 0;

	lists_of(before);
	n = wheel_expire(&wheel, now, ids, 64);
	for (unsigned int i = 0; i < n; i++) {
		assert_true(many_when(ids[i]) <= now);
		assert_false(fired[ids[i]]);
		fired[ids[i]] = true;
	}
	lists_of(after);
	for (uint32_t id = 0; id < MANY; id++)
		moved += before[id] != after[id];
	return moved;
}

// A call stays short however many timers come down from a higher level at once; a caller that
// repeats it until the wheel has caught up gets them all, none early.
static void test_bounded(void **state)
{
	static bool fired[MANY];

	wheel_init(&wheel, many, MANY, 0);
	for (uint32_t id = 0; id < MANY; id++)
		wheel_set(&wheel, id, many_when(id));
	for (uint64_t now = 589000; now < 662000; now += WHEEL_TICK_MS) {
		do
			assert_in_range(moved_by(now, fired), 0, 1000);
		while (wheel_behind(&wheel, now));
		for (uint32_t id = 0; id < MANY; id++)
			assert_true(fired[id] || many_when(id) + WHEEL_TICK_MS > now);
	}
}

static uint64_t random_span(struct test_rand *r)
{
	static const uint64_t spans[] = {
		1, 16, 100, 1024, 5000, 70000, HOUR, DAY, 40 * DAY, 390 * DAY};

	return test_rand(r) % (spans[test_rand_below(r, 10)] + 1);
}

// Against a list of the times: equal sets at every step, however long the step.
static void test_property(void **state)
{
	struct test_rand r = test_rand_start("wheel");
	uint64_t when[NODES] = {0}; // 0 = idle
	uint64_t now = random_span(&r);

	wheel_init(&wheel, nodes, NODES, now);
	for (int i = 0; i < 200000; i++) {
		const uint32_t id = test_rand_below(&r, NODES);
		uint32_t ids[7];
		unsigned int n;

		switch (test_rand_below(&r, 8)) {
		default:
			when[id] = now + 1 + random_span(&r);
			if (test_rand_below(&r, 16) == 0)
				when[id] = now / 2 + 1;
			wheel_set(&wheel, id, when[id]);
			break;
		case 0:
			when[id] = 0;
			wheel_cancel(&wheel, id);
			break;
		case 1:
		case 2:
			now += random_span(&r);
			do {
				n = wheel_expire(&wheel, now, ids, 7);
				for (unsigned int k = 0; k < n; k++) {
					assert_int_not_equal(when[ids[k]], 0);
					assert_true(when[ids[k]] <= now);
					when[ids[k]] = 0;
				}
			} while (wheel_behind(&wheel, now));
			for (uint32_t k = 0; k < NODES; k++)
				assert_true(when[k] == 0 || when[k] + WHEEL_TICK_MS > now);
		}
		assert_int_equal(wheel_armed(&wheel, id), when[id] != 0);
	}
}

// No timer fires before wheel_next_ms, whatever is armed; and calling wheel_expire only at these
// times fires each timer as early as calling it all the time.
static void test_next(void **state)
{
	struct test_rand r = test_rand_start("wheel_next");
	uint64_t now = 5000, when[32];
	uint32_t id;

	wheel_init(&wheel, nodes, 32, now);
	assert_int_equal(wheel_next_ms(&wheel), UINT64_MAX);
	for (unsigned int i = 0; i < 2000; i++) {
		id = test_rand_below(&r, 32);
		when[id] =
			now + test_rand_below(&r, 1u << test_rand_below(&r, 31)); // up to 12 days
		wheel_set(&wheel, id, when[id]);
		assert_true(wheel_next_ms(&wheel) <= (when[id] + 15) / 16 * 16);
		if (wheel_next_ms(&wheel) > now) {
			now = wheel_next_ms(&wheel) - 1;
			assert_true(silent(now));
		}
		for (unsigned int n = 0; n < 8 && wheel_next_ms(&wheel) != UINT64_MAX; n++) {
			if (wheel_next_ms(&wheel) > now)
				now = wheel_next_ms(&wheel);
			while (wheel_expire(&wheel, now, &id, 1) == 1)
				assert_in_range(now, when[id], when[id] + WHEEL_TICK_MS + 1);
			assert_false(wheel_behind(&wheel, now));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basics),
		cmocka_unit_test(test_max),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_sooner),
		cmocka_unit_test(test_long_gaps),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
