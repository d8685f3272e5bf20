// SPDX-License-Identifier: BSD-3-Clause
// Framing by RFC 8489 5 and RFC 8656 12.5: whatever the pieces a stream comes in, the messages are
// the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bytes.h"
#include "frame.h"
#include "test_rand.h"

#define MESSAGES 24
#define STREAM 4096

struct sent {
	uint8_t bytes[STREAM];
	size_t len;
	unsigned int nb;
	size_t at[MESSAGES], size[MESSAGES], message[MESSAGES];
};

static void add(struct sent *s, const uint8_t *head, size_t head_len, size_t body, size_t pad)
{
	s->at[s->nb] = s->len;
	s->message[s->nb] = head_len + body;
	s->size[s->nb++] = head_len + body + pad;
	memcpy(s->bytes + s->len, head, head_len);
	memset(s->bytes + s->len + head_len, 0xee, body);
	memset(s->bytes + s->len + head_len + body, 0, pad);
	s->len += head_len + body + pad;
}

static void add_stun(struct sent *s, uint16_t body)
{
	uint8_t head[20] = {0, 1};

	store_be16(head + 2, body);
	store_be32(head + 4, 0x2112a442);
	add(s, head, sizeof(head), body, 0);
}

static void add_channel(struct sent *s, uint16_t number, uint16_t body)
{
	uint8_t head[4];

	store_be16(head, number);
	store_be16(head + 2, body);
	// "(4 + Length) rounded up to the nearest multiple of 4"
	add(s, head, sizeof(head), body, (4 - (4u + body) % 4) % 4);
}

static void compose(struct sent *s)
{
	*s = (struct sent){0};
	for (uint16_t body = 0; body < 9; body++)
		add_channel(s, body % 2 != 0 ? 0x4000 : 0x7fff, body);
	for (uint16_t body = 0; body < 40; body = (uint16_t)(body + 8))
		add_stun(s, body);
	for (uint16_t body = 160; body < 165; body++)
		add_channel(s, 0x4fff, body);
}

// Takes the stream in pieces, at most max bytes each, and expects what was sent.
static void deliver(const struct sent *s, struct test_rand *r, uint32_t max)
{
	size_t begin = 0, end = 0;
	unsigned int got = 0;
	struct frame f;

	while (got < s->nb) {
		switch (frame_scan(s->bytes + begin, end - begin, &f)) {
		case FRAME_WHOLE:
			assert_int_equal(begin, s->at[got]);
			assert_int_equal(f.size, s->size[got]);
			assert_int_equal(f.len, s->message[got]);
			begin += f.size;
			got++;
			break;
		case FRAME_SHORT:
			assert_true(end < s->len);
			assert_true(end - begin < s->size[got]);
			// as soon as the length is there it is told
			assert_int_equal(f.size, end - begin >= 4 ? s->size[got] : 0);
			end += 1 + test_rand_below(r, max);
			end = end < s->len ? end : s->len;
			break;
		case FRAME_BAD:
			fail_msg("message %u is refused", got);
		}
	}
	assert_int_equal(begin, s->len);
}

static void test_splits(void **state)
{
	struct test_rand r = test_rand_start("splits");
	struct sent s;

	compose(&s);
	assert_true(s.nb <= MESSAGES && s.len <= STREAM);
	deliver(&s, &r, 1);
	for (unsigned int round = 0; round < 2000; round++)
		deliver(&s, &r, 1 + test_rand_below(&r, 600));
}

// The border between two pieces at every place.
static void test_every_border(void **state)
{
	struct sent s;

	compose(&s);
	for (unsigned int m = 0; m < s.nb; m++) {
		for (size_t n = 0; n <= s.size[m]; n++) {
			struct frame f;

			assert_int_equal(frame_scan(s.bytes + s.at[m], n, &f),
				n < s.size[m] ? FRAME_SHORT : FRAME_WHOLE);
		}
	}
}

// RFC 7983: 0 to 3 is STUN; 64 to 127 ChannelData, of RFC 8656 or 5766. The first byte is enough.
static void test_first_byte(void **state)
{
	for (unsigned int first = 0; first < 256; first++) {
		const uint8_t b = (uint8_t)first;
		const bool known = first <= 3 || (first >= 64 && first <= 127);
		struct frame f;

		assert_int_equal(frame_scan(&b, 1, &f), known ? FRAME_SHORT : FRAME_BAD);
	}
}

static void test_bad_stun(void **state)
{
	struct sent s = {0};
	struct frame f;

	add_stun(&s, 8);
	for (uint8_t odd = 1; odd < 4; odd++) {
		s.bytes[3] = 8 + odd;
		assert_int_equal(frame_scan(s.bytes, 4, &f), FRAME_BAD);
	}
	s.bytes[3] = 8;
	for (unsigned int i = 4; i < 8; i++) {
		s.bytes[i] ^= 1;
		assert_int_equal(frame_scan(s.bytes, 7, &f), FRAME_SHORT);
		assert_int_equal(frame_scan(s.bytes, 8, &f), FRAME_BAD);
		assert_int_equal(frame_scan(s.bytes, s.len, &f), FRAME_BAD);
		s.bytes[i] ^= 1;
	}
}

// Lengths do not wrap.
static void test_longest(void **state)
{
	uint8_t b[8] = {0, 1, 0xff, 0xfc, 0x21, 0x12, 0xa4, 0x42};
	struct frame f;

	assert_int_equal(frame_scan(b, sizeof(b), &f), FRAME_SHORT);
	assert_int_equal(f.size, 65552);
	b[0] = 0x40;
	b[3] = 0xff;
	assert_int_equal(frame_scan(b, sizeof(b), &f), FRAME_SHORT);
	assert_int_equal(f.len, 65539);
	assert_int_equal(f.size, 65540);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_every_border),
		cmocka_unit_test(test_first_byte),
		cmocka_unit_test(test_bad_stun),
		cmocka_unit_test(test_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
