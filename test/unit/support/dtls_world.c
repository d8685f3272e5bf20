// SPDX-License-Identifier: BSD-3-Clause
// A DTLS client of libssl whose wire is a pair of queues, and a certificate for the server.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "dtls_world.h"

void wire_put(struct wire *w, const void *data, size_t len)
{
	assert_true(w->n < WIRE_MAX && len <= DATAGRAM_MAX);
	w->d[w->n].len = (uint16_t)len;
	memcpy(w->d[w->n++].data, data, len);
}

bool wire_take(struct wire *w, struct datagram *out)
{
	if (w->n == 0)
		return false;
	*out = w->d[0];
	memmove(&w->d[0], &w->d[1], --w->n * sizeof(w->d[0]));
	return true;
}

// --- files ---------------------------------------------------------------------------------------

bool dtls_with_rsa;

static char cert_path[] = "/tmp/test_dtls_cert_XXXXXX", key_path[] = "/tmp/test_dtls_key_XXXXXX";

static void remove_files(void)
{
	unlink(cert_path);
	unlink(key_path);
}

static FILE *file_make(char *path)
{
	const int fd = mkstemp(path);

	assert_true(fd >= 0);
	return fdopen(fd, "w");
}

struct stream_tls dtls_files(void)
{
	static bool made;
	const struct stream_tls tls = {.certificate = cert_path, .key = key_path};
	EVP_PKEY *key;
	X509 *cert;
	FILE *file;

	if (made)
		return tls;
	made = true;
	key = dtls_with_rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
	cert = X509_new();
	assert_true(key != NULL && cert != NULL);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
		(const unsigned char *)"test", -1, -1, 0);
	X509_set_issuer_name(cert, X509_get_subject_name(cert));
	assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
	file = file_make(cert_path);
	PEM_write_X509(file, cert);
	fclose(file);
	file = file_make(key_path);
	PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
	fclose(file);
	atexit(remove_files);
	X509_free(cert);
	EVP_PKEY_free(key);
	return tls;
}

const struct stream_identities *dtls_identities(const char *ciphers)
{
	static struct stream_identities all = {.nb = 1};

	all.list[0] = dtls_files();
	all.list[0].ciphers = ciphers;
	all.list[0].for_tls = all.list[0].for_dtls = true;
	return &all;
}

// --- the client ----------------------------------------------------------------------------------

static int bio_read(BIO *b, char *buf, int len)
{
	struct dtls_client *c = BIO_get_data(b);
	struct datagram d;

	BIO_clear_retry_flags(b);
	if (!wire_take(&c->in, &d)) {
		BIO_set_retry_read(b);
		return -1;
	}
	assert_true(d.len <= len);
	memcpy(buf, d.data, d.len);
	return d.len;
}

static int bio_write(BIO *b, const char *buf, int len)
{
	struct dtls_client *c = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	wire_put(&c->out, buf, (size_t)len);
	return len;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	return cmd == BIO_CTRL_FLUSH;
}

unsigned int dtls_client_timer_us = 20000;

static unsigned int timer(SSL *ssl, unsigned int us)
{
	return us == 0 ? dtls_client_timer_us : 2 * us;
}

void dtls_client_open(struct dtls_client *c, const char *ciphers)
{
	static BIO_METHOD *method;
	BIO *b;

	if (method == NULL) {
		method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "test");
		BIO_meth_set_read(method, bio_read);
		BIO_meth_set_write(method, bio_write);
		BIO_meth_set_ctrl(method, bio_ctrl);
	}
	c->in.n = c->out.n = 0;
	c->ctx = SSL_CTX_new(DTLS_client_method());
	assert_non_null(c->ctx);
	if (ciphers != NULL)
		assert_int_equal(SSL_CTX_set_cipher_list(c->ctx, ciphers), 1);
	SSL_CTX_set_options(c->ctx, SSL_OP_NO_QUERY_MTU);
	c->ssl = SSL_new(c->ctx);
	b = BIO_new(method);
	assert_true(c->ssl != NULL && b != NULL);
	BIO_set_data(b, c);
	BIO_set_init(b, 1);
	SSL_set_bio(c->ssl, b, b);
	SSL_set_mtu(c->ssl, 1200);
	DTLS_set_timer_cb(c->ssl, timer);
	SSL_set_connect_state(c->ssl);
}

void dtls_client_close(struct dtls_client *c)
{
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
}

bool dtls_client_handshake(struct dtls_client *c)
{
	int rc;

	ERR_clear_error();
	DTLSv1_handle_timeout(c->ssl);
	rc = SSL_do_handshake(c->ssl);
	if (rc != 1)
		assert_int_equal(SSL_get_error(c->ssl, rc), SSL_ERROR_WANT_READ);
	return rc == 1;
}
