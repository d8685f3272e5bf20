// SPDX-License-Identifier: BSD-3-Clause
// The offer of a TLS client, in words, and the reason why its handshake failed: libssl clients over
// a pair of BIOs, and ClientHellos that no library makes.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "identity/tls_offer.h"
#include "test.h"

#define NAME "turn.example"

static SSL_CTX *server, *client;

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *len,
	const unsigned char *in, unsigned int n, void *arg)
{
	static const unsigned char ours[] = "\x09stun.turn";

	return SSL_select_next_proto((unsigned char **)(uintptr_t)out, len, ours, sizeof(ours) - 1,
		       in, n) == OPENSSL_NPN_NEGOTIATED
		? SSL_TLSEXT_ERR_OK
		: SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int make(void **state)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	X509 *x = X509_new();

	server = SSL_CTX_new(TLS_server_method());
	client = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_min_proto_version(server, TLS1_2_VERSION);
	SSL_CTX_set_client_hello_cb(server, tls_offer_note, NULL);
	SSL_CTX_set_alpn_select_cb(server, select_alpn, NULL);
	X509_gmtime_adj(X509_getm_notBefore(x), -60);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, k);
	X509_sign(x, k, EVP_sha256());
	assert_int_equal(SSL_CTX_use_certificate(server, x), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(server, k), 1);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(client), x);
	SSL_CTX_set_verify(client, SSL_VERIFY_NONE, NULL);
	X509_free(x);
	EVP_PKEY_free(k);
	return 0;
}

static int unmake(void **state)
{
	SSL_CTX_free(server);
	SSL_CTX_free(client);
	return 0;
}

static SSL *peer(SSL_CTX *ctx, BIO *b)
{
	SSL *ssl = SSL_new(ctx);

	SSL_set_bio(ssl, b, b);
	return ssl;
}

// Runs both ends until the server is done. Returns the reason of the failure, or STREAM_REFUSAL_END
// if it succeeded.
static enum stream_refusal shake(SSL *ours, SSL *theirs, bool left)
{
	for (unsigned int i = 0; i < 20; i++) {
		int rc;

		if (theirs != NULL)
			SSL_do_handshake(theirs);
		ERR_clear_error();
		errno = 0;
		rc = SSL_accept(ours);
		if (rc == 1)
			return STREAM_REFUSAL_END;
		if (SSL_get_error(ours, rc) != SSL_ERROR_WANT_READ)
			return tls_offer_why(left);
	}
	fail();
	return STREAM_REFUSAL_END;
}

// Runs a prepared client against the server.
static void expect(SSL *theirs, BIO *b, enum stream_refusal expected, const char *offered)
{
	struct conn c = {.fd = -1};
	SSL *ours = peer(server, b);
	enum stream_refusal got;

	SSL_set_app_data(ours, &c);
	SSL_set_accept_state(ours);
	SSL_set_connect_state(theirs);
	got = shake(ours, theirs, false);
	if (got != expected)
		fail_msg("%u in the place of %u", got, expected);
	assert_string_equal(c.offered != NULL ? c.offered : "", offered);
	free(c.offered);
	SSL_free(ours);
	SSL_free(theirs);
}

static SSL *begin(BIO **peer_bio)
{
	BIO *b;
	SSL *theirs;

	assert_int_equal(BIO_new_bio_pair(&b, 0, peer_bio, 0), 1);
	theirs = peer(client, b);
	SSL_set_tlsext_host_name(theirs, NAME);
	return theirs;
}

static void test_good(void **state)
{
	BIO *b;
	SSL *theirs = begin(&b);

	SSL_set_min_proto_version(theirs, TLS1_2_VERSION);
	expect(theirs, b, STREAM_REFUSAL_END, "1.2-1.3 sni=" NAME);
}

static void test_versions(void **state)
{
	BIO *b;
	SSL *theirs = begin(&b);

	SSL_set_security_level(theirs, 0);
	SSL_set_min_proto_version(theirs, TLS1_VERSION);
	SSL_set_max_proto_version(theirs, TLS1_1_VERSION);
	SSL_set_cipher_list(theirs, "ALL:@SECLEVEL=0");
	expect(theirs, b, STREAM_REFUSED_TLS_VERSION, "1.1 sni=" NAME);
}

static void test_ciphers(void **state)
{
	BIO *b;
	SSL *theirs = begin(&b);

	SSL_set_min_proto_version(theirs, TLS1_2_VERSION);
	SSL_set_max_proto_version(theirs, TLS1_2_VERSION);
	SSL_set_cipher_list(theirs, "AES128-GCM-SHA256"); // requires an RSA key
	expect(theirs, b, STREAM_REFUSED_TLS_CIPHER, "1.2 sni=" NAME);
}

// A stranger's bytes are printed as plain text.
static void test_alpn(void **state)
{
	static const unsigned char names[] = "\x02h2\x07\\x',\n\x80=";
	BIO *b;
	SSL *theirs = begin(&b);

	SSL_set_min_proto_version(theirs, TLS1_3_VERSION);
	SSL_set_alpn_protos(theirs, names, sizeof(names) - 1);
	expect(theirs, b, STREAM_REFUSED_TLS_ALPN,
		"1.3 alpn=h2,\\x5cx\\x27\\x2c\\x0a\\x80\\x3d sni=" NAME);
}

// An overlong text ends with an ellipsis.
static void test_long(void **state)
{
	unsigned char names[256] = {255};
	BIO *b;
	SSL *theirs = begin(&b);

	memset(names + 1, 'a', 255);
	SSL_set_min_proto_version(theirs, TLS1_3_VERSION);
	SSL_set_alpn_protos(theirs, names, sizeof(names));
	expect(theirs, b, STREAM_REFUSED_TLS_ALPN,
		"1.3 alpn=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...");
}

// A client of one version that verifies the certificate, and reports the fault.
static void verifies(int version, void (*wants)(SSL *), enum stream_refusal expected)
{
	BIO *b;
	SSL *theirs = begin(&b);

	SSL_set_min_proto_version(theirs, version);
	SSL_set_max_proto_version(theirs, version);
	SSL_set_verify(theirs, SSL_VERIFY_PEER, NULL);
	wants(theirs);
	expect(theirs, b, expected, version == TLS1_3_VERSION ? "1.3 sni=" NAME : "1.2 sni=" NAME);
}

static void no_ca(SSL *ssl)
{
	X509_STORE *none = X509_STORE_new();

	SSL_set1_verify_cert_store(ssl, none);
	X509_STORE_free(none);
}

static void other_name(SSL *ssl)
{
	SSL_set1_host(ssl, "other.example");
}

static void next_year(SSL *ssl)
{
	X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), time(NULL) + 366 * 86400);
}

static void other_purpose(SSL *ssl)
{
	SSL_set_purpose(ssl, X509_PURPOSE_TIMESTAMP_SIGN);
}

static void test_certificates(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

	for (unsigned int i = 0; i < 2; i++) {
		verifies(versions[i], no_ca, STREAM_REFUSED_TLS_CA);
		verifies(versions[i], other_name, STREAM_REFUSED_TLS_BAD);
		verifies(versions[i], next_year, STREAM_REFUSED_TLS_EXPIRED);
		verifies(versions[i], other_purpose, STREAM_REFUSED_TLS_CERTIFICATE);
	}
}

// Bytes that no libssl client sends.
static enum stream_refusal bytes(const char *p, int len, bool closed)
{
	struct conn c = {.fd = -1};
	enum stream_refusal refusal;
	BIO *b, *peer_bio;
	SSL *ours;

	assert_int_equal(BIO_new_bio_pair(&b, 0, &peer_bio, 0), 1);
	ours = peer(server, b);
	SSL_set_app_data(ours, &c);
	SSL_set_accept_state(ours);
	assert_int_equal(BIO_write(peer_bio, p, len), len);
	if (closed)
		BIO_shutdown_wr(peer_bio);
	refusal = shake(ours, NULL, closed);
	SSL_free(ours);
	BIO_free(peer_bio);
	free(c.offered);
	return refusal;
}

static void test_strangers(void **state)
{
	static const char stun[20] = {0, 1, 0, 0, 0x21, 0x12, (char)0xa4, 0x42};
	static const char http[] = "GET / HTTP/1.1\r\nHost: turn.example\r\n\r\n";

	assert_int_equal(bytes(stun, sizeof(stun), false), STREAM_REFUSED_TLS_PLAIN);
	assert_int_equal(bytes(http, sizeof(http) - 1, false), STREAM_REFUSED_TLS_PLAIN);
	assert_int_equal(bytes("\x16\x03\x01\x02\0\x01\0\x01", 8, true), STREAM_REFUSED_TLS_LEFT);
	assert_int_equal(bytes("\x16\x03\x01\0\x05hello", 10, false), STREAM_REFUSED_HANDSHAKE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_ciphers),
		cmocka_unit_test(test_alpn),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_strangers),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
