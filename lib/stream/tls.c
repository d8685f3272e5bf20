// SPDX-License-Identifier: BSD-3-Clause
// TLS by libssl, and the plain socket beside it.
#include <errno.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include "stream_int.h"

// --- the context ---------------------------------------------------------------------------------

static void fail(char *error, size_t len, const char *key, const char *path)
{
	const unsigned long e = ERR_peek_error(); // the first: what follows from it tells less
	const char *reason = ERR_reason_error_string(e);

	snprintf(error, len, "tls.%s: %s: %s", key, path,
		ERR_SYSTEM_ERROR(e)      ? strerror((int)ERR_GET_REASON(e))
			: reason != NULL ? reason
					 : "cannot be used");
}

// RFC 7443: what a client may say it is here for. One that names protocols, but neither of these,
// has come to the wrong server (RFC 7301 3.2).
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *in, unsigned int in_len, void *ctx)
{
	static const unsigned char ours[] = "\x09stun.turn\x12stun.nat-discovery";
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

// Every certificate of a file.
static bool add_chain(SSL_CTX *c, const char *path)
{
	BIO *file = BIO_new_file(path, "r");
	unsigned int n = 0;
	bool good = file != NULL;
	X509 *x;

	while (good && (x = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL) {
		good = SSL_CTX_add1_chain_cert(c, x) == 1;
		X509_free(x);
		n++;
	}
	BIO_free(file);
	if (!good || n == 0)
		return false;
	ERR_clear_error(); // that of the file's end
	return true;
}

static void settle(SSL_CTX *c)
{
	static const unsigned char id[] = "turn";

	// messages tell their length, so an end without close_notify cuts none short unseen
	SSL_CTX_set_options(
		c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	// an idle connection has no buffers; what could not be written may have moved since
	SSL_CTX_set_mode(c,
		SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
			SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	// sessions are resumed by tickets, which are the client's to keep
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_session_id_context(c, id, sizeof(id) - 1);
	SSL_CTX_set_num_tickets(c, 1);
	SSL_CTX_set_alpn_select_cb(c, choose_alpn, NULL);
}

// What goes wrong first: its key and path, or NULL.
static const char *load(SSL_CTX *c, const struct stream_tls *tls, const char **path)
{
	*path = tls->ciphers;
	if (tls->ciphers != NULL && SSL_CTX_set_cipher_list(c, tls->ciphers) != 1)
		return "ciphers";
	*path = tls->certificate;
	if (SSL_CTX_use_certificate_chain_file(c, tls->certificate) != 1)
		return "certificate";
	*path = tls->chain;
	if (tls->chain != NULL && !add_chain(c, tls->chain))
		return "chain";
	*path = tls->key;
	if (SSL_CTX_use_PrivateKey_file(c, tls->key, SSL_FILETYPE_PEM) != 1 ||
		SSL_CTX_check_private_key(c) != 1)
		return "key";
	return NULL;
}

// Nobody is there to type the pass phrase of a key.
static int no_phrase(char *buf, int size, int writing, void *ctx)
{
	return -1;
}

bool tls_fill(SSL_CTX *c, const struct stream_tls *tls, char *error, size_t len)
{
	const char *key, *path;

	ERR_clear_error();
	SSL_CTX_set_default_passwd_cb(c, no_phrase);
	settle(c);
	key = load(c, tls, &path);
	if (key == NULL)
		return true;
	fail(error, len, key, path);
	ERR_clear_error();
	return false;
}

SSL_CTX *tls_load(const struct stream_tls *tls, char *error, size_t len)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (c == NULL) {
		snprintf(error, len, "tls: out of memory");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(c, tls->only_13 ? TLS1_3_VERSION : TLS1_2_VERSION);
	if (tls_fill(c, tls, error, len))
		return c;
	SSL_CTX_free(c);
	return NULL;
}

int stream_tls_check(const struct stream_tls *tls, char *error, size_t len)
{
	SSL_CTX *c = tls_load(tls, error, len);

	if (c == NULL)
		return -1;
	SSL_CTX_free(c);
	return 0;
}

int tls_load_all(const struct streams *s, bool tls, bool dtls, struct tls_contexts *out,
	char *error, size_t len)
{
	const struct stream_config *c = &s->conf;

	*out = (struct tls_contexts){NULL, NULL};
	if (tls) {
		out->tls = tls_load(&c->tls, error, len);
		if (out->tls == NULL)
			return -1;
	}
	if (dtls) {
		out->dtls = dtls_load(&c->tls, &c->dtls, error, len);
		if (out->dtls == NULL) {
			SSL_CTX_free(out->tls);
			return -1;
		}
	}
	return 0;
}

int stream_reload(struct streams *s, char *error, size_t len)
{
	struct tls_contexts fresh, old;

	if (tls_load_all(s, s->tls.tls != NULL, s->tls.dtls != NULL, &fresh, error, len) != 0)
		return -1;
	pthread_mutex_lock(&s->tls_lock);
	old = s->tls;
	s->tls = fresh;
	pthread_mutex_unlock(&s->tls_lock);
	SSL_CTX_free(old.tls); // connections made with it have it still
	SSL_CTX_free(old.dtls);
	return 0;
}

SSL *tls_open(struct streams *s, int fd)
{
	SSL *ssl;

	pthread_mutex_lock(&s->tls_lock);
	ssl = SSL_new(s->tls.tls);
	pthread_mutex_unlock(&s->tls_lock);
	if (ssl != NULL && SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	if (ssl != NULL)
		SSL_set_accept_state(ssl);
	return ssl;
}

// --- reading and writing -------------------------------------------------------------------------

static int tls_result(const SSL *ssl, int rc)
{
	if (rc > 0)
		return rc;
	switch (SSL_get_error(ssl, rc)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return IO_LATER;
	case SSL_ERROR_ZERO_RETURN:
		return IO_CLOSED;
	default:
		return IO_FAILED;
	}
}

static int plain_result(ssize_t rc)
{
	if (rc >= 0)
		return rc > 0 ? (int)rc : IO_CLOSED;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? IO_LATER : IO_FAILED;
}

int io_peek(const struct conn *c, uint8_t *first)
{
	return plain_result(recv(c->fd, first, 1, MSG_PEEK));
}

int io_read(struct conn *c, uint8_t *buf, size_t len)
{
	if (c->ssl == NULL)
		return plain_result(recv(c->fd, buf, len, 0));
	ERR_clear_error();
	return tls_result(c->ssl, SSL_read(c->ssl, buf, (int)len));
}

int io_write(struct conn *c, const uint8_t *buf, size_t len)
{
	if (c->ssl == NULL)
		return plain_result(send(c->fd, buf, len, MSG_NOSIGNAL));
	ERR_clear_error();
	return tls_result(c->ssl, SSL_write(c->ssl, buf, (int)len));
}

int io_handshake(struct conn *c)
{
	ERR_clear_error();
	return tls_result(c->ssl, SSL_accept(c->ssl));
}
