// SPDX-License-Identifier: BSD-3-Clause
// The certificate and ALPN protocol that each listener presents, in handshakes of libssl with
// itself. A session of one identity is not resumed at another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "stream_change.h"
#include "identity/identities.h"
#include "stream_review.h"
#include "stream.h"
#include "test.h"

#define FILES 3

static char dir[] = "/tmp/identities.XXXXXX";
static char cert[FILES][64], key[FILES][64];
static const struct stream_dtls dtls = {.sessions = 1, .mtu = 1232, .message = 1459};
static const char *const turn[] = {"stun.turn", "stun.nat-discovery"}, *const http_alpn[] = {"h2"};

static void write_until(unsigned int i, unsigned int days)
{
	EVP_PKEY *k = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	char name[8];
	FILE *f;

	snprintf(cert[i], sizeof(cert[i]), "%s/%u.pem", dir, i);
	snprintf(key[i], sizeof(key[i]), "%s/%u.key", dir, i);
	snprintf(name, sizeof(name), "%u", i);
	assert_true(k != NULL && x != NULL);
	X509_gmtime_adj(X509_getm_notBefore(x), -60);
	X509_gmtime_adj(X509_getm_notAfter(x), days * 86400L);
	X509_set_pubkey(x, k);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
		(const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	assert_true(X509_sign(x, k, EVP_sha256()) > 0);
	f = fopen(cert[i], "we");
	assert_true(PEM_write_X509(f, x) == 1 && fclose(f) == 0);
	f = fopen(key[i], "we");
	assert_true(PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL) == 1 && fclose(f) == 0);
	assert_int_equal(chmod(key[i], 0600), 0);
	X509_free(x);
	EVP_PKEY_free(k);
}

static int setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	for (unsigned int i = 0; i < FILES; i++)
		write_until(i, 90);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < FILES; i++) {
		unlink(cert[i]);
		unlink(key[i]);
	}
	return rmdir(dir);
}

// Listener 3 has the first identity, 9 the second one.
static struct stream_identities two(void)
{
	struct stream_identities all = {.nb = 2};

	all.list[0] = (struct stream_tls){.certificate = cert[0],
		.key = key[0],
		.alpn = turn,
		.nb_alpn = 2,
		.for_tls = true,
		.for_dtls = true};
	all.list[1] = (struct stream_tls){.certificate = cert[1],
		.key = key[1],
		.alpn = http_alpn,
		.nb_alpn = 1,
		.for_tls = true,
		.for_dtls = true,
		.section = "listeners[1].tls"};
	all.by_listener[9] = 1;
	return all;
}

static struct identities *load(const struct stream_identities *all)
{
	char error[256] = "";
	struct identities *i = identities_load(all, &dtls, error, sizeof(error));

	assert_string_equal(error, "");
	assert_non_null(i);
	return i;
}

// --- handshakes ----------------------------------------------------------------------------------

struct outcome {
	bool done, resumed;
	char name, alpn[32]; // CN of the server's certificate, and the protocol
};

static int keep_session(SSL *ssl, SSL_SESSION *s)
{
	SSL_SESSION **slot = SSL_get_app_data(ssl);

	SSL_SESSION_free(*slot);
	*slot = s;
	return 1;
}

static void look(SSL *s, SSL *c, struct outcome *o)
{
	X509 *x = SSL_get0_peer_certificate(c);
	const unsigned char *alpn;
	unsigned int len;
	char byte, name[16] = "";

	if (!SSL_is_init_finished(c) || !SSL_is_init_finished(s))
		return;
	o->done = SSL_write(s, "x", 1) == 1 && SSL_read(c, &byte, 1) == 1;
	o->resumed = SSL_session_reused(s);
	X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name, sizeof(name));
	o->name = name[0];
	SSL_get0_alpn_selected(c, &alpn, &len);
	memcpy(o->alpn, alpn != NULL ? (const char *)alpn : "", len);
}

// A client's handshake with a server's context. offer: the client's ALPN list in wire format.
// *session: the session to resume, then replaced by the new one; NULL if the client keeps none.
static struct outcome shake(SSL_CTX *sc, int version, const char *offer, SSL_SESSION **session)
{
	SSL_CTX *cc = SSL_CTX_new(TLS_client_method());
	SSL *s = SSL_new(sc), *c;
	struct outcome o = {0};
	BIO *a, *b;

	SSL_CTX_set_session_cache_mode(cc, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	if (session != NULL)
		SSL_CTX_sess_set_new_cb(cc, keep_session);
	c = SSL_new(cc);
	SSL_set_max_proto_version(c, version);
	SSL_set_alpn_protos(c, (const unsigned char *)offer, (unsigned int)strlen(offer));
	SSL_set_app_data(c, session);
	if (session != NULL && *session != NULL)
		SSL_set_session(c, *session);
	assert_int_equal(BIO_new_bio_pair(&a, 0, &b, 0), 1);
	SSL_set_bio(s, a, a);
	SSL_set_bio(c, b, b);
	SSL_set_accept_state(s);
	SSL_set_connect_state(c);
	for (unsigned int i = 0; i < 10; i++) {
		SSL_do_handshake(c);
		SSL_do_handshake(s);
	}
	look(s, c, &o);
	ERR_clear_error();
	SSL_set_shutdown(c, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(s);
	SSL_free(c);
	SSL_CTX_free(cc);
	return o;
}

#define TURN "\x09stun.turn"
#define H2 "\x02h2"
#define DISCOVERY "\x12stun.nat-discovery"

// The server's order decides. A client that offers only unknown protocols is refused; one that
// offers no ALPN is not.
static void test_alpn(void **state)
{
	struct stream_identities all = two();
	struct identities *i = load(&all);
	SSL_CTX *first = identities_tls(i, 3), *second = identities_tls(i, 9);

	assert_string_equal(shake(first, 0, DISCOVERY H2 TURN, NULL).alpn, "stun.turn");
	assert_string_equal(shake(first, 0, DISCOVERY, NULL).alpn, "stun.nat-discovery");
	assert_false(shake(first, 0, H2, NULL).done);
	assert_true(shake(first, 0, "", NULL).done);
	assert_string_equal(shake(second, 0, TURN H2, NULL).alpn, "h2");
	assert_false(shake(second, 0, TURN, NULL).done);
	identities_free(i);
	all.list[1].nb_alpn = 0;
	i = load(&all);
	second = identities_tls(i, 9);
	assert_true(shake(second, 0, TURN, NULL).done);
	assert_string_equal(shake(second, 0, TURN H2, NULL).alpn, "");
	identities_free(i);
}

static void test_certificates(void **state)
{
	const struct stream_identities all = two();
	struct identities *i = load(&all), *again;
	char error[256];

	assert_int_equal(shake(identities_tls(i, 3), 0, "", NULL).name, '0');
	assert_int_equal(shake(identities_tls(i, 9), 0, "", NULL).name, '1');
	assert_ptr_not_equal(identities_dtls(i, 3), identities_dtls(i, 9));
	assert_int_equal(X509_cmp(SSL_CTX_get0_certificate(identities_dtls(i, 9)),
				 SSL_CTX_get0_certificate(identities_tls(i, 9))),
		0);
	// loads the files again, from the paths that the identities keep
	again = identities_load(identities_from(i), &dtls, error, sizeof(error));
	identities_free(i);
	assert_non_null(again);
	assert_int_equal(shake(identities_tls(again, 9), 0, H2, NULL).name, '1');
	identities_free(again);
}

static void no_way_across(const struct stream_identities *all, int version)
{
	struct identities *i = load(all);
	SSL_SESSION *session = NULL;

	assert_false(shake(identities_tls(i, 3), version, "", &session).resumed);
	assert_non_null(session);
	assert_true(shake(identities_tls(i, 3), version, "", &session).resumed);
	assert_false(shake(identities_tls(i, 9), version, "", &session).resumed);
	SSL_SESSION_free(session);
	identities_free(i);
}

// A ticket from one identity is not accepted at another, whether their certificates or only their
// ALPN protocols differ.
static void test_tickets_stay(void **state)
{
	struct stream_identities all = two();

	no_way_across(&all, TLS1_2_VERSION);
	no_way_across(&all, TLS1_3_VERSION);
	all.list[1].certificate = cert[0];
	all.list[1].key = key[0];
	no_way_across(&all, TLS1_2_VERSION);
	no_way_across(&all, TLS1_3_VERSION);
}

// Even with equal ticket keys, a session is not resumed at another identity: their session ID
// contexts differ.
static void test_sessions_have_names(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	const struct stream_identities all = two();
	struct identities *i = load(&all);
	SSL_CTX *first = identities_tls(i, 3), *second = identities_tls(i, 9);
	unsigned char keys[80] = {1};

	SSL_CTX_set_tlsext_ticket_key_evp_cb(first, NULL);
	SSL_CTX_set_tlsext_ticket_key_evp_cb(second, NULL);
	assert_int_equal(SSL_CTX_set_tlsext_ticket_keys(first, keys, sizeof(keys)), 1);
	assert_int_equal(SSL_CTX_set_tlsext_ticket_keys(second, keys, sizeof(keys)), 1);
	for (unsigned int k = 0; k < 2; k++) {
		SSL_SESSION *session = NULL;

		assert_true(shake(first, versions[k], "", &session).done);
		assert_true(shake(first, versions[k], "", &session).resumed);
		assert_false(shake(second, versions[k], "", &session).resumed);
		SSL_SESSION_free(session);
	}
	identities_free(i);
}

// --- unusable files ------------------------------------------------------------------------------

static void refused(const struct stream_identities *all, const char *want)
{
	char error[256] = "";

	assert_null(identities_load(all, &dtls, error, sizeof(error)));
	if (strncmp(error, want, strlen(want)) != 0)
		fail_msg("wanted: %s\n   got: %s", want, error);
}

// The reason names the listener and the file.
static void test_refused(void **state)
{
	struct stream_identities all = two();
	char want[128];

	all.list[1].key = key[2];
	snprintf(want, sizeof(want), "listeners[1].tls.key: %s: ", key[2]);
	refused(&all, want);
	all.list[1].certificate = "/nonexistent";
	refused(&all, "listeners[1].tls.certificate: /nonexistent: No such file or directory");
	all.list[0].certificate = "/nonexistent";
	refused(&all, "tls.certificate: /nonexistent: No such file or directory");
	all = two();
	all.list[1].chain = "/nonexistent";
	refused(&all, "tls.chain: /nonexistent: ");
}

// Each certificate file in use is reported once, with the dates of the first certificate to expire
// in the file or its chain.
static void test_in_use(void **state)
{
	struct stream_identities all = two();
	struct stream_certificate c;
	struct identities *i;
	time_t now;

	all.list[2] = all.list[0]; // the same files at another listener, with other ALPN names
	all.list[2].alpn = http_alpn;
	all.list[2].nb_alpn = 1;
	all.nb = 3;
	i = load(&all);
	now = time(NULL);
	for (unsigned int n = 0; n < 2; n++) {
		assert_true(identities_certificate(i, n, &c));
		assert_string_equal(c.path, cert[n]);
		assert_in_range(c.validity.until, now + 89 * 86400, now + 90 * 86400);
		assert_int_equal(c.validity.renew, c.validity.until - 30 * 86400);
	}
	assert_false(identities_certificate(i, 2, &c));
	identities_free(i);
	all = two();
	all.nb = 1;
	write_until(2, 20); // the chain of the first certificate, which expires before it
	all.list[0].chain = cert[2];
	i = load(&all);
	assert_true(identities_certificate(i, 0, &c));
	assert_in_range(c.validity.until, now + 19 * 86400, now + 20 * 86400);
	assert_int_equal(c.validity.renew, c.validity.until - 30 * 86400);
	identities_free(i);
	i = load(NULL);
	assert_false(identities_certificate(i, 0, &c));
	identities_free(i);
	write_until(2, 90);
}

struct heard {
	unsigned int fatal;
	char text[2048];
};

static void hear(void *ctx, const struct stream_tls *tls, enum stream_tls_key which, bool fatal,
	const char *reason)
{
	struct heard *h = ctx;
	char name[STREAM_REVIEW_NAME_LEN];

	h->fatal += fatal;
	snprintf(h->text + strlen(h->text), sizeof(h->text) - strlen(h->text), "%s: %s\n",
		stream_review_key_name(tls, which, name), reason);
}

static struct heard review(const struct stream_identities *all)
{
	struct heard h = {0};
	const struct stream_review context = {.now = time(NULL), .say = hear, .ctx = &h};

	stream_review_all(all, &context);
	return h;
}

// Each faulty file is reported once, under the configuration key that names it.
static void test_review(void **state)
{
	struct stream_identities all = two();
	struct heard h = review(&all);
	char want[256];

	assert_string_equal(h.text, "");
	assert_int_equal(chmod(key[1], 0644), 0);
	h = review(&all);
	assert_int_equal(chmod(key[1], 0600), 0);
	snprintf(want, sizeof(want),
		"listeners[1].tls.key: %s: everyone on this host can read it: chmod o-r\n", key[1]);
	assert_string_equal(h.text, want);
	assert_int_equal(h.fatal, 0);
	all.list[0].key = all.list[1].key = key[2];
	all.list[1].certificate = cert[0]; // an identity that differs only in its ALPN
	h = review(&all);
	snprintf(want, sizeof(want),
		"tls.key: %s: is not the key of %s: name two files that belong together\n", key[2],
		cert[0]);
	assert_string_equal(h.text, want);
	all = two();
	all.list[0].ciphers = all.list[1].ciphers = "NONSENSE";
	h = review(&all);
	assert_int_equal(h.fatal, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alpn),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_tickets_stay),
		cmocka_unit_test(test_sessions_have_names),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_review),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
