// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include <openssl/err.h>

#include "bytes.h"
#include "cookie.h"
#include "dtls.h"
#include "stream_int.h"

// --- a BIO that is one datagram at a time --------------------------------------------------------

static int wire_read(BIO *b, char *buf, int len)
{
	struct dtls_wire *w = BIO_get_data(b);
	const int n = w->in_len < len ? w->in_len : len;

	BIO_clear_retry_flags(b);
	if (n == 0) {
		BIO_set_retry_read(b);
		return -1;
	}
	memcpy(buf, w->in, (size_t)n);
	w->in_len = 0;
	return n;
}

static int wire_write(BIO *b, const char *buf, int len)
{
	struct dtls_wire *w = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	w->out(w->ctx, (const uint8_t *)buf, (size_t)len);
	w->outs++;
	return len; // what is lost is lost as on any other wire
}

static long wire_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *wire_method;
static pthread_once_t wire_once = PTHREAD_ONCE_INIT;

// For the life of the process.
static void wire_make(void)
{
	wire_method = io_method("datagrams", wire_read, wire_write, wire_ctrl);
}

static void use(SSL *ssl, struct dtls_wire *w)
{
	BIO_set_data(SSL_get_rbio(ssl), w);
}

// --- the context ---------------------------------------------------------------------------------

// The worker has seen to it before there was a session.
static int cookie_is_good(SSL *ssl, const unsigned char *cookie, unsigned int len)
{
	return 1;
}

struct ssl_ctx_st *dtls_load(
	const struct stream_tls *tls, const struct stream_dtls *c, char *error, size_t len)
{
	SSL_CTX *ctx;

	pthread_once(&wire_once, wire_make);
	ctx = wire_method != NULL ? SSL_CTX_new(DTLS_server_method()) : NULL;
	if (ctx == NULL) {
		snprintf(error, len, "dtls: out of memory");
		return NULL;
	}
	// with these buffers a session takes 54 KB, with those of the default 69
	if (!tls_fill(ctx, tls, error, len) ||
		SSL_CTX_set_min_proto_version(ctx, DTLS1_2_VERSION) != 1 ||
		SSL_CTX_set_max_send_fragment(ctx, c->message) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	// else libssl believes in messages of 100 KB, and makes room for ten at a time: 17 KB now
	SSL_CTX_set_max_cert_list(ctx, 1);
	// with encrypt-then-MAC libssl 3.0 ends a session for a forged record
	SSL_CTX_set_options(
		ctx, SSL_OP_NO_QUERY_MTU | SSL_OP_COOKIE_EXCHANGE | SSL_OP_NO_ENCRYPT_THEN_MAC);
	SSL_CTX_set_cookie_verify_cb(ctx, cookie_is_good);
	return ctx;
}

// --- a session -----------------------------------------------------------------------------------

static int result(SSL *ssl, int rc)
{
	int what = IO_FAILED;

	if (rc > 0)
		return rc;
	// not by SSL_get_error: a forged record may have left an error, and is none of the session
	if ((SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN) != 0)
		what = IO_CLOSED;
	else if (SSL_want_read(ssl))
		what = IO_LATER;
	ERR_clear_error();
	return what;
}

struct ssl_st *dtls_open(struct ssl_ctx_st *ctx, const struct stream_dtls *c, struct dtls_wire *w)
{
	BIO_ADDR *nobody = BIO_ADDR_new();
	BIO *b = BIO_new(wire_method);
	SSL *ssl = SSL_new(ctx);

	if (nobody == NULL || b == NULL || ssl == NULL) {
		BIO_ADDR_free(nobody);
		BIO_free(b);
		SSL_free(ssl);
		return NULL;
	}
	BIO_set_data(b, w);
	SSL_set_bio(ssl, b, b);
	SSL_set_mtu(ssl, c->mtu);
	SSL_set_accept_state(ssl);
	// takes the ClientHello in as the second one, which its number in the handshake says it is
	if (DTLSv1_listen(ssl, nobody) != 1) {
		SSL_free(ssl);
		ssl = NULL;
	}
	BIO_ADDR_free(nobody);
	ERR_clear_error();
	return ssl;
}

// Bytes of the shortest record that there can be of a cipher.
static unsigned int shortest(const SSL_CIPHER *c)
{
	if (!SSL_CIPHER_is_aead(c))
		return 48; // of CBC: vector, MAC and padding
	if (SSL_CIPHER_get_cipher_nid(c) == NID_chacha20_poly1305 ||
		strstr(SSL_CIPHER_get_name(c), "CCM8") != NULL)
		return 16;
	return 24;
}

// libssl 3.0 ends a session for a record too short to be decrypted, whoever has sent it: false of a
// datagram with one.
static bool long_enough(SSL *ssl, const uint8_t *data, size_t len)
{
	const SSL_CIPHER *c = SSL_get_current_cipher(ssl);
	unsigned int least = UINT16_MAX; // before there is a cipher nothing can be encrypted

	if (c == NULL)
		c = SSL_get_pending_cipher(ssl);
	if (c != NULL)
		least = shortest(c);
	while (len > DTLS_RECORD_LEN) {
		const size_t body = load_be16(data + 11);

		if (load_be16(data + 3) != 0 && body < least)
			return false;
		if (body > len - DTLS_RECORD_LEN)
			break; // libssl takes nothing of such a one
		data += DTLS_RECORD_LEN + body;
		len -= DTLS_RECORD_LEN + body;
	}
	return true;
}

bool dtls_is_sealed(const uint8_t *data, size_t len)
{
	while (len > DTLS_RECORD_LEN) {
		const size_t record = DTLS_RECORD_LEN + (size_t)load_be16(data + 11);

		if (load_be16(data + 3) != 0)
			return true;
		if (record > len)
			break;
		data += record;
		len -= record;
	}
	return false;
}

static void take_in(SSL *ssl, struct dtls_wire *w)
{
	use(ssl, w);
	if (w->in_len > 0 && !long_enough(ssl, w->in, w->in_len))
		w->in_len = 0;
}

int dtls_shake(struct ssl_st *ssl, struct dtls_wire *w)
{
	take_in(ssl, w);
	return result(ssl, SSL_accept(ssl));
}

void dtls_shake_tick(struct ssl_st *ssl, struct dtls_wire *w)
{
	use(ssl, w);
	DTLSv1_handle_timeout(ssl);
	ERR_clear_error();
}

int dtls_read(struct ssl_st *ssl, struct dtls_wire *w, uint8_t *buf, size_t len)
{
	take_in(ssl, w);
	return result(ssl, SSL_read(ssl, buf, (int)len));
}

bool dtls_more(const struct ssl_st *ssl)
{
	return SSL_has_pending(ssl) == 1;
}

int dtls_write(struct ssl_st *ssl, struct dtls_wire *w, const uint8_t *buf, size_t len)
{
	use(ssl, w);
	return result(ssl, SSL_write(ssl, buf, (int)len));
}

void dtls_close(struct ssl_st *ssl, struct dtls_wire *w)
{
	use(ssl, w);
	SSL_shutdown(ssl);
	ERR_clear_error();
}

void dtls_free(struct ssl_st *ssl)
{
	SSL_free(ssl);
}
