// SPDX-License-Identifier: BSD-3-Clause
// One connection: a kernel socket, with libssl on it for TLS and DTLS.
#include "links/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#define LINK_MTU 1500 // for DTLS, which fragments its handshake to fit

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

// --- the context ---------------------------------------------------------------------------------

static void fail_ca(char *error, size_t len, const char *ca)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	snprintf(error, len, "--ca %s: %s", ca, reason != NULL ? reason : "cannot be used");
	ERR_clear_error();
}

SSL_CTX *wire_context(const struct config *conf, char *error, size_t len)
{
	SSL_CTX *c = SSL_CTX_new(
		conf->transport == TRANSPORT_DTLS ? DTLS_client_method() : TLS_client_method());

	if (c == NULL) {
		snprintf(error, len, "libssl does not start");
		return NULL;
	}
	if (conf->tls_12)
		SSL_CTX_set_max_proto_version(c, TLS1_2_VERSION);
	// every handshake is a full one, without session resumption
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(c,
		SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
			SSL_OP_NO_QUERY_MTU);
	SSL_CTX_set_mode(c,
		SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
			SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(c, 1);
	SSL_CTX_set_verify(c, conf->ca != NULL ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	if (conf->ca == NULL || SSL_CTX_load_verify_file(c, conf->ca) == 1)
		return c;
	fail_ca(error, len, conf->ca);
	SSL_CTX_free(c);
	return NULL;
}

// --- opening -------------------------------------------------------------------------------------

static socklen_t address_of(const struct addr *ip, uint16_t port, union address *a)
{
	*a = (union address){0};
	if (addr_is_v4(ip)) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		memcpy(&a->v4.sin_addr, &ip->b[12], 4);
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(port);
	memcpy(&a->v6.sin6_addr, ip->b, 16);
	return sizeof(a->v6);
}

// The kernel chooses the port at connect(): the port may be in use for other servers.
static int socket_open(bool datagrams, const struct addr *local, const struct endpoint *server)
{
	static const int on = 1;
	union address src, dst;
	const socklen_t len = address_of(local, 0, &src);
	const int type = (datagrams ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
	const int fd = socket(src.any.sa_family, type, 0);
	int saved_errno;

	if (fd < 0)
		return -errno;
	address_of(&server->addr, server->port, &dst);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (!datagrams)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, &src.any, len) == 0 &&
		(connect(fd, &dst.any, len) == 0 || errno == EINPROGRESS))
		return fd;
	saved_errno = errno;
	close(fd);
	return -saved_errno;
}

static bool begin_tls(struct wire *w, SSL_CTX *tls, const struct endpoint *server)
{
	union address dst;
	BIO *bio;

	w->ssl = SSL_new(tls);
	bio = w->datagrams ? BIO_new_dgram(w->fd, BIO_NOCLOSE) : BIO_new_socket(w->fd, BIO_NOCLOSE);
	if (w->ssl == NULL || bio == NULL) {
		BIO_free(bio);
		return false;
	}
	if (w->datagrams) {
		address_of(&server->addr, server->port, &dst);
		BIO_ctrl(bio, BIO_CTRL_DGRAM_SET_CONNECTED, 0, &dst);
		DTLS_set_link_mtu(w->ssl, LINK_MTU);
	}
	SSL_set_bio(w->ssl, bio, bio);
	SSL_set_connect_state(w->ssl);
	return true;
}

int wire_open(struct wire *w, SSL_CTX *tls, enum transport t, const struct addr *local,
	const struct endpoint *server)
{
	*w = (struct wire){.datagrams = t == TRANSPORT_DTLS, .connected = t == TRANSPORT_DTLS};
	w->fd = socket_open(w->datagrams, local, server);
	if (w->fd < 0)
		return w->fd;
	if (t == TRANSPORT_TCP || begin_tls(w, tls, server))
		return 0;
	wire_close(w, true);
	return -ENOMEM;
}

void wire_close(struct wire *w, bool hard)
{
	static const struct linger now = {.l_onoff = 1, .l_linger = 0};

	if (w->ssl != NULL) {
		ERR_clear_error();
		if (SSL_is_init_finished(w->ssl) && !w->broken)
			SSL_shutdown(w->ssl);
		SSL_free(w->ssl);
	}
	if (hard && !w->datagrams)
		setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(w->fd);
	*w = (struct wire){.fd = -1};
}

// --- handshakes, reading, writing ----------------------------------------------------------------

static int tls_result(struct wire *w, int rc)
{
	if (rc > 0)
		return rc;
	switch (SSL_get_error(w->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return WIRE_LATER;
	case SSL_ERROR_ZERO_RETURN:
		return WIRE_CLOSED;
	default:
		w->broken = true;
		return WIRE_FAILED;
	}
}

static int plain_result(ssize_t rc)
{
	if (rc >= 0)
		return rc > 0 ? (int)rc : WIRE_CLOSED;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? WIRE_LATER : WIRE_FAILED;
}

// True if TCP's handshake is over: the socket then has a peer, or an error.
static int check_connected(struct wire *w)
{
	union address peer;
	socklen_t len = sizeof(peer), size = sizeof(int);
	int so_error = 0;

	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &so_error, &size) != 0 || so_error != 0)
		return WIRE_FAILED;
	w->connected = getpeername(w->fd, &peer.any, &len) == 0;
	return w->connected ? 1 : WIRE_LATER;
}

int wire_handshake(struct wire *w)
{
	if (!w->connected) {
		const int rc = check_connected(w);

		if (rc <= 0)
			return rc;
	}
	if (w->ssl == NULL)
		return 1;
	ERR_clear_error();
	return tls_result(w, SSL_do_handshake(w->ssl));
}

int wire_read(struct wire *w, uint8_t *buf, size_t len)
{
	if (w->ssl == NULL)
		return plain_result(recv(w->fd, buf, len, 0));
	ERR_clear_error();
	return tls_result(w, SSL_read(w->ssl, buf, (int)len));
}

int wire_write(struct wire *w, const uint8_t *buf, size_t len)
{
	if (w->ssl == NULL)
		return plain_result(send(w->fd, buf, len, MSG_NOSIGNAL));
	ERR_clear_error();
	return tls_result(w, SSL_write(w->ssl, buf, (int)len));
}

void wire_tick(struct wire *w)
{
	if (w->datagrams && DTLSv1_handle_timeout(w->ssl) < 0)
		ERR_clear_error(); // the handshake runs into the client's own timeout
}
