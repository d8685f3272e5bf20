// SPDX-License-Identifier: BSD-3-Clause
// Records of any length come out as they went in, in order; a full ring reports that it is full.
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_ring.h"
#include "test.h"

#define SIZE 4096
#define RECORDS 100000

static struct capture_ring ring;
static uint8_t *mem;

static void open_ring(void)
{
	mem = aligned_alloc(64, SIZE); // exactly this size, so that a sanitizer finds more
	assert_non_null(mem);
	capture_ring_init(&ring, mem, SIZE);
}

// Writes a record with bytes that follow from its number.
static bool put(uint32_t number, uint32_t len)
{
	uint8_t *room = capture_ring_room(&ring, len);

	if (room == NULL)
		return false;
	assert_int_equal((uintptr_t)room % 8, 0);
	for (uint32_t i = 0; i < len; i++)
		room[i] = (uint8_t)(number * 31 + i);
	capture_ring_put(&ring, len);
	return true;
}

static bool take(uint32_t number, uint32_t len)
{
	uint32_t got;
	const uint8_t *record = capture_ring_first(&ring, &got);

	if (record == NULL)
		return false;
	assert_int_equal(got, len);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(record[i], (uint8_t)(number * 31 + i));
	capture_ring_drop(&ring);
	return true;
}

// At any position, an empty ring has room for a record of a quarter of its size.
static void an_empty_ring_has_room(void **state)
{
	uint32_t len;

	open_ring();
	for (uint32_t n = 0; n < 3000; n++) {
		const uint32_t small = n % 97;

		assert_null(capture_ring_first(&ring, &len));
		assert_true(put(n, small));
		assert_true(take(n, small));
		assert_true(put(n, SIZE / 4));
		assert_true(take(n, SIZE / 4));
		assert_null(capture_ring_room(&ring, SIZE / 4 + 1));
	}
	free(mem);
}

static void a_full_ring_says_so(void **state)
{
	uint32_t n = 0, taken = 0;

	open_ring();
	while (put(n, 100))
		n++;
	assert_in_range(n, 30, SIZE / 100);
	assert_false(put(n, 100));
	assert_true(take(taken++, 100));
	assert_true(put(n++, 100));
	while (taken < n)
		assert_true(take(taken++, 100));
	assert_false(take(taken, 100));
	free(mem);
}

// Reserved room may be used in part, or not at all.
static void reserved_room_may_stay_unused(void **state)
{
	open_ring();
	for (uint32_t n = 0; n < 1000; n++) {
		uint8_t *room = capture_ring_room(&ring, 700);

		assert_non_null(room);
		memset(room, 0, 700);
		if (n % 3 == 0)
			continue;
		assert_true(put(n, n % 11));
		assert_true(take(n, n % 11));
	}
	free(mem);
}

static uint32_t len_of(uint32_t number)
{
	return (number * 2654435761u >> 20) % 600;
}

static void *producer(void *arg)
{
	for (uint32_t n = 0; n < RECORDS; n++)
		while (!put(n, len_of(n)))
			sched_yield();
	return NULL;
}

static void one_thread_puts_while_another_takes(void **state)
{
	pthread_t thread;

	open_ring();
	assert_int_equal(pthread_create(&thread, NULL, producer, NULL), 0);
	for (uint32_t n = 0; n < RECORDS; n++)
		while (!take(n, len_of(n)))
			sched_yield();
	pthread_join(thread, NULL);
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_ring_has_room),
		cmocka_unit_test(a_full_ring_says_so),
		cmocka_unit_test(reserved_room_may_stay_unused),
		cmocka_unit_test(one_thread_puts_while_another_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
