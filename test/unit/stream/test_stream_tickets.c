// SPDX-License-Identifier: BSD-3-Clause
// Options of TLS that are always offered, and the keys of its session tickets: on a fake clock, and
// in handshakes of libssl with itself.
#include "dtls_world.h"

#include <time.h>

#include <openssl/err.h>

#include "thread.h"
#include "tickets.h"

#define HOUR TICKET_PERIOD_MS

static uint64_t later_s; // the clock's advance

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	const int rc = __real_clock_gettime(id, ts);

	ts->tv_sec += (time_t)later_s;
	return rc;
}

static void test_periods(void **state)
{
	const uint64_t begin = 5000;
	struct tickets *t = tickets_create();
	struct ticket_key first, second, k;

	assert_non_null(t);
	assert_int_equal(tickets_open(t, begin, (const uint8_t[TICKET_NAME_LEN]){0}, &k), 0);
	assert_true(tickets_seal(t, begin, &first));
	assert_true(tickets_seal(t, begin + HOUR - 1, &k));
	assert_memory_equal(&k, &first, sizeof(k));
	assert_int_equal(tickets_open(t, begin + HOUR - 1, first.name, &k), 1);
	// a new key; the old one is accepted for an hour and no longer
	assert_true(tickets_seal(t, begin + HOUR, &second));
	assert_memory_not_equal(second.name, first.name, sizeof(first.name));
	assert_memory_not_equal(second.aes, first.aes, sizeof(first.aes));
	assert_memory_not_equal(second.hmac, first.hmac, sizeof(first.hmac));
	assert_int_equal(tickets_open(t, begin + HOUR, second.name, &k), 1);
	assert_int_equal(tickets_open(t, begin + 2 * HOUR - 1, first.name, &k), 2);
	assert_memory_equal(&k, &first, sizeof(k));
	assert_int_equal(tickets_open(t, begin + 2 * HOUR, first.name, &k), 0);
	assert_int_equal(tickets_open(t, begin + 2 * HOUR, second.name, &k), 2);
	tickets_free(t);
	// no client comes for a long time
	t = tickets_create();
	assert_true(tickets_seal(t, begin, &first));
	assert_int_equal(tickets_open(t, begin + 10 * HOUR, first.name, &k), 0);
	assert_true(tickets_seal(t, begin + 10 * HOUR, &second));
	assert_int_equal(tickets_open(t, begin + 10 * HOUR, second.name, &k), 1);
	tickets_free(t);
}

// --- handshakes ----------------------------------------------------------------------------------

static SSL_CTX *server_ctx(void)
{
	const struct stream_tls tls = dtls_files();
	char error[256] = "";
	SSL_CTX *c = tls_load(&tls, error, sizeof(error));

	assert_string_equal(error, "");
	return c;
}

static int keep_session(SSL *ssl, SSL_SESSION *s)
{
	SSL_SESSION **slot = SSL_get_app_data(ssl);

	SSL_SESSION_free(*slot);
	*slot = s;
	return 1;
}

// A handshake and a byte back. Returns 1, or 2 if the session was resumed, or 0 on failure.
// *session: the client's old session and then its new one.
static int handshake(SSL_CTX *sc, SSL_CTX *cc, SSL_SESSION **session)
{
	SSL *s = SSL_new(sc), *c = SSL_new(cc);
	BIO *a, *b;
	char byte;
	int rc = 0, resumed;

	assert_int_equal(BIO_new_bio_pair(&a, 0, &b, 0), 1);
	SSL_set_bio(s, a, a);
	SSL_set_bio(c, b, b);
	SSL_set_accept_state(s);
	SSL_set_connect_state(c);
	SSL_CTX_set_session_cache_mode(cc, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(cc, keep_session);
	SSL_set_app_data(c, session);
	if (*session != NULL)
		SSL_set_session(c, *session);
	for (unsigned int i = 0; i < 10; i++) {
		SSL_do_handshake(c);
		SSL_do_handshake(s);
	}
	resumed = SSL_session_reused(s);
	if (SSL_is_init_finished(c) && SSL_is_init_finished(s) && SSL_write(s, "x", 1) == 1 &&
		SSL_read(c, &byte, 1) == 1)
		rc = 1 + resumed;
	if (rc == 2 && SSL_version(c) == TLS1_2_VERSION) { // renewed silently
		SSL_SESSION_free(*session);
		*session = SSL_get1_session(c);
	}
	ERR_clear_error();
	SSL_set_shutdown(
		c, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); // else it is taken for spoilt
	SSL_free(s);
	SSL_free(c);
	return rc;
}

// Tickets of an hour ago resume a session and are renewed; older ones do not.
static void resumption(int version)
{
	SSL_CTX *sc = server_ctx(), *cc = SSL_CTX_new(TLS_client_method());
	SSL_SESSION *session = NULL, *old;

	SSL_CTX_set_max_proto_version(cc, version);
	assert_int_equal(handshake(sc, cc, &session), 1);
	assert_non_null(session);
	old = session;
	SSL_SESSION_up_ref(old);
	assert_int_equal(handshake(sc, cc, &session), 2);
	later_s += 3600;
	assert_int_equal(handshake(sc, cc, &session), 2);
	later_s += 3590; // that key is ten seconds from its end, its renewal is an hour old
	assert_int_equal(handshake(sc, cc, &session), 2);
	later_s += 11;
	assert_int_equal(handshake(sc, cc, &old), 1);
	SSL_SESSION_free(old);
	SSL_SESSION_free(session);
	SSL_CTX_free(sc);
	SSL_CTX_free(cc);
}

static void test_resumption(void **state)
{
	resumption(TLS1_2_VERSION);
	resumption(TLS1_3_VERSION);
}

// RFC 9325 4.2: the recommended suites, and those not to offer.
static void test_offered(void **state)
{
	SSL_CTX *sc = server_ctx(), *cc = SSL_CTX_new(TLS_client_method());
	STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(sc);
	SSL_SESSION *none = NULL;
	bool ecdsa = false, rsa = false;

	for (int i = 0; i < sk_SSL_CIPHER_num(all); i++) {
		const SSL_CIPHER *c = sk_SSL_CIPHER_value(all, i);
		const int kx = SSL_CIPHER_get_kx_nid(c), auth = SSL_CIPHER_get_auth_nid(c);

		assert_true(SSL_CIPHER_is_aead(c) == 1);
		assert_true(kx == NID_kx_ecdhe || kx == NID_kx_any);
		assert_true(SSL_CIPHER_get_bits(c, NULL) >= 128);
		ecdsa |= auth == NID_auth_ecdsa;
		rsa |= auth == NID_auth_rsa;
	}
	assert_true(ecdsa && rsa);
	SSL_CTX_set_max_proto_version(cc, TLS1_2_VERSION);
	assert_int_equal(SSL_CTX_set_cipher_list(cc, "ECDHE-ECDSA-AES128-SHA256"), 1); // CBC
	assert_int_equal(handshake(sc, cc, &none), 0);
	assert_int_equal(SSL_CTX_set_cipher_list(cc, "DEFAULT"), 1);
	assert_int_equal(SSL_CTX_set1_groups_list(cc, "P-521"), 1);
	assert_int_equal(handshake(sc, cc, &none), 0);
	assert_int_equal(SSL_CTX_set1_groups_list(cc, "P-521:P-384:P-256"), 1);
	assert_int_equal(handshake(sc, cc, &none), 1);
	SSL_SESSION_free(none);
	SSL_CTX_free(sc);
	SSL_CTX_free(cc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_resumption),
		cmocka_unit_test(test_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
