// SPDX-License-Identifier: BSD-3-Clause
// A libcrypto cipher that fails, at each of its calls: no part of the message is sent, and the
// session continues with unused numbers. Runs dtls_session.c over aead_evp.c, on any machine.
#include <openssl/evp.h>
#include <string.h>

#include "bytes.h"
#include "dtls_hello.h"
#include "dtls_session.h"
#include "test.h"

#define SEAL_CALLS 5 // nonce, AAD, text, end, tag

static unsigned int calls, fail_at; // the call that fails, from 1; 0 = no failure

static bool failing(void)
{
	return ++calls == fail_at;
}

int __real_EVP_EncryptInit_ex(
	EVP_CIPHER_CTX *c, const EVP_CIPHER *t, ENGINE *e, const uint8_t *key, const uint8_t *iv);
int __real_EVP_EncryptUpdate(EVP_CIPHER_CTX *c, uint8_t *out, int *n, const uint8_t *in, int len);
int __real_EVP_EncryptFinal_ex(EVP_CIPHER_CTX *c, uint8_t *out, int *n);
int __real_EVP_CIPHER_CTX_ctrl(EVP_CIPHER_CTX *c, int type, int arg, void *p);
int __wrap_EVP_EncryptInit_ex(
	EVP_CIPHER_CTX *c, const EVP_CIPHER *t, ENGINE *e, const uint8_t *key, const uint8_t *iv);
int __wrap_EVP_EncryptUpdate(EVP_CIPHER_CTX *c, uint8_t *out, int *n, const uint8_t *in, int len);
int __wrap_EVP_EncryptFinal_ex(EVP_CIPHER_CTX *c, uint8_t *out, int *n);
int __wrap_EVP_CIPHER_CTX_ctrl(EVP_CIPHER_CTX *c, int type, int arg, void *p);

int __wrap_EVP_EncryptInit_ex(
	EVP_CIPHER_CTX *c, const EVP_CIPHER *t, ENGINE *e, const uint8_t *key, const uint8_t *iv)
{
	return failing() ? 0 : __real_EVP_EncryptInit_ex(c, t, e, key, iv);
}

int __wrap_EVP_EncryptUpdate(EVP_CIPHER_CTX *c, uint8_t *out, int *n, const uint8_t *in, int len)
{
	return failing() ? 0 : __real_EVP_EncryptUpdate(c, out, n, in, len);
}

int __wrap_EVP_EncryptFinal_ex(EVP_CIPHER_CTX *c, uint8_t *out, int *n)
{
	return failing() ? 0 : __real_EVP_EncryptFinal_ex(c, out, n);
}

int __wrap_EVP_CIPHER_CTX_ctrl(EVP_CIPHER_CTX *c, int type, int arg, void *p)
{
	return failing() ? 0 : __real_EVP_CIPHER_CTX_ctrl(c, type, arg, p);
}

static void fail_next(unsigned int call)
{
	calls = 0;
	fail_at = call;
}

static void test_seal(void **state)
{
	static const uint8_t secret[AEAD_KEY_MAX];

	for (enum aead a = 0; a < AEAD_NB; a++) {
		const struct aead_with params = {.aad_len = 13};
		struct aead_key *k = aead_key_create(a, secret);
		uint8_t data[4 + AEAD_TAG_LEN] = "text";

		assert_non_null(k);
		for (unsigned int call = 1; call <= SEAL_CALLS; call++) {
			fail_next(call);
			assert_false(aead_seal(k, &params, data, 4));
		}
		fail_next(0);
		memcpy(data, "text", 4);
		assert_true(aead_seal(k, &params, data, 4)); // it works as if new
		assert_int_equal(calls, SEAL_CALLS);
		assert_true(aead_open(k, &params, data, 4));
		assert_memory_equal(data, "text", 4);
		aead_key_free(k);
	}
}

static unsigned int sent;

static void send_out(void *ctx, const uint8_t *data, size_t len)
{
	sent++;
}

static struct dtls_session *session(enum aead a)
{
	const struct dtls_keys k = {.aead = a, .next = {5, 77}, .nonce = 1000};

	return dtls_session_create(&k);
}

static void test_record(void **state)
{
	for (enum aead a = 0; a < AEAD_NB; a++) {
		struct dtls_session *s = session(a);
		uint8_t record[64];

		for (unsigned int call = 1; call <= SEAL_CALLS; call++) {
			fail_next(call);
			assert_int_equal(
				dtls_session_write(s, (const uint8_t *)"message", 7, record),
				IO_LATER);
		}
		fail_next(0);
		assert_true(dtls_session_write(s, (const uint8_t *)"message", 7, record) > 7);
		assert_int_equal(load_be64(record + 3), (UINT64_C(1) << 48) + 77 + SEAL_CALLS);
		if (a != AEAD_CHACHA20_POLY1305)
			assert_int_equal(load_be64(record + 13), 1000 + SEAL_CALLS);
		dtls_session_free(s);
	}
}

static void test_alert(void **state)
{
	struct dtls_session *s = session(AEAD_AES_128_GCM);
	struct dtls_wire w = {.out = send_out};

	sent = 0;
	for (unsigned int call = 1; call <= SEAL_CALLS; call++) {
		fail_next(call);
		dtls_session_close(s, &w);
		assert_int_equal(w.unsealed, call);
	}
	assert_int_equal(sent + w.outs, 0);
	fail_next(0);
	dtls_session_close(s, &w);
	assert_int_equal(sent, 1);
	dtls_session_free(s);
}

// A Finished with a sequence number, from either end: all keys are zero. Returns its length.
static size_t finished(uint64_t seq, uint8_t *record)
{
	static const uint8_t zero[AEAD_KEY_MAX];
	struct aead_key *key = aead_key_create(AEAD_AES_128_GCM, zero);
	struct aead_with params = {.aad_len = DTLS_RECORD_LEN};

	record[0] = DTLS_HANDSHAKE;
	store_be16(record + 1, 0xfefd);
	store_be64(record + 3, (UINT64_C(1) << 48) + seq);
	memcpy(params.aad, record + 3, 8);
	memcpy(params.aad + 8, record, 3);
	store_be16(params.aad + 11, 2);
	store_be64(record + 13, seq);
	memcpy(params.nonce + 4, record + 13, 8);
	memcpy(record + 21, "\x14.", 2);
	assert_true(aead_seal(key, &params, record + 21, 2));
	store_be16(record + 11, 8 + 2 + AEAD_TAG_LEN);
	aead_key_free(key);
	return 21 + 2 + AEAD_TAG_LEN;
}

// Our last flight, of a plaintext record and a Finished: the part that can be sent is sent.
static void test_flight(void **state)
{
	static const uint8_t ccs[] = {20, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 1};
	struct dtls_keys k = {.aead = AEAD_AES_128_GCM, .next = {5, 1}};
	uint8_t flight[128], asked[64], *message;
	struct dtls_wire w = {.in = asked, .out = send_out};
	struct dtls_session *s;

	fail_next(0);
	memcpy(flight, ccs, sizeof(ccs));
	k.flight = flight;
	k.flight_len = (uint16_t)(sizeof(ccs) + finished(0, flight + sizeof(ccs)));
	s = dtls_session_create(&k);
	assert_non_null(s);
	w.in_len = (uint16_t)finished(9, asked);
	sent = 0;
	fail_next(2); // after the check of the received tag
	assert_int_equal(dtls_session_read(s, &w, &message), IO_LATER);
	assert_int_equal(sent, 1); // only the CCS
	assert_int_equal(w.unsealed, 1);
	dtls_session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seal),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_alert),
		cmocka_unit_test(test_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
