// SPDX-License-Identifier: BSD-3-Clause
// Records of DTLS sessions without a handshake: two sessions, each with the other's keys, are the
// two ends. Expectations come from RFC 6347.
#include <string.h>

#include "bytes.h"
#include "dtls_hello.h"
#include "dtls_session.h"
#include "test.h"
#include "test_rand.h"

#define RECORD_MAX 2048
#define NONCE (UINT64_MAX - 1) // our first one: libssl used those before
#define SEQ_END ((UINT64_C(1) << 48) - 1) // last sequence number

static struct dtls_session *ours, *theirs;
static struct test_rand rnd;
static uint8_t sent[RECORD_MAX]; // sent by ours on its own
static size_t sent_len;

static void send_out(void *ctx, const uint8_t *data, size_t len)
{
	memcpy(sent, data, len);
	sent_len = len;
}

static struct dtls_keys keys_of(enum aead a, uint64_t next)
{
	struct dtls_keys k = {.aead = a, .next = {5, next}, .nonce = NONCE};

	for (unsigned int i = 0; i < 2; i++) {
		memset(k.key[i], (int)(0x30 + i), sizeof(k.key[i]));
		memset(k.salt[i], (int)(0x40 + i), salt_len(a));
	}
	return k;
}

static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const uint8_t c = a[i];

		a[i] = b[i];
		b[i] = c;
	}
}

static void open_both(enum aead a, uint64_t next)
{
	struct dtls_keys k = keys_of(a, next);

	ours = dtls_session_create(&k);
	swap(k.key[0], k.key[1], sizeof(k.key[0]));
	swap(k.salt[0], k.salt[1], sizeof(k.salt[0]));
	theirs = dtls_session_create(&k);
	assert_true(ours != NULL && theirs != NULL);
	sent_len = 0;
}

static void close_both(void)
{
	dtls_session_free(ours);
	dtls_session_free(theirs);
}

static int receive(struct dtls_session *s, const uint8_t *record, size_t len, uint8_t *got)
{
	uint8_t copy[RECORD_MAX], *message = NULL;
	struct dtls_wire w = {.in = copy, .in_len = (uint16_t)len, .out = send_out};
	int n;

	memcpy(copy, record, len);
	n = dtls_session_read(s, &w, &message);
	if (n > 0) {
		assert_true(message >= copy && message + n <= copy + len);
		memcpy(got, message, (size_t)n);
	} else {
		assert_int_equal(w.in_len, 0);
	}
	return n;
}

// --- the form of a record ------------------------------------------------------------------------

// Type, version, epoch 1, sequence numbers one by one, length (4.1), followed by the fields of the
// cipher (RFC 5288 3: 8 bytes of the nonce, counted up and so never repeated; RFC 7905 2: none).
static void test_form(void **state)
{
	for (enum aead a = 0; a < AEAD_NB; a++) {
		const unsigned int extra = a == AEAD_CHACHA20_POLY1305 ? 16 : 8 + 16;

		open_both(a, 77);
		for (unsigned int i = 0; i < 5; i++) {
			uint8_t record[RECORD_MAX], got[RECORD_MAX];
			const int n =
				dtls_session_write(ours, (const uint8_t *)"message", 7, record);

			assert_int_equal(n, 13 + 7 + extra);
			assert_int_equal(record[0], 23);
			assert_int_equal(load_be16(record + 1), 0xfefd);
			assert_int_equal(load_be64(record + 3), (UINT64_C(1) << 48) + 77 + i);
			assert_int_equal(load_be16(record + 11), 7 + extra);
			assert_true(extra == 16 || load_be64(record + 13) == NONCE + i);
			assert_int_equal(receive(theirs, record, (size_t)n, got), 7);
			assert_memory_equal(got, "message", 7);
		}
		close_both();
	}
}

static void test_any_place(void **state)
{
	open_both(AEAD_AES_128_GCM, 1);
	for (unsigned int i = 0; i < 2000; i++) {
		uint8_t buf[RECORD_MAX], message[256], got[RECORD_MAX];
		const size_t len = 1 + test_rand_below(&rnd, sizeof(message));
		const size_t src_off = test_rand_below(&rnd, 400),
			     dst_off = test_rand_below(&rnd, 400);
		int n;

		test_rand_fill(&rnd, message, len);
		memcpy(buf + src_off, message, len);
		n = dtls_session_write(ours, buf + src_off, len, buf + dst_off);
		assert_int_equal(receive(theirs, buf + dst_off, (size_t)n, got), len);
		assert_memory_equal(got, message, len);
	}
	close_both();
}

// --- records of another session, and no records --------------------------------------------------

static void test_not_ours(void **state)
{
	for (enum aead a = 0; a < AEAD_NB; a++) {
		uint8_t record[RECORD_MAX], got[RECORD_MAX];
		size_t len;

		open_both(a, 1);
		len = (size_t)dtls_session_write(theirs, (const uint8_t *)"0123456789", 10, record);
		for (unsigned int bit = 0; bit < 8 * len; bit++) {
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_int_equal(receive(ours, record, len, got), IO_LATER);
			record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		for (size_t cut = 0; cut < len; cut++) {
			uint8_t shorter[RECORD_MAX];

			assert_int_equal(receive(ours, record, cut, got), IO_LATER);
			memcpy(shorter, record, len);
			if (cut >= 13) {
				store_be16(shorter + 11, (uint16_t)(cut - 13));
				assert_int_equal(receive(ours, shorter, cut, got), IO_LATER);
			}
		}
		assert_int_equal(sent_len, 0);
		assert_int_equal(receive(ours, record, len, got), 10); // none of those was accepted
		close_both();
	}
}

// A reflected record of our own end.
static void test_reflected(void **state)
{
	uint8_t record[RECORD_MAX], got[RECORD_MAX];
	size_t len;

	open_both(AEAD_AES_256_GCM, 1);
	len = (size_t)dtls_session_write(ours, (const uint8_t *)"mine", 4, record);
	assert_int_equal(receive(ours, record, len, got), IO_LATER);
	close_both();
}

// An empty message delivers nothing (RFC 5246 6.2.1), and the one after it does.
static void test_empty(void **state)
{
	uint8_t record[RECORD_MAX], got[RECORD_MAX];
	size_t len;

	open_both(AEAD_AES_128_GCM, 1);
	len = (size_t)dtls_session_write(theirs, (const uint8_t *)"", 0, record);
	len += (size_t)dtls_session_write(theirs, (const uint8_t *)"more", 4, record + len);
	assert_int_equal(receive(ours, record, len, got), 4);
	close_both();
}

// --- no record twice (4.1.2.6) -------------------------------------------------------------------

#define SHIFTS 400

// Up to 64 numbers back are distinguished, older ones are refused, and no number is accepted twice.
static void test_window(void **state)
{
	static uint8_t record[SHIFTS][64];
	bool seen[SHIFTS] = {false};
	int len = 0, top = -1;

	open_both(AEAD_AES_128_GCM, 0);
	for (unsigned int i = 0; i < SHIFTS; i++)
		len = dtls_session_write(theirs, (const uint8_t *)"x", 1, record[i]);
	for (unsigned int i = 0; i < 20000; i++) {
		int number = top + 90 - (int)test_rand_below(&rnd, 200);
		uint8_t got[RECORD_MAX];
		bool fresh;

		if (i > 19000 || number < 0 || number >= SHIFTS)
			number = (int)test_rand_below(&rnd, SHIFTS);
		if (i < 15000 && number > (int)(i / 40)) // slowly increasing
			number = (int)(i / 40);
		fresh = number > top || (top - number < 64 && !seen[number]);
		assert_int_equal(
			receive(ours, record[number], (size_t)len, got), fresh ? 1 : IO_LATER);
		seen[number] |= fresh;
		top = number > top ? number : top;
	}
	assert_int_equal(top, SHIFTS - 1);
	close_both();
}

// The window moves by its whole length: it is empty then, and the last number is 63 back.
static void test_window_ends(void **state)
{
	static const struct {
		unsigned int number;
		int fresh;
	} order[] = {{0, 1}, {1, 1}, {65, 1}, {64, 1}, {65, 0}, {1, 0}, {2, 1}, {2, 0}, {66, 1},
		{2, 0}, {3, 1}, {140, 1}, {139, 1}, {140, 0}, {77, 1}, {76, 0}};
	static uint8_t record[141][64];
	uint8_t got[RECORD_MAX];
	int len = 0;

	open_both(AEAD_AES_128_GCM, 0);
	for (unsigned int i = 0; i < 141; i++)
		len = dtls_session_write(theirs, (const uint8_t *)"x", 1, record[i]);
	for (unsigned int i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		assert_int_equal(
			receive(ours, record[order[i].number], (size_t)len, got), order[i].fresh);
	close_both();
}

// A forged number does not move the window.
static void test_window_forged(void **state)
{
	uint8_t record[RECORD_MAX], forged[RECORD_MAX], got[RECORD_MAX];
	size_t len;

	open_both(AEAD_AES_128_GCM, 3);
	len = (size_t)dtls_session_write(theirs, (const uint8_t *)"true", 4, record);
	memcpy(forged, record, len);
	store_be32(forged + 7, 0x7fffffff);
	assert_int_equal(receive(ours, forged, len, got), IO_LATER);
	assert_int_equal(receive(ours, record, len, got), 4);
	close_both();
}

static void test_last_number(void **state)
{
	uint8_t record[RECORD_MAX], got[RECORD_MAX];
	struct dtls_wire w = {.out = send_out};
	int n;

	open_both(AEAD_CHACHA20_POLY1305, SEQ_END - 1);
	for (unsigned int i = 0; i < 2; i++) {
		n = dtls_session_write(ours, (const uint8_t *)"end", 3, record);
		assert_int_equal(receive(theirs, record, (size_t)n, got), 3);
	}
	assert_int_equal(load_be64(record + 3), (UINT64_C(1) << 48) + SEQ_END);
	assert_int_equal(dtls_session_write(ours, (const uint8_t *)"end", 3, record), IO_FAILED);
	dtls_session_close(ours, &w);
	assert_int_equal(w.outs, 0);
	close_both();
}

// --- alerts --------------------------------------------------------------------------------------

// A record of any type, sealed by one of the two ends: 0 is the client, 1 is our end.
static size_t seal_as(
	unsigned int sender, uint8_t type, const uint8_t *data, size_t len, uint8_t *record)
{
	struct dtls_keys k = keys_of(AEAD_AES_128_GCM, 0);
	struct aead_key *key = aead_key_create(k.aead, k.key[sender]);
	struct aead_with params = {.aad_len = 13};
	static uint64_t number = (UINT64_C(1) << 48) + 1000;

	number++;
	store_be64(record + 13, number);
	memcpy(record + 21, data, len);
	memcpy(params.nonce, k.salt[sender], 4);
	store_be64(params.nonce + 4, number);
	store_be64(params.aad, number);
	params.aad[8] = type;
	store_be16(params.aad + 9, 0xfefd);
	store_be16(params.aad + 11, (uint16_t)len);
	assert_true(aead_seal(key, &params, record + 21, len));
	aead_key_free(key);
	memcpy(record + 3, params.aad, 8);
	record[0] = type;
	store_be16(record + 1, 0xfefd);
	store_be16(record + 11, (uint16_t)(8 + len + 16));
	return 21 + len + 16;
}

// Decrypts a record that `sender` sealed. Returns its length.
static size_t unseal_as(unsigned int sender, const uint8_t *record, uint8_t *out)
{
	struct dtls_keys k = keys_of(AEAD_AES_128_GCM, 0);
	struct aead_key *key = aead_key_create(k.aead, k.key[sender]);
	const size_t len = load_be16(record + 11) - 24u;
	struct aead_with params = {.aad_len = 13};

	memcpy(params.nonce, k.salt[sender], 4);
	memcpy(params.nonce + 4, record + 13, 8);
	memcpy(params.aad, record + 3, 8);
	memcpy(params.aad + 8, record, 3);
	store_be16(params.aad + 11, (uint16_t)len);
	memcpy(out, record + 21, len + 16);
	assert_true(aead_open(key, &params, out, len));
	aead_key_free(key);
	return len;
}

static int receive_as(uint8_t type, const uint8_t *data, size_t len)
{
	uint8_t record[RECORD_MAX], got[RECORD_MAX];

	return receive(ours, record, seal_as(0, type, data, len, record), got);
}

// RFC 5246 7.2: close_notify and fatal alerts end the session; a warning does not.
static void test_alerts(void **state)
{
	uint8_t record[RECORD_MAX], got[RECORD_MAX];
	struct dtls_wire w = {.out = send_out};

	open_both(AEAD_AES_128_GCM, 1);
	assert_int_equal(receive_as(DTLS_APPLICATION, (const uint8_t *)"text", 4), 4);
	assert_int_equal(receive_as(DTLS_ALERT, (const uint8_t[]){1, 0}, 2), IO_CLOSED);
	assert_int_equal(receive_as(DTLS_ALERT, (const uint8_t[]){2, 0}, 2), IO_CLOSED);
	assert_int_equal(receive_as(DTLS_ALERT, (const uint8_t[]){2, 40}, 2), IO_FAILED);
	assert_int_equal(receive_as(DTLS_ALERT, (const uint8_t[]){1, 90}, 2), IO_LATER);
	assert_int_equal(receive_as(DTLS_ALERT, (const uint8_t[]){2}, 1), IO_LATER);
	assert_int_equal(receive_as(DTLS_ALERT, (const uint8_t[]){2, 40, 0}, 3), IO_LATER);
	for (unsigned int type = 0; type < 256; type++)
		if (type != DTLS_APPLICATION)
			assert_int_equal(receive_as((uint8_t)type, (const uint8_t *)"", 0), 0);
	assert_int_equal(sent_len, 0);
	dtls_session_close(ours, &w);
	assert_int_equal(w.outs, 1);
	assert_int_equal(sent[0], DTLS_ALERT);
	memcpy(record, sent, sent_len);
	assert_int_equal(receive(theirs, record, sent_len, got), IO_CLOSED);
	close_both();
}

// --- handshake messages --------------------------------------------------------------------------

#define RECORDS 4 // in a last flight

// A ticket in two records, CCS, Finished (type 20, in one of our records).
static size_t flight(uint8_t *out)
{
	static const uint8_t plain[] = {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 4, 'a', 'b',
		22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 3, 0, 2, 'c', 'd', 20, 0xfe, 0xfd, 0, 0, 0, 0,
		0, 0, 0, 4, 0, 1, 1};

	memcpy(out, plain, sizeof(plain));
	return sizeof(plain) +
		seal_as(1, DTLS_HANDSHAKE,
			(const uint8_t *)"\x14"
					 "Finished",
			9, out + sizeof(plain));
}

static void open_at(uint64_t next, const uint8_t *bytes, size_t len)
{
	struct dtls_keys k = keys_of(AEAD_AES_128_GCM, next);

	open_both(AEAD_AES_128_GCM, 9);
	dtls_session_free(ours);
	k.flight = bytes;
	k.flight_len = (uint16_t)len;
	ours = dtls_session_create(&k);
}

static void open_after(const uint8_t *bytes, size_t len)
{
	open_at(9, bytes, len);
}

// The client repeats its Finished, so it has not received ours: the flight is sent again in records
// with new numbers (4.2.2, 4.2.4).
static void test_flight(void **state)
{
	uint8_t bytes[FLIGHT_MAX], text[64];
	const size_t len = flight(bytes);

	open_after(bytes, len);
	for (unsigned int again = 0; again < 2; again++) {
		size_t offset = 0;

		assert_int_equal(receive_as(DTLS_HANDSHAKE, (const uint8_t *)"\x14...", 4), 0);
		assert_int_equal(sent_len, len);
		for (unsigned int i = 0; i < RECORDS - 1; i++) {
			const size_t body = load_be16(bytes + offset + 11);

			assert_int_equal(sent[offset], bytes[offset]);
			assert_int_equal(load_be64(sent + offset + 3), 5 + 3 * again + i);
			assert_memory_equal(sent + offset + 11, bytes + offset + 11, 2 + body);
			offset += 13 + body;
		}
		assert_int_equal(sent[offset], DTLS_HANDSHAKE);
		assert_int_equal(load_be64(sent + offset + 3), (UINT64_C(1) << 48) + 9 + again);
		assert_int_equal(unseal_as(1, sent + offset, text), 9);
		assert_memory_equal(text,
			"\x14"
			"Finished",
			9);
	}
	close_both();
}

// A flight with a long ticket is split into datagrams that any IPv4 path carries: 576 bytes with
// headers.
static void test_long_flight(void **state)
{
	uint8_t bytes[FLIGHT_MAX] = {22, 0xfe, 0xfd, [11] = 500 >> 8, [12] = 500 & 255}, record[64];
	const size_t len = 13 + 500 + flight(bytes + 13 + 500);
	const size_t n = seal_as(0, DTLS_HANDSHAKE, (const uint8_t *)"\x14", 1, record);
	struct dtls_wire w = {.in = record, .in_len = (uint16_t)n, .out = send_out};
	uint8_t *message;

	open_after(bytes, len);
	assert_int_equal(dtls_session_read(ours, &w, &message), IO_LATER);
	assert_int_equal(w.outs, 2);
	assert_int_equal(sent_len, len - 513); // the second one
	assert_in_range(sent_len, 1, 548);
	close_both();
}

// A limit on retransmissions, even if a client asks often, and several times in one datagram: a
// flight is longer than the message that asks for it.
static void test_flight_limit(void **state)
{
	uint8_t bytes[FLIGHT_MAX], records[RECORD_MAX], *message;
	struct dtls_wire w = {.out = send_out};
	unsigned int outs = 0;

	open_after(bytes, flight(bytes));
	for (unsigned int i = 0; i < 20; i++) {
		size_t len = 0;

		for (unsigned int n = 0; n < 30; n++)
			len += seal_as(0, DTLS_HANDSHAKE,
				(const uint8_t *)(n & 1 ? "\x01" : "\x14"), 1, records + len);
		w.in = records;
		w.in_len = (uint16_t)len;
		w.outs = 0;
		assert_int_equal(dtls_session_read(ours, &w, &message), IO_LATER);
		outs += w.outs;
	}
	assert_in_range(outs, 6, 20);
	assert_int_equal(receive_as(DTLS_APPLICATION, (const uint8_t *)"text", 4), 4);
	close_both();
}

// A retransmission uses no number twice.
static void test_flight_worn_out(void **state)
{
	uint8_t bytes[FLIGHT_MAX];

	open_at(SEQ_END, bytes, flight(bytes));
	assert_int_equal(receive_as(DTLS_HANDSHAKE, (const uint8_t *)"\x14...", 4), 0);
	assert_int_equal(sent_len, 0);
	close_both();
}

// An empty handshake record is no message, whatever its tag begins with (RFC 5246 6.2.1).
static void test_no_handshake(void **state)
{
	uint8_t bytes[FLIGHT_MAX];

	open_after(bytes, flight(bytes));
	for (unsigned int i = 0; i < 3000; i++)
		assert_int_equal(receive_as(DTLS_HANDSHAKE, bytes, 0), IO_LATER);
	assert_int_equal(sent_len, 0);
	close_both();
}

// A ClientHello is answered by no_renegotiation, a warning (RFC 5246 7.2.2).
static void test_hello(void **state)
{
	uint8_t bytes[FLIGHT_MAX], text[64];

	open_after(bytes, flight(bytes));
	assert_int_equal(receive_as(DTLS_HANDSHAKE, (const uint8_t *)"\x01...", 4), 0);
	assert_int_equal(sent[0], DTLS_ALERT);
	assert_int_equal(unseal_as(1, sent, text), 2);
	assert_memory_equal(text, "\x01\x64", 2);
	sent_len = 0;
	assert_int_equal(receive_as(DTLS_HANDSHAKE, (const uint8_t *)"\x0b...", 4), 0);
	assert_int_equal(sent_len, 0);
	close_both();
}

// Bytes that are not our flight are not sent again.
static void test_no_flight(void **state)
{
	uint8_t bytes[FLIGHT_MAX];
	const size_t len = flight(bytes);

	for (unsigned int i = 0; i < 3; i++) {
		flight(bytes);
		bytes[len - 1] ^= i == 0; // in the tag
		bytes[len - 50 + 4] = i == 1 ? 2 : 1; // the epoch
		open_after(bytes, i == 2 ? len - 1 : len);
		assert_int_equal(receive_as(DTLS_HANDSHAKE, (const uint8_t *)"\x14...", 4), 0);
		assert_int_equal(sent_len, 0);
		close_both();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_form),
		cmocka_unit_test(test_any_place),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_reflected),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_ends),
		cmocka_unit_test(test_window_forged),
		cmocka_unit_test(test_last_number),
		cmocka_unit_test(test_alerts),
		cmocka_unit_test(test_flight),
		cmocka_unit_test(test_long_flight),
		cmocka_unit_test(test_flight_limit),
		cmocka_unit_test(test_flight_worn_out),
		cmocka_unit_test(test_no_handshake),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_no_flight),
	};

	rnd = test_rand_start("record");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
