// SPDX-License-Identifier: BSD-3-Clause
// Which bytes are accepted as a state area, the handling of damage in one, and that the layout
// changes only deliberately.
#include "restart_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "state/area.h"

#define CLIENTS 40

// Changing any of these needs a new TURN_STATE_LAYOUT and a decision page: a box that is upgraded
// over the change drops all its calls (slipring-upgrade-check).
#define LAYOUT 1
#ifdef __AES__ // hash.h
#define DIGEST UINT64_C(0x5a7ea9874930bb6d)
#else
#define DIGEST UINT64_C(0xabe8cdacff579615)
#endif

static struct restart r;
static struct turn_config config;
static struct fixture_client client[CLIENTS];

static int setup(void **state)
{
	config = fixture_config();
	restart_open(&r, &config, 5);
	for (unsigned int i = 0; i < CLIENTS; i++) {
		client[i] = fixture_client("198.51.100.1", (uint16_t)(5000 + i));
		assert_int_equal(fixture_allocate(&r.worker[0], &client[i], 4), 0);
		assert_int_equal(
			fixture_bind(&r.worker[0], &client[i], 0x4001, "10.98.0.1", 7000), 0);
	}
	return 0;
}

static int teardown(void **state)
{
	restart_close(&r);
	return 0;
}

static void test_layout(void **state)
{
	unsigned int nb;
	const struct turn_state_field *f = turn_state_fields(&nb);

	if (turn_state_digest() != DIGEST)
		printf("the layout has changed: its digest is 0x%016llx\n",
			(unsigned long long)turn_state_digest());
	assert_int_equal(TURN_STATE_LAYOUT, LAYOUT);
	assert_int_equal(turn_state_digest(), DIGEST);
	// every byte of a record belongs to a field, so that none is undefined
	for (unsigned int i = 1; i < nb; i++) {
		const bool is_first = f[i].name[0] == 0;
		const bool is_union = strcmp(f[i].name, "source") == 0;

		if (!is_first && !is_union && f[i - 1].name[0] != 0)
			assert_int_equal(f[i].offset, f[i - 1].offset + f[i - 1].size);
	}
}

static enum turn_state_refusal check(const void *mem, size_t size)
{
	return turn_state_check(mem, size, r.boot_id);
}

// A copy of the area that ends where the block does, so that ASan detects reads beyond it.
static uint8_t *copy(size_t size)
{
	uint8_t *mem = malloc(size > 0 ? size : 1);

	assert_non_null(mem);
	memcpy(mem, r.area, size < r.size ? size : r.size);
	return mem;
}

static void test_truncated(void **state)
{
	const size_t sizes[] = {0, 1, 8, 15, 16, 64, 200, 4096, r.size / 2, r.size - 1};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *mem = copy(sizes[i]);
		const enum turn_state_refusal refusal = check(mem, sizes[i]);

		assert_true(refusal == TURN_STATE_TRUNCATED ||
			(sizes[i] < 8 && refusal == TURN_STATE_FOREIGN));
		free(mem);
	}
	assert_int_equal(check(r.area, r.size), TURN_STATE_GOOD);
}

static void test_foreign(void **state)
{
	uint8_t *mem = copy(r.size);

	memset(mem, 0, r.size);
	assert_int_equal(check(mem, r.size), TURN_STATE_FOREIGN);
	memcpy(mem, "#!/bin/sh", 9);
	assert_int_equal(check(mem, r.size), TURN_STATE_FOREIGN);
	free(mem);
}

// The bytes of a field of the header.
static uint8_t *field(uint8_t *mem, const char *name)
{
	unsigned int nb;
	const struct turn_state_field *f = turn_state_fields(&nb);

	for (unsigned int i = 0; i < nb; i++)
		if (strcmp(f[i].record, "state_header") == 0 && strcmp(f[i].name, name) == 0)
			return mem + f[i].offset;
	fail_msg("no field %s", name);
	return NULL;
}

static void test_refused(void **state)
{
	static const struct {
		const char *field;
		enum turn_state_refusal refusal;
	} changes[] = {
		{"magic", TURN_STATE_FOREIGN},
		{"layout", TURN_STATE_LAYOUT_OTHER},
		{"layout_digest", TURN_STATE_LAYOUT_OTHER},
		{"workers", TURN_STATE_DAMAGED},
		{"check", TURN_STATE_DAMAGED},
		{"listeners_at", TURN_STATE_DAMAGED},
		{"nb_relay", TURN_STATE_DAMAGED},
		{"version", TURN_STATE_DAMAGED},
		{"boot_id", TURN_STATE_DAMAGED},
		{"keys.quota", TURN_STATE_DAMAGED},
		{"record_key", TURN_STATE_DAMAGED},
		{"sealed", TURN_STATE_UNFINISHED},
		{"offset", TURN_STATE_GOOD},
		{"alive_ms", TURN_STATE_GOOD},
	};
	uint8_t other_boot[TURN_STATE_BOOT_ID_LEN] = {1};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t *mem = copy(r.size);

		field(mem, changes[i].field)[0] ^= 1;
		assert_int_equal(check(mem, r.size), changes[i].refusal);
		assert_non_null(turn_state_refusal_text(changes[i].refusal));
		free(mem);
	}
	assert_int_equal(turn_state_check(r.area, r.size, other_boot), TURN_STATE_OTHER_BOOT);
	assert_null(turn_state_refusal_text(TURN_STATE_REFUSAL_END));
	assert_null(turn_state_loss_name(TURN_STATE_LOST_END));
}

// The check covers every byte of the header and its tables that does not change while a process
// runs.
static void test_header_bytes(void **state)
{
	uint8_t *mem = copy(r.size);
	const size_t changing = (size_t)(field(mem, "offset") - mem);
	const size_t tables = 320; // length of the header
	uint64_t parts_at;

	memcpy(&parts_at, field(mem, "parts_at"), sizeof(parts_at));
	for (size_t i = 0; i < parts_at + 56; i++) { // 56: one worker's part
		mem[i] ^= (uint8_t)(1 << i % 8);
		if (i < changing || i >= tables)
			assert_int_not_equal(check(mem, r.size), TURN_STATE_GOOD);
		mem[i] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(check(mem, r.size), TURN_STATE_GOOD);
	free(mem);
}

// One bit of any record is flipped: that record is dropped and counted, with its dependent records;
// all others are adopted.
static void test_record_bits(void **state)
{
	struct test_rand rand = test_rand_start("state area");
	struct turn_state_about about;
	uint32_t total;

	turn_state_about(r.area, &about);
	assert_int_equal(about.workers, 1);
	assert_string_equal(about.version, "test");
	for (unsigned int i = 0; i < 400; i++) {
		uint64_t damaged;
		uint8_t *byte;

		do
			byte = (uint8_t *)r.area + 2048 +
				test_rand_below(&rand, (uint32_t)r.size - 2048);
		while (*byte == 0);
		*byte ^= (uint8_t)(1 << test_rand_below(&rand, 8));
		restart_again(&r, &config, 10);
		damaged = r.adopted.lost[TURN_STATE_LOST_DAMAGED] +
			r.adopted.lost[TURN_STATE_LOST_HALF];
		total = (uint32_t)turn_quota_total(r.worker[0].quota);
		assert_int_equal(total, r.adopted.allocations);
		assert_true(damaged <= 1);
		assert_in_range(r.adopted.allocations, CLIENTS - 1, CLIENTS);
		assert_in_range(r.adopted.permissions, CLIENTS - 1, CLIENTS);
		assert_in_range(r.adopted.channels, CLIENTS - 1, CLIENTS);
		teardown(NULL);
		setup(NULL);
	}
}

// A valid record of a client address that no datagram can have.
static void test_port_zero(void **state)
{
	struct state_header *h = &r.area->header;
	struct state_alloc *a =
		(struct state_alloc *)((uint8_t *)r.area + state_part(h, 0)->alloc_at);
	uint32_t slot = 0;

	while (a[slot].client_port != client[3].endpoint.port)
		slot++;
	a[slot].client_port = 0;
	a[slot].digest = state_digest_alloc(&h->record_key, &a[slot]);
	a[slot].word = state_word(
		&h->record_key, a[slot].digest, STATE_ARRAY_ALLOC | slot, state_time(a[slot].word));
	restart_again(&r, &config, 10);
	assert_int_equal(r.adopted.lost[TURN_STATE_LOST_DAMAGED], 1);
	assert_int_equal(r.adopted.allocations, CLIENTS - 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_layout),
		T(test_truncated),
		T(test_foreign),
		T(test_refused),
		T(test_header_bytes),
		T(test_record_bits),
		T(test_port_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
