// SPDX-License-Identifier: BSD-3-Clause
// Framing by RFC 8489 5 and RFC 8656 12.5: in whatever pieces a stream comes, the messages are the
// same.
#include <stdbool.h>

#include "bytes.h"
#include "framing.h"
#include "stun.h"
#include "test.h"
#include "test_rand.h"

#define MESSAGES 24
#define STREAM 4096

struct sent {
	uint8_t bytes[STREAM];
	size_t len;
	unsigned int nb;
	size_t offset[MESSAGES], size[MESSAGES], message[MESSAGES];
};

// Scans like a server, which may have clients of RFC 5766.
static enum stun_framing_state scan(const uint8_t *p, size_t n, struct stun_framing *f)
{
	return stun_framing_scan(p, n, CHANNEL_MAX_RFC5766, f);
}

// Scans like a client of RFC 8656.
static enum stun_framing_state scan_new(const uint8_t *p, size_t n, struct stun_framing *f)
{
	return stun_framing_scan(p, n, CHANNEL_MAX, f);
}

static void add(struct sent *s, const uint8_t *head, size_t head_len, size_t body, size_t pad)
{
	s->offset[s->nb] = s->len;
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

// Takes the stream in pieces, at most max bytes each, and expects the messages that were sent.
static void deliver(const struct sent *s, struct test_rand *r, uint32_t max)
{
	size_t begin = 0, end = 0;
	unsigned int got = 0;
	struct stun_framing f;

	while (got < s->nb) {
		switch (scan(s->bytes + begin, end - begin, &f)) {
		case STUN_FRAMING_WHOLE:
			assert_int_equal(begin, s->offset[got]);
			assert_int_equal(f.size, s->size[got]);
			assert_int_equal(f.len, s->message[got]);
			begin += f.size;
			got++;
			break;
		case STUN_FRAMING_SHORT:
			assert_true(end < s->len);
			assert_true(end - begin < s->size[got]);
			// the size is known as soon as the length has arrived
			assert_int_equal(f.size, end - begin >= 4 ? s->size[got] : 0);
			end += 1 + test_rand_below(r, max);
			end = end < s->len ? end : s->len;
			break;
		case STUN_FRAMING_BAD:
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
			struct stun_framing f;

			assert_int_equal(scan(s.bytes + s.offset[m], n, &f),
				n < s.size[m] ? STUN_FRAMING_SHORT : STUN_FRAMING_WHOLE);
		}
	}
}

// RFC 7983: 0 to 3 is STUN; 64 to 127 ChannelData, of RFC 8656 or 5766. The first byte is enough.
static void test_first_byte(void **state)
{
	for (unsigned int first = 0; first < 256; first++) {
		const uint8_t b = (uint8_t)first;
		const bool known = first <= 3 || (first >= 64 && first <= 127);
		struct stun_framing f;

		assert_int_equal(scan(&b, 1, &f), known ? STUN_FRAMING_SHORT : STUN_FRAMING_BAD);
	}
}

static void test_bad_stun(void **state)
{
	struct sent s = {0};
	struct stun_framing f;

	add_stun(&s, 8);
	for (uint8_t odd = 1; odd < 4; odd++) {
		s.bytes[3] = 8 + odd;
		assert_int_equal(scan(s.bytes, 4, &f), STUN_FRAMING_BAD);
	}
	s.bytes[3] = 8;
	for (unsigned int i = 4; i < 8; i++) {
		s.bytes[i] ^= 1;
		assert_int_equal(scan(s.bytes, 7, &f), STUN_FRAMING_SHORT);
		assert_int_equal(scan(s.bytes, 8, &f), STUN_FRAMING_BAD);
		assert_int_equal(scan(s.bytes, s.len, &f), STUN_FRAMING_BAD);
		s.bytes[i] ^= 1;
	}
}

// Lengths do not wrap.
static void test_longest(void **state)
{
	uint8_t b[8] = {0, 1, 0xff, 0xfc, 0x21, 0x12, 0xa4, 0x42};
	struct stun_framing f;

	assert_int_equal(scan(b, sizeof(b), &f), STUN_FRAMING_SHORT);
	assert_int_equal(f.size, 65552);
	b[0] = 0x40;
	b[3] = 0xff;
	assert_int_equal(scan(b, sizeof(b), &f), STUN_FRAMING_SHORT);
	assert_int_equal(f.len, 65539);
	assert_int_equal(f.size, 65540);
}

// --- channel numbers of RFC 8656 only ------------------------------------------------------------

static uint8_t text[70000];

static void stun(uint16_t type, uint16_t len)
{
	store_be16(text, type);
	store_be16(text + 2, len);
	store_be32(text + 4, STUN_COOKIE);
}

static void channel(uint16_t number, uint16_t len)
{
	store_be16(text, number);
	store_be16(text + 2, len);
}

// Every prefix of a message is incomplete, and the whole message is complete, whatever follows.
static void assert_whole(uint32_t len, uint32_t size)
{
	struct stun_framing f;

	for (size_t n = 0; n < size; n++) {
		assert_int_equal(scan_new(text, n, &f), STUN_FRAMING_SHORT);
		assert_int_equal(f.size, n >= 4 ? size : 0);
	}
	for (size_t more = 0; more < 8; more++) {
		assert_int_equal(scan_new(text, size + more, &f), STUN_FRAMING_WHOLE);
		assert_int_equal(f.len, len);
		assert_int_equal(f.size, size);
	}
}

static void stun_tells_its_length(void **state)
{
	stun(0x0101, 0);
	assert_whole(20, 20);
	stun(0x0113, 96);
	assert_whole(116, 116);
	stun(0x0017, 0xfffc);
	assert_whole(65552, 65552);
}

static void channel_data_is_padded(void **state)
{
	static const uint32_t padded[] = {0, 4, 4, 4, 4, 8};
	struct stun_framing f;

	for (uint16_t n = 0; n < 6; n++) {
		channel((uint16_t)(0x4000 + n), n);
		assert_whole(4 + n, 4 + padded[n]);
	}
	channel(0x4fff, 0xffff);
	assert_int_equal(scan_new(text, 65540, &f), STUN_FRAMING_WHOLE);
	assert_int_equal(f.len, 65539);
	assert_int_equal(f.size, 65540);
	assert_int_equal(stun_framing_pad(65539), 1);
	assert_int_equal(stun_framing_pad(0), 0);
	assert_int_equal(stun_framing_pad(5), 3);
}

static void other_first_bytes_are_refused(void **state)
{
	struct stun_framing f;

	for (unsigned int first = 0; first < 256; first++) {
		const bool good = first < 4 || (first >= 0x40 && first <= 0x4f);

		memset(text, 0, 64);
		stun(0x0101, 0);
		text[0] = (uint8_t)first;
		assert_int_equal(
			scan_new(text, 1, &f), good ? STUN_FRAMING_SHORT : STUN_FRAMING_BAD);
		assert_int_equal(scan_new(text, 64, &f) == STUN_FRAMING_BAD, !good);
	}
	stun(0x0101, 2); // not a multiple of four
	assert_int_equal(scan_new(text, 4, &f), STUN_FRAMING_BAD);
	stun(0x0101, 0);
	text[7] ^= 1; // no cookie
	assert_int_equal(scan_new(text, 7, &f), STUN_FRAMING_SHORT);
	assert_int_equal(scan_new(text, 8, &f), STUN_FRAMING_BAD);
}

// The class bits of RFC 8489 5 (0x0110) are clear only in requests.
static void test_requests(void **state)
{
	for (unsigned int type = 0; type < 0x4000; type++) {
		const uint8_t p[] = {(uint8_t)(type >> 8), (uint8_t)type};

		if (p[0] <= STUN_FIRST_MAX)
			assert_int_equal(stun_framing_is_request(p), (type & 0x0110) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_every_border),
		cmocka_unit_test(test_first_byte),
		cmocka_unit_test(test_bad_stun),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(stun_tells_its_length),
		cmocka_unit_test(channel_data_is_padded),
		cmocka_unit_test(other_first_bytes_are_refused),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
