// SPDX-License-Identifier: BSD-3-Clause
// A capture recognizes the protocols in a frame, and can leave out its payload. Frames come from
// frames.h and from the figures of RFC 791, 792, 8200, 8489 and 8656.
#include <stdlib.h>
#include <string.h>

#include "feature_names.h"
#include "addr_text.h"
#include "bytes.h"
#include "capture/capture_look.h"
#include "frames.h"
#include "stun.h"
#include "test.h"
#include "test_rand.h"

static struct capture_look look;

// Parses a block of exactly this length, so that a sanitizer finds reads beyond it.
static void look_at(const uint8_t *frame, uint32_t len)
{
	uint8_t *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy + 1, frame, len);
	capture_look(copy + 1, len, &look);
	assert_true(look.headers <= len);
	free(copy);
}

static bool goes(const char *src, uint16_t sport, const char *dst, uint16_t dport)
{
	struct endpoint a = {.port = sport}, b = {.port = dport};

	assert_int_equal(addr_parse(src, &a.addr) | addr_parse(dst, &b.addr), 0);
	return look.flow && endpoint_eq(&look.end[0], &a) && endpoint_eq(&look.end[1], &b);
}

static void datagrams_are_seen(void **state)
{
	look_at(udp4, sizeof(udp4));
	assert_true(goes("192.0.2.7", 50000, "198.51.100.1", 3478));
	assert_true(look.udp && look.ip && !look.piece);
	assert_int_equal(look.headers, 14 + 20 + 8);
	look_at(udp4_vlan, sizeof(udp4_vlan));
	assert_true(goes("192.0.2.7", 50000, "198.51.100.1", 3478));
	assert_int_equal(look.headers, 14 + 4 + 20 + 8);
	look_at(udp6, sizeof(udp6));
	assert_true(goes("2001:db8::7", 50000, "2001:db8:1::1", 3478));
	assert_int_equal(look.headers, 14 + 40 + 8);
}

static void arp_and_icmp_have_no_flow(void **state)
{
	look_at(arp_request, sizeof(arp_request));
	assert_true(!look.ip && !look.flow);
	assert_int_equal(look.headers, sizeof(arp_request));
	look_at(echo4, sizeof(echo4)); // the echoed data is payload
	assert_true(look.ip && !look.flow);
	assert_int_equal(look.headers, 14 + 20 + 8);
	look_at(echo6, sizeof(echo6));
	assert_int_equal(look.headers, 14 + 40 + 8);
}

// RFC 791 3.1 and RFC 9293 3.1: options belong to the header.
static void options_are_headers(void **state)
{
	uint8_t frame[14 + 24 + 32 + 9] = {[12] = 8, [14] = 0x46, [23] = 6};
	uint8_t *tcp = frame + 14 + 24;

	memcpy(frame + 26, "\xc0\0\2\7\xc6\x33\x64\1", 8);
	memcpy(tcp, "\xc3\x50\x0d\x96", 4);
	tcp[12] = 8 << 4;
	look_at(frame, sizeof(frame));
	assert_true(goes("192.0.2.7", 50000, "198.51.100.1", 3478));
	assert_false(look.udp);
	assert_int_equal(look.proto, 6);
	assert_int_equal(look.headers, 14 + 24 + 32);
}

// An error belongs to the flow of the quoted datagram, of which it has 64 bits (RFC 792).
static void an_error_is_about_its_datagram(void **state)
{
	uint8_t frame[14 + 20 + 8 + 20 + 8 + 11] = {[12] = 8, [14] = 0x45, [23] = 1, [34] = 3};
	uint8_t *quoted = frame + 14 + 20 + 8;

	memcpy(frame + 26, "\xc0\0\2\1\x0a\x63\0\1", 8);
	quoted[0] = 0x45;
	quoted[9] = 17;
	memcpy(quoted + 12, "\x0a\x63\0\1\xc0\0\2\x09", 8);
	memcpy(quoted + 20, "\xc3\x50\x1b\x58", 4);
	look_at(frame, sizeof(frame));
	assert_true(goes("10.99.0.1", 50000, "192.0.2.9", 7000));
	assert_false(look.udp);
	assert_int_equal(look.proto, 17);
	assert_int_equal(look.headers, sizeof(frame) - 11);
	frame[34] = 8; // an echo request with equal bytes
	look_at(frame, sizeof(frame));
	assert_false(look.flow);
	assert_int_equal(look.headers, 14 + 20 + 8);
}

static void fragments_are_seen(void **state)
{
	uint8_t frame[sizeof(udp4)], six[sizeof(udp6) + 8];

	memcpy(frame, udp4, sizeof(udp4));
	store_be16(frame + 20, 0x2000); // the first of several fragments
	look_at(frame, sizeof(frame));
	assert_true(look.piece && goes("192.0.2.7", 50000, "198.51.100.1", 3478));
	assert_int_equal(look.id, 0x1234);
	store_be16(frame + 20, 0x00b9); // a later fragment has no ports
	look_at(frame, sizeof(frame));
	assert_true(look.piece && !look.flow && !look.udp);
	assert_int_equal(look.headers, 14 + 20);

	memcpy(six, udp6, 54);
	six[20] = 44;
	memcpy(six + 54, "\x11\0\0\1\xde\xad\xbe\xef", 8);
	memcpy(six + 62, udp6 + 54, sizeof(udp6) - 54);
	look_at(six, sizeof(six));
	assert_true(look.piece && goes("2001:db8::7", 50000, "2001:db8:1::1", 3478));
	assert_int_equal(look.id, 0xdeadbeef);
	assert_int_equal(look.headers, 14 + 40 + 8 + 8);
	store_be16(six + 56, 8);
	look_at(six, sizeof(six));
	assert_true(look.piece && !look.flow);
	assert_int_equal(look.headers, 14 + 40 + 8);
}

// Any frame may be captured, for its drop reason.
static void damaged_frames_are_parsed(void **state)
{
	static const struct {
		const uint8_t *data;
		uint32_t len;
	} samples[] = {{udp4, sizeof(udp4)}, {udp4_vlan, sizeof(udp4_vlan)}, {udp6, sizeof(udp6)},
		{echo4, sizeof(echo4)}, {echo6, sizeof(echo6)}, {nd_advert, sizeof(nd_advert)}};
	struct test_rand rand = test_rand_start("capture_look");
	uint8_t frame[256];

	for (unsigned int n = 0; n < 200000; n++) {
		const unsigned int i = test_rand_below(&rand, 6);
		uint32_t len = samples[i].len;

		test_rand_fill(&rand, frame, sizeof(frame));
		memcpy(frame, samples[i].data, len);
		for (unsigned int k = test_rand_below(&rand, 4); k > 0; k--)
			frame[test_rand_below(&rand, len)] = (uint8_t)test_rand_below(&rand, 256);
		len = test_rand_below(&rand, sizeof(frame));
		look_at(frame, len);
	}
}

// --- messages ------------------------------------------------------------------------------------

static const uint8_t tid[STUN_TID_LEN] = "transaction";
static const char planted[] = "PLANTED-SECRET-OF-SOMEBODY";

static bool has_planted(const uint8_t *data, size_t len)
{
	return memmem(data, len, "PLANTED", 7) != NULL;
}

// Writes the part of a message that may be shown, in a block of exactly its length. Returns its
// length.
static uint32_t show(const uint8_t *message, uint32_t len, uint8_t *out)
{
	uint8_t *copy = malloc(len + 1);
	uint32_t n;

	assert_non_null(copy);
	memcpy(copy, message, len);
	n = capture_message_keep(copy, len);
	assert_true(n <= len);
	free(copy);
	copy = malloc(n + 1);
	assert_non_null(copy);
	memcpy(copy, message, n);
	capture_message_mask(copy, n);
	memcpy(out, copy, n);
	free(copy);
	return n;
}

// Names, nonces, tokens and integrity are overwritten; the requested values remain.
static void a_request_shows_numbers_alone(void **state)
{
	uint8_t message[512], shown[512];
	struct stun_writer w;
	struct stun_msg m;
	uint32_t v;
	size_t len;

	stun_begin(&w, message, sizeof(message), STUN_REQUEST, STUN_ALLOCATE, tid);
	stun_put(&w, STUN_USERNAME, planted, sizeof(planted));
	stun_put(&w, STUN_NONCE, planted, 13);
	stun_put(&w, STUN_REALM, planted, 14);
	stun_put(&w, STUN_USERHASH, planted, 15);
#ifdef FEATURE_RESERVATIONS
	stun_put(&w, STUN_RESERVATION_TOKEN, planted, 8);
#endif
	stun_put(&w, STUN_SOFTWARE, planted, sizeof(planted));
	stun_put(&w, STUN_MESSAGE_INTEGRITY, planted, 20);
	stun_put(&w, STUN_LIFETIME, "\0\0\2\x58", 4);
	stun_put(&w, STUN_ERROR_CODE, "\0\0\4\1PLANTED phrase", 18);
	stun_put(&w, STUN_REQUESTED_TRANSPORT, "\x11\0\0\0", 4);
	len = stun_end(&w);
	assert_int_equal(show(message, (uint32_t)len, shown), len);
	assert_true(has_planted(message, len));
	assert_false(has_planted(shown, len));
	assert_int_equal(stun_parse(shown, len, &m), 0);
	assert_memory_equal(shown, message, STUN_HEADER_LEN);
	assert_int_equal(m.alen[STUN_USERNAME], sizeof(planted));
	for (size_t pos = STUN_HEADER_LEN; pos < len;) { // types and lengths are unchanged
		assert_memory_equal(shown + pos, message + pos, 4);
		v = load_be16(message + pos);
		if (v == 0x000d || v == 0x0019)
			assert_memory_equal(shown + pos + 4, message + pos + 4, 4);
		pos += 4 + ((load_be16(message + pos + 2) + 3u) & ~3u);
	}
}

static void data_is_not_shown(void **state)
{
	struct endpoint peer = {.port = 7000};
	uint8_t message[512], shown[512];
	struct stun_writer w;
	size_t len;

	assert_int_equal(addr_parse("192.0.2.9", &peer.addr), 0);
	stun_begin(&w, message, sizeof(message), STUN_INDICATION, STUN_SEND, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&w, STUN_DATA_ATTR, planted, sizeof(planted));
	len = stun_end(&w);
	assert_int_equal(show(message, (uint32_t)len, shown), 20 + 12 + 4); // RFC 8656 11.1
	assert_memory_equal(shown, message, 20 + 12 + 4);
	// ChannelData (RFC 8656 12.4), a DTLS record (RFC 6347 4.1), RTP, nothing
	assert_int_equal(capture_message_keep((const uint8_t *)"\x40\1\0\3abc", 7), 4);
	assert_int_equal(capture_message_keep((const uint8_t *)"\x40\1", 2), 2);
	assert_int_equal(
		capture_message_keep((const uint8_t *)"\x17\xfe\xfd\0\1\0\0\0\0\0\1\0\4abcd", 17),
		13);
	assert_int_equal(capture_message_keep((const uint8_t *)"\x80\x60 media", 8), 0);
	assert_int_equal(capture_message_keep((const uint8_t *)"", 0), 0);
}

// Wrong lengths: nothing beyond the message is read, and no text is shown.
static void attributes_may_lie(void **state)
{
	struct test_rand rand = test_rand_start("capture_look");
	uint8_t message[300], shown[300];

	for (unsigned int n = 0; n < 100000; n++) {
		const uint32_t len = 20 + test_rand_below(&rand, 200);
		uint32_t pos = STUN_HEADER_LEN, kept;

		for (uint32_t i = 0; i < sizeof(message); i++)
			message[i] = (uint8_t)planted[i % 7];
		store_be16(message, 1);
		store_be16(message + 2, (uint16_t)test_rand_below(&rand, 260));
		store_be32(message + 4, STUN_COOKIE);
		while (pos + 4 < len && test_rand_below(&rand, 8) != 0) {
			const uint16_t size = (uint16_t)test_rand_below(&rand, 40);

			store_be16(message + pos, 0x0006); // USERNAME
			store_be16(message + pos + 2, size);
			pos += 4 + ((size + 3u) & ~3u);
		}
		if (pos + 4 <= sizeof(message))
			store_be16(message + pos, 0x0013); // DATA
		kept = show(message, len, shown);
		assert_false(kept > STUN_HEADER_LEN &&
			has_planted(shown + STUN_HEADER_LEN, kept - STUN_HEADER_LEN));
	}
}

static void messages_are_told_from_frames(void **state)
{
	static const uint8_t stun[20] = {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42};

	assert_true(capture_message_is(stun, sizeof(stun)));
	assert_true(capture_message_is((const uint8_t *)"\x40\1\0\3abc", 7));
	assert_true(capture_message_is((const uint8_t *)"\x40\1\0\3abc\0", 8)); // padded
	assert_false(capture_message_is((const uint8_t *)"\x40\1\0\3abcdefgh", 12));
	assert_false(capture_message_is(udp4, sizeof(udp4)));
	assert_false(capture_message_is(arp_request, sizeof(arp_request)));
	assert_false(capture_message_is(udp6, sizeof(udp6)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_are_seen),
		cmocka_unit_test(arp_and_icmp_have_no_flow),
		cmocka_unit_test(options_are_headers),
		cmocka_unit_test(an_error_is_about_its_datagram),
		cmocka_unit_test(fragments_are_seen),
		cmocka_unit_test(damaged_frames_are_parsed),
		cmocka_unit_test(a_request_shows_numbers_alone),
		cmocka_unit_test(data_is_not_shown),
		cmocka_unit_test(attributes_may_lie),
		cmocka_unit_test(messages_are_told_from_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
