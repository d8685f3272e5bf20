// SPDX-License-Identifier: BSD-3-Clause
// The queue of a client that does not read: bounded, drops the oldest media first, and never a part
// of a message.
#include <stdbool.h>
#include <string.h>

#include "out/queue.h"
#include "test.h"
#include "test_rand.h"

#define LEN 100
#define WEIGHT (LEN + (uint32_t)sizeof(struct queue_item))

static unsigned int put(struct queue *q, uint32_t max, uint8_t mark, bool media)
{
	uint8_t data[LEN];

	memset(data, mark, sizeof(data));
	return queue_put(q, max, &(struct queue_message){.data = data, .len = LEN, .media = media});
}

// Takes the next message whole. Returns its mark, or 0 if the queue is empty.
static uint8_t take(struct queue *q)
{
	const uint8_t *data;
	struct iovec v;
	uint8_t mark;

	if (queue_pieces(q, &v, 1, SIZE_MAX) == 0)
		return 0;
	data = v.iov_base;
	assert_int_equal(v.iov_len, LEN);
	mark = data[0];
	for (unsigned int i = 0; i < LEN; i++)
		assert_int_equal(data[i], mark);
	assert_int_equal(queue_wrote(q, LEN), 1);
	return mark;
}

// Expects the next piece to begin with a mark and to have `len` bytes.
static void expect_piece(const struct queue *q, uint8_t mark, size_t len)
{
	struct iovec v;

	assert_int_equal(queue_pieces(q, &v, 1, SIZE_MAX), 1);
	assert_int_equal(v.iov_len, len);
	assert_int_equal(*(uint8_t *)v.iov_base, mark);
}

static void test_order(void **state)
{
	struct queue q = {0};

	for (uint8_t i = 1; i <= 5; i++)
		assert_int_equal(put(&q, 10 * WEIGHT, i, i % 2 == 0), 0);
	assert_int_equal(q.bytes, 5 * WEIGHT);
	assert_int_equal(q.kept, 3 * WEIGHT);
	for (uint8_t i = 1; i <= 5; i++)
		assert_int_equal(take(&q), i);
	assert_int_equal(take(&q), 0);
	assert_int_equal(q.bytes + q.kept, 0);
}

// 1 and 3 are answers: 2, the oldest media, makes room, then 4.
static void test_drops_oldest_media(void **state)
{
	struct queue q = {0};

	for (uint8_t i = 1; i <= 4; i++)
		put(&q, 4 * WEIGHT, i, i % 2 == 0);
	assert_int_equal(put(&q, 4 * WEIGHT, 5, true), 1);
	assert_int_equal(put(&q, 4 * WEIGHT, 6, false), 1);
	assert_int_equal(q.bytes, 4 * WEIGHT);
	assert_int_equal(take(&q), 1);
	assert_int_equal(take(&q), 3);
	assert_int_equal(take(&q), 5);
	assert_int_equal(take(&q), 6);
	assert_int_equal(take(&q), 0);
}

// No message may be dropped: the new one is refused.
static void test_full_of_answers(void **state)
{
	struct queue q = {0};

	for (uint8_t i = 1; i <= 3; i++)
		assert_int_equal(put(&q, 3 * WEIGHT, i, false), 0);
	assert_int_equal(put(&q, 3 * WEIGHT, 4, false), 1);
	assert_int_equal(put(&q, 3 * WEIGHT, 5, true), 1);
	assert_int_equal(q.bytes, 3 * WEIGHT);
	for (uint8_t i = 1; i <= 3; i++)
		assert_int_equal(take(&q), i);
	assert_int_equal(take(&q), 0);
}

// A message half of which is written has to be finished, whatever it is.
static void test_begun_stays(void **state)
{
	struct queue q = {0};
	uint8_t data[LEN];
	const struct queue_message half = {data, LEN, .done = 30, .media = true};

	memset(data, 1, sizeof(data));
	assert_int_equal(queue_put(&q, 2 * WEIGHT, &half), 0);
	put(&q, 2 * WEIGHT, 2, true);
	assert_int_equal(put(&q, 2 * WEIGHT, 3, true), 1);
	expect_piece(&q, 1, LEN - 30);
	assert_int_equal(queue_wrote(&q, 50), 0);
	assert_int_equal(put(&q, 2 * WEIGHT, 4, true), 1);
	expect_piece(&q, 1, LEN - 80);
	assert_int_equal(queue_wrote(&q, LEN - 80), 1);
	assert_int_equal(take(&q), 4);
	assert_int_equal(take(&q), 0);
}

// A message in the queue that is partly written is treated alike.
static void test_begun_later(void **state)
{
	struct queue q = {0};

	put(&q, 2 * WEIGHT, 1, true);
	put(&q, 2 * WEIGHT, 2, true);
	assert_int_equal(queue_wrote(&q, 1), 0);
	assert_int_equal(put(&q, 2 * WEIGHT, 3, true), 1);
	assert_int_equal(queue_wrote(&q, LEN - 1), 1);
	assert_int_equal(take(&q), 3);
	put(&q, 2 * WEIGHT, 4, true);
	queue_clear(&q);
	assert_int_equal(take(&q), 0);
	assert_int_equal(q.bytes, 0);
}

// A gathered write ends after a message, and the part that is written may end inside one.
static void test_pieces(void **state)
{
	struct queue q = {0};
	struct iovec v[8];

	assert_int_equal(queue_pieces(&q, v, 8, SIZE_MAX), 0);
	for (uint8_t i = 1; i <= 5; i++)
		put(&q, 10 * WEIGHT, i, true);
	assert_int_equal(queue_pieces(&q, v, 8, SIZE_MAX), 5);
	assert_int_equal(queue_pieces(&q, v, 3, SIZE_MAX), 3);
	assert_int_equal(queue_pieces(&q, v, 8, 2 * LEN), 2);
	assert_int_equal(queue_pieces(&q, v, 8, 3 * LEN - 1), 2);
	assert_int_equal(v[1].iov_len, LEN);
	assert_int_equal(queue_pieces(&q, v, 8, 1), 1); // one is whole, however long
	assert_int_equal(v[0].iov_len, LEN);
	assert_int_equal(queue_wrote(&q, 2 * LEN + 10), 2);
	assert_int_equal(queue_pieces(&q, v, 8, SIZE_MAX), 3);
	assert_int_equal(v[0].iov_len, LEN - 10);
	assert_int_equal(*(uint8_t *)v[0].iov_base, 3);
	assert_int_equal(v[1].iov_len, LEN);
	assert_int_equal(queue_wrote(&q, 3 * LEN - 10), 3);
	assert_int_equal(q.bytes + q.kept, 0);
}

// libssl has the rest of the first message: it gets this again, and no more, and the message is not
// dropped for newer ones. There is room for it in any case.
static void test_offered(void **state)
{
	const uint8_t data[LEN] = {1};
	struct queue q = {0};
	struct iovec v[8];

	assert_int_equal(queue_put(&q, LEN, &(struct queue_message){data, LEN, 40, true, true}), 0);
	put(&q, 2 * WEIGHT, 2, true);
	assert_int_equal(put(&q, 2 * WEIGHT, 3, true), 1);
	assert_int_equal(queue_pieces(&q, v, 8, SIZE_MAX), 1);
	assert_int_equal(v[0].iov_len, LEN - 40);
	assert_int_equal(queue_pieces(&q, v, 8, 1), 1);
	assert_int_equal(v[0].iov_len, LEN - 40);
	assert_int_equal(queue_wrote(&q, LEN - 40), 1);
	assert_int_equal(take(&q), 3);
	assert_int_equal(take(&q), 0);
}

// A message in the queue whose write has to be repeated is treated alike.
static void test_offered_later(void **state)
{
	struct queue q = {0};
	struct iovec v[8];

	put(&q, 2 * WEIGHT, 1, true);
	put(&q, 2 * WEIGHT, 2, true);
	q.offered = true;
	assert_int_equal(put(&q, 2 * WEIGHT, 3, true), 1);
	assert_int_equal(queue_pieces(&q, v, 8, SIZE_MAX), 1);
	assert_int_equal(queue_wrote(&q, 10), 0); // a record shorter than the offered bytes
	assert_false(q.offered);
	assert_int_equal(queue_pieces(&q, v, 8, SIZE_MAX), 2);
	expect_piece(&q, 1, LEN - 10);
	assert_int_equal(queue_wrote(&q, LEN - 10), 1);
	assert_int_equal(put(&q, WEIGHT, 4, true), 1);
	assert_int_equal(take(&q), 4);
	q.offered = true;
	queue_clear(&q);
	assert_false(q.offered);
}

// Random messages and writes: within the bound, in order, and no message counted as dropped is
// there.
static void test_random(void **state)
{
	struct test_rand r = test_rand_start("queue");
	const uint32_t max = 8 * WEIGHT;
	struct queue q = {0};
	unsigned int in = 0, out = 0, dropped = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		if (test_rand_below(&r, 3) != 0) {
			in++;
			dropped +=
				put(&q, max, (uint8_t)(1 + i % 255), test_rand_below(&r, 4) != 0);
		} else {
			out += take(&q) != 0;
		}
		assert_true(q.bytes <= max && q.kept <= q.bytes);
		assert_int_equal(q.bytes % WEIGHT, 0);
		assert_int_equal(in, out + dropped + q.bytes / WEIGHT);
	}
	assert_true(dropped > 1000 && out > 1000);
	queue_clear(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_drops_oldest_media),
		cmocka_unit_test(test_full_of_answers),
		cmocka_unit_test(test_begun_stays),
		cmocka_unit_test(test_begun_later),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_offered),
		cmocka_unit_test(test_offered_later),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
