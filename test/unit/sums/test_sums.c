// SPDX-License-Identifier: BSD-3-Clause
// Sums of all allocations of a shard: complete once they have ended, no counter ever decreases, and
// the classes of lifetimes and sizes at their bounds.
#include "turn_fixture.h"

#include "alloc.h"
#include "shard.h"

#define CHANNEL 0x4000
#define CLIENTS 3

static struct fixture f;
static struct fixture_client client[CLIENTS];
static struct endpoint peer;
static uint8_t data[UINT16_MAX];
static struct turn_sums expected, before;

static struct turn_sums sums(void)
{
	struct turn_stats s;

	turn_shard_stats(f.shard, &s);
	return s.sums;
}

static void begin(struct fixture_client *c)
{
	assert_int_equal(fixture_allocate(&f, c, 4), 0);
	assert_int_equal(fixture_bind(&f, c, CHANNEL, "10.99.0.9", 7000), 0);
}

static int setup(void **state)
{
	*state = &f;
	client[0] = fixture_open_ivan(&f);
	for (uint16_t i = 1; i < CLIENTS; i++)
		client[i] = fixture_client("198.51.100.7", (uint16_t)(5000 + i));
	peer = fixture_endpoint("10.99.0.9", 7000);
	expected = before = (struct turn_sums){0};
	for (unsigned int i = 0; i < CLIENTS; i++)
		begin(&client[i]);
	return 0;
}

// --- relayed datagrams ---------------------------------------------------------------------------

static void relay(unsigned int i, unsigned int leg, uint16_t len)
{
	const struct turn_plan *p = leg == 0
		? fixture_channel_data(&f, &client[i], CHANNEL, data, len)
		: fixture_from_peer(&f, &client[i].relay, &peer, data, len);

	assert_true(p->verdict == TURN_RELAY);
	expected.datagrams[leg]++;
	expected.bytes[leg] += len;
}

static void take_back(unsigned int leg, uint16_t len)
{
	const struct turn_relayed r = {
		.slot = f.burst.view[0].slot, .bytes = len, .leg = (uint8_t)leg};

	turn_usage_lost(f.shard, &r, TURN_LOSS_WAY);
	expected.datagrams[leg]--;
	expected.bytes[leg] -= len;
	expected.lost[TURN_LOSS_WAY]++;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

// For each live allocation and leg up to 63 datagrams and 64 KiB are missing, or counted too much
// if they were taken back.
static void check_live(void)
{
	const struct turn_sums s = sums();

	for (unsigned int leg = 0; leg < 2; leg++) {
		assert_true(s.datagrams[leg] >= before.datagrams[leg]);
		assert_true(s.bytes[leg] >= before.bytes[leg]);
		assert_true(apart(s.datagrams[leg], expected.datagrams[leg]) <= CLIENTS * 63);
		assert_true(apart(s.bytes[leg], expected.bytes[leg]) <= CLIENTS * 65536);
	}
	assert_memory_equal(s.lost, expected.lost, sizeof(s.lost));
	before = s;
}

// Exact, except for datagrams that had been added before they were taken back, because no counter
// decreases: their number is known.
static void check_ended(void)
{
	const struct turn_sums s = sums();

	for (unsigned int leg = 0; leg < 2; leg++) {
		const struct sums_ahead *ahead = &f.shard->ahead;

		assert_int_equal(s.datagrams[leg] - ahead->datagrams[leg], expected.datagrams[leg]);
		assert_int_equal(s.bytes[leg] - ahead->bytes[leg], expected.bytes[leg]);
		assert_true(ahead->datagrams[leg] <= 64 && ahead->bytes[leg] <= 65536);
	}
	assert_memory_equal(s.lost, expected.lost, sizeof(s.lost));
	assert_int_equal(s.ended_bytes, expected.bytes[0] + expected.bytes[1]);
}

// A relayed datagram that waited for a neighbour may be dropped after its allocation has ended. The
// end has been reported by then, and the owner is no longer known: the loss is counted for no
// allocation.
static void late_losses_belong_to_no_allocation(void **state)
{
	struct sums_ahead none = {0};
	struct turn_relayed r;
	struct turn_sums s;

	relay(0, TURN_FROM_CLIENT, 500);
	r = (struct turn_relayed){.slot = f.burst.view[0].slot, .bytes = 500};
	assert_int_equal(fixture_refresh(&f, &client[0], 0), 0);
	s = sums();
	turn_usage_lost(f.shard, &r, TURN_LOSS_WAY);
	fixture_advance(&f, 5000);
	turn_usage_lost(f.shard, &r, TURN_LOSS_WAY);
	before = sums();
	assert_memory_equal(&s, &before, sizeof(s));
	assert_memory_equal(&f.shard->ahead, &none, sizeof(none));
}

static void nothing_is_missing_in_the_end(void **state)
{
	for (unsigned int n = 0; n < 20000; n++) {
		const unsigned int i = test_rand_below(&f.rand, CLIENTS);
		const unsigned int leg = test_rand_below(&f.rand, 2);
		const uint16_t most = leg == 0 || n % 3 == 0 ? 2047 : UINT16_MAX;
		const uint16_t len = (uint16_t)test_rand_below(&f.rand, most + 1u);

		relay(i, leg, len);
		if (n % 4 == 0)
			take_back(leg, len);
		if (n % 3000 == 2999) {
			assert_int_equal(fixture_refresh(&f, &client[i], 0), 0);
			begin(&client[i]);
		}
		check_live();
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_int_equal(fixture_refresh(&f, &client[i], 0), 0);
	check_ended();
}

// A count that has just spilled, and is then taken back repeatedly, is not added twice.
static void spilled_and_taken_back(void **state)
{
	for (unsigned int n = 0; n < 63; n++)
		relay(0, 1, 0);
	for (unsigned int n = 0; n < 200; n++) {
		relay(0, 1, UINT16_MAX);
		check_live();
		take_back(1, UINT16_MAX);
		check_live();
	}
	for (unsigned int i = 0; i < CLIENTS; i++)
		assert_int_equal(fixture_refresh(&f, &client[i], 0), 0);
	check_ended();
}

static void losses_are_counted_at_once(void **state)
{
	const struct endpoint stranger = fixture_endpoint("10.99.0.77", 9);

	f.shard->usage[0].lost[TURN_LOSS_PERMISSION] = UINT16_MAX; // an allocation stops there
	for (unsigned int i = 0; i < CLIENTS; i++)
		for (unsigned int n = 0; n < 5; n++)
			fixture_from_peer(&f, &client[i].relay, &stranger, data, 10);
	expected.lost[TURN_LOSS_PERMISSION] = 5 * CLIENTS;
	check_live();
}

// --- classes -------------------------------------------------------------------------------------

static uint32_t slot_of(const struct fixture_client *c)
{
	fixture_channel_data(&f, c, CHANNEL, data, 0);
	return f.burst.view[0].slot;
}

// Ends an allocation after this lifetime, and returns its class.
static unsigned int lifetime(uint32_t seconds)
{
	const struct turn_sums was = sums();
	struct turn_sums now;
	unsigned int class = TURN_LIFETIME_CLASSES;
	const uint32_t slot = slot_of(&client[0]);

	f.shard->usage[slot].made_s = (uint32_t)(f.now_ms / 1000) - seconds;
	assert_int_equal(fixture_refresh(&f, &client[0], 0), 0);
	now = sums();
	assert_int_equal(now.lifetime_s - was.lifetime_s, seconds);
	for (unsigned int i = 0; i < TURN_LIFETIME_CLASSES; i++) {
		if (now.lifetimes[i] == was.lifetimes[i])
			continue;
		assert_int_equal(now.lifetimes[i], was.lifetimes[i] + 1);
		assert_int_equal(class, TURN_LIFETIME_CLASSES); // in a single class
		class = i;
	}
	begin(&client[0]);
	return class;
}

static void lifetimes_have_classes(void **state)
{
	uint64_t bound = 1;

	assert_int_equal(lifetime(0), 0);
	for (unsigned int i = 0; i < TURN_LIFETIME_CLASSES - 1; i++, bound *= 2) {
		assert_int_equal(turn_lifetime_bound(i), bound);
		assert_int_equal(lifetime((uint32_t)bound), i);
		assert_int_equal(lifetime((uint32_t)bound + 1), i + 1);
	}
	assert_int_equal(bound, 1 << 18); // three days
	assert_true(turn_lifetime_bound(TURN_LIFETIME_CLASSES - 1) == UINT64_MAX);
	assert_int_equal(lifetime(UINT32_MAX / 2), TURN_LIFETIME_CLASSES - 1);
}

// Ends an allocation that has relayed this much.
static unsigned int size(uint64_t bytes)
{
	const struct turn_sums was = sums();
	struct turn_sums now;
	unsigned int class = TURN_SIZE_CLASSES;
	const uint32_t slot = slot_of(&client[0]);

	f.shard->usage[slot].bytes[1] = (uint32_t)(bytes / TURN_SPILL_BYTES);
	relay(0, 1, (uint16_t)(bytes % TURN_SPILL_BYTES));
	assert_int_equal(fixture_refresh(&f, &client[0], 0), 0);
	now = sums();
	assert_int_equal(now.ended_bytes - was.ended_bytes, bytes);
	for (unsigned int i = 0; i < TURN_SIZE_CLASSES; i++) {
		if (now.sizes[i] == was.sizes[i])
			continue;
		assert_int_equal(now.sizes[i], was.sizes[i] + 1);
		assert_int_equal(class, TURN_SIZE_CLASSES);
		class = i;
	}
	begin(&client[0]);
	return class;
}

static void sizes_have_classes(void **state)
{
	uint64_t bound = 1024;

	assert_int_equal(size(0), 0);
	for (unsigned int i = 0; i < TURN_SIZE_CLASSES - 1; i++, bound *= 4) {
		assert_int_equal(turn_size_bound(i), bound);
		assert_int_equal(size(bound), i);
		assert_int_equal(size(bound + 1), i + 1);
	}
	assert_int_equal(bound, UINT64_C(4) << 40); // the last one with an upper bound: 1 TiB
	assert_true(turn_size_bound(TURN_SIZE_CLASSES - 1) == UINT64_MAX);
	assert_int_equal(size(UINT64_C(9) << 40), TURN_SIZE_CLASSES - 1);
}

// An allocation counts however it ends, even if no events are taken.
static void every_end_counts(void **state)
{
	f.shard->event = NULL;
	alloc_end_client(f.shard, slot_of(&client[0]), TURN_END_KILLED);
	assert_int_equal(fixture_refresh(&f, &client[1], 0), 0);
	fixture_advance(&f, 700000);
	fixture_expire(&f);
	assert_int_equal(sums().lifetimes[0], 2);
	assert_int_equal(sums().lifetimes[10], 1); // up to 1,024 s
	assert_int_equal(sums().sizes[0], CLIENTS);
	assert_int_equal(sums().lifetime_s, 700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			nothing_is_missing_in_the_end, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			late_losses_belong_to_no_allocation, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(spilled_and_taken_back, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			losses_are_counted_at_once, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(lifetimes_have_classes, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(sizes_have_classes, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(every_end_counts, setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
