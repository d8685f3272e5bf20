// SPDX-License-Identifier: BSD-3-Clause
// TLS by libssl, and plain sockets.
#include <errno.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include "tls.h"
#include "bio_method.h"
#include "conn.h"
#include "dtls.h"
#include "dtls/dtls_context.h"
#include "identity/alpn.h"
#include "identity/identities.h"
#include "identity/tls_offer.h"
#include "stream_review.h"
#include "tickets.h"

// RFC 9325 4.2: a fresh key exchange and an AEAD. The other ciphers of TLS 1.2 are for clients
// older than WebRTC.
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
#define GROUPS "X25519:P-256:P-384"

// --- the context ---------------------------------------------------------------------------------

static void write_error(char *error, size_t len, const char *name, const char *path)
{
	const unsigned long e = ERR_peek_error(); // the first error: later ones say less
	const char *reason = ERR_reason_error_string(e);

	snprintf(error, len, "%s: %s: %s", name, path,
		ERR_SYSTEM_ERROR(e)      ? strerror((int)ERR_GET_REASON(e))
			: reason != NULL ? reason
					 : "cannot be used");
}

// Adds every certificate of a file.
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
	ERR_clear_error(); // the error left by the end of the file
	return true;
}

static void configure_context(SSL_CTX *c)
{
	// messages carry their length, so an end without close_notify truncates no message
	// unnoticed
	SSL_CTX_set_options(
		c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_read_ahead(c, 1); // see socket_read
	// idle connections have no buffers; unwritten bytes may move in memory before the next try
	SSL_CTX_set_mode(c,
		SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
			SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	// clients keep tickets to resume sessions; we keep no sessions
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(c, 1);
}

// Sets the session ID context from the values that clients have verified: certificate and ALPN.
static bool name_sessions(SSL_CTX *c, const struct stream_tls *tls)
{
	unsigned char id[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned int len = 0;
	bool good = md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
		X509_digest(SSL_CTX_get0_certificate(c), EVP_sha256(), id, &len) == 1 &&
		EVP_DigestUpdate(md, id, len) == 1;

	for (unsigned int i = 0; good && i < tls->nb_alpn; i++)
		good = EVP_DigestUpdate(md, tls->alpn[i], strlen(tls->alpn[i]) + 1) == 1;
	good = good && EVP_DigestFinal_ex(md, id, &len) == 1 &&
		SSL_CTX_set_session_id_context(c, id, len) == 1;
	EVP_MD_CTX_free(md);
	return good;
}

// Loads the files. Returns the number of the first that fails, with its path in *path, or -1.
static int load_files(SSL_CTX *c, const struct stream_tls *tls, const char **path)
{
	*path = tls->ciphers != NULL ? tls->ciphers : CIPHERS;
	if (SSL_CTX_set_cipher_list(c, *path) != 1)
		return STREAM_TLS_CIPHERS;
	*path = tls->certificate;
	if (SSL_CTX_use_certificate_chain_file(c, tls->certificate) != 1)
		return STREAM_TLS_CERTIFICATE;
	*path = tls->chain;
	if (tls->chain != NULL && !add_chain(c, tls->chain))
		return STREAM_TLS_CHAIN;
	*path = tls->key;
	if (SSL_CTX_use_PrivateKey_file(c, tls->key, SSL_FILETYPE_PEM) != 1 ||
		SSL_CTX_check_private_key(c) != 1)
		return STREAM_TLS_KEY;
	return -1;
}

// Refuses to ask for a key's pass phrase: there is no terminal to type it on.
static int no_phrase(char *buf, int size, int writing, void *ctx)
{
	return -1;
}

bool tls_fill(SSL_CTX *c, const struct stream_tls *tls, char *error, size_t len)
{
	char name[STREAM_REVIEW_NAME_LEN];
	const char *path;
	int key;

	ERR_clear_error();
	SSL_CTX_set_default_passwd_cb(c, no_phrase);
	configure_context(c);
	if (!tickets_use(c) || SSL_CTX_set1_groups_list(c, GROUPS) != 1) {
		snprintf(error, len, "tls: out of memory");
		return false;
	}
	key = load_files(c, tls, &path);
	if (key < 0 && alpn_use(c, tls) && name_sessions(c, tls))
		return true;
	if (key < 0)
		snprintf(error, len, "tls: out of memory");
	else
		write_error(error, len, stream_review_key_name(tls, (enum stream_tls_key)key, name),
			path);
	ERR_clear_error();
	return false;
}

// After its handshake a TLS 1.3 client may ask for new keys (RFC 8446 4.6.3), and libssl does not
// limit how often. Each request costs as much as ten messages, and one read has room for 600 of
// them. A TLS 1.2 client may begin another handshake, which libssl refuses only after it has
// buffered the whole ClientHello. So after too many of these the connection is marked as closed by
// the client, and libssl handles no more records.
static void look_at_handshake(const SSL *ssl, int where, int ret)
{
	struct conn *c = SSL_get_app_data(ssl);

	if (where != SSL_CB_ACCEPT_EXIT || c == NULL || c->state < CONN_OPEN ||
		c->rekeys > TLS_REKEYS)
		return;
	c->rekeys = SSL_version(ssl) == TLS1_3_VERSION ? c->rekeys + 1 : TLS_REKEYS + 1;
	if (c->rekeys > TLS_REKEYS)
		SSL_set_shutdown(
			(SSL *)(uintptr_t)ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

SSL_CTX *tls_load(const struct stream_tls *tls, char *error, size_t len)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (c == NULL) {
		snprintf(error, len, "tls: out of memory");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(c, tls->only_13 ? TLS1_3_VERSION : TLS1_2_VERSION);
	SSL_CTX_set_info_callback(c, look_at_handshake);
	SSL_CTX_set_client_hello_cb(c, tls_offer_note, NULL);
	if (tls_fill(c, tls, error, len))
		return c;
	SSL_CTX_free(c);
	return NULL;
}

int stream_tls_check(const struct stream_tls *tls, char *error, size_t len)
{
	static const struct stream_dtls any = {.message = 1200};
	SSL_CTX *c = tls->for_dtls ? dtls_load(tls, &any, error, len) : tls_load(tls, error, len);

	if (c == NULL)
		return -1;
	SSL_CTX_free(c);
	return 0;
}

// A signal and a reload may run this at the same time: the lock lets one at a time have the old
// identities.
int stream_tls_reload(struct streams *s, char *error, size_t len)
{
	struct identities *old, *fresh;

	pthread_mutex_lock(&s->swap_lock);
	old = s->identities;
	fresh = identities_load(identities_from(old), &s->conf.dtls, error, len);
	if (fresh != NULL) {
		pthread_mutex_lock(&s->tls_lock);
		s->identities = fresh;
		pthread_mutex_unlock(&s->tls_lock);
		identities_free(old); // open connections hold references to its contexts
	}
	pthread_mutex_unlock(&s->swap_lock);
	return fresh != NULL ? 0 : -1;
}

bool stream_certificate(struct streams *s, unsigned int index, struct stream_certificate *out)
{
	bool found;

	pthread_mutex_lock(&s->tls_lock); // so that they are not freed meanwhile
	found = identities_certificate(s->identities, index, out);
	pthread_mutex_unlock(&s->tls_lock);
	return found;
}

// --- a BIO on a socket, read a chunk at a time ---------------------------------------------------

static bool would_block(ssize_t rc)
{
	return rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

// Reads one chunk for libssl. Read-ahead lets libssl read all available bytes at once, but this
// allows one chunk for each tls_io_read. libssl then handles the complete records in it, and epoll
// reports the rest.
static int socket_read(BIO *b, char *buf, int len)
{
	struct conn *c = BIO_get_data(b);
	ssize_t n;

	BIO_clear_retry_flags(b);
	if (!c->chunk) {
		BIO_set_retry_read(b);
		return -1;
	}
	c->chunk = false;
	n = recv(c->fd, buf, (size_t)len, 0);
	c->more = n == len;
	c->ended = n == 0;
	if (would_block(n))
		BIO_set_retry_read(b);
	if (n > 0 && c->state == CONN_HANDSHAKE &&
		!tls_hello_fits(&c->hello, (const uint8_t *)buf, (size_t)n,
			SSL_version(c->ssl) == TLS1_2_VERSION))
		return -1;
	return (int)n;
}

static int socket_write(BIO *b, const char *buf, int len)
{
	const struct conn *c = BIO_get_data(b);
	const ssize_t n = send(c->fd, buf, (size_t)len, MSG_NOSIGNAL | (c->follows ? MSG_MORE : 0));

	BIO_clear_retry_flags(b);
	if (would_block(n))
		BIO_set_retry_write(b);
	return (int)n;
}

static long socket_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	const struct conn *c = BIO_get_data(b);

	return cmd == BIO_CTRL_EOF ? c->ended : cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *socket_method;
static pthread_once_t socket_once = PTHREAD_ONCE_INIT;

// Makes the method once, for the life of the process.
static void socket_make(void)
{
	socket_method = dtls_bio_method("socket", socket_read, socket_write, socket_ctrl);
}

static BIO *socket_bio(struct conn *c)
{
	BIO *b;

	pthread_once(&socket_once, socket_make);
	b = socket_method != NULL ? BIO_new(socket_method) : NULL;
	if (b != NULL)
		BIO_set_data(b, c);
	return b;
}

bool tls_allowed(struct thread *t, const struct addr *source)
{
	bool yes;

	pthread_mutex_lock(&t->s->begun_lock);
	yes = limiter_take(&t->s->begun, &t->s->conf.handshakes, source, t->now_ms);
	pthread_mutex_unlock(&t->s->begun_lock);
	return yes;
}

SSL *tls_open(struct streams *s, struct conn *c)
{
	BIO *b = socket_bio(c);
	SSL *ssl;

	if (b == NULL)
		return NULL;
	pthread_mutex_lock(&s->tls_lock);
	ssl = SSL_new(identities_tls(s->identities, s->listener[c->listener].index));
	pthread_mutex_unlock(&s->tls_lock);
	if (ssl == NULL) {
		BIO_free(b);
		return NULL;
	}
	SSL_set_bio(ssl, b, b);
	SSL_set_app_data(ssl, c);
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
	return would_block(rc) ? IO_LATER : IO_FAILED;
}

int tls_io_peek(const struct conn *c, uint8_t *first)
{
	return plain_result(recv(c->fd, first, 1, MSG_PEEK));
}

int tls_io_read(struct conn *c, uint8_t *buf, size_t len)
{
	ssize_t n;

	if (c->ssl != NULL) {
		int rc;

		ERR_clear_error();
		rc = tls_result(c->ssl, SSL_read(c->ssl, buf, (int)len));
		return c->rekeys <= TLS_REKEYS ? rc : IO_FAILED;
	}
	if (!c->chunk)
		return IO_LATER;
	c->chunk = false;
	n = recv(c->fd, buf, len, 0);
	c->more = n == (ssize_t)len;
	return plain_result(n);
}

bool tls_io_pending(const struct conn *c)
{
	return c->ssl != NULL && SSL_has_pending(c->ssl) == 1;
}

int tls_io_write(struct conn *c, const uint8_t *buf, size_t len)
{
	if (c->ssl == NULL)
		return plain_result(send(c->fd, buf, len, MSG_NOSIGNAL));
	ERR_clear_error();
	return tls_result(c->ssl, SSL_write(c->ssl, buf, (int)len));
}

// With MSG_MORE the kernel joins records: they leave in as few segments as those of one write.
static int write_records(struct conn *c, const struct iovec *v, unsigned int n)
{
	int all = 0, done = 0;

	for (unsigned int i = 0; i < n; i++) {
		c->follows = i + 1 < n;
		done = tls_io_write(c, v[i].iov_base, v[i].iov_len);
		if (done > 0)
			all += done;
		if (done < (int)v[i].iov_len)
			break;
	}
	c->follows = false;
	return all > 0 ? all : done;
}

int tls_io_writev(struct conn *c, const struct iovec *v, unsigned int n)
{
	const struct msghdr m = {.msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = n};

	if (c->ssl != NULL)
		return write_records(c, v, n);
	return n == 1 ? tls_io_write(c, v->iov_base, v->iov_len)
		      : plain_result(sendmsg(c->fd, &m, MSG_NOSIGNAL));
}

bool tls_io_finish(struct conn *c)
{
	int rc;

	if (c->ssl == NULL)
		return shutdown(c->fd, SHUT_WR) == 0;
	ERR_clear_error();
	rc = SSL_shutdown(c->ssl);
	return rc >= 0 || tls_result(c->ssl, rc) == IO_LATER;
}

int tls_io_handshake(struct conn *c)
{
	c->chunk = true;
	ERR_clear_error();
	errno = 0;
	return tls_result(c->ssl, SSL_accept(c->ssl));
}
