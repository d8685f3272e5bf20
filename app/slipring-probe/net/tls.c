// SPDX-License-Identifier: BSD-3-Clause
// Sessions of TLS and DTLS. The certificate is judged after the handshake, so that its expiry date
// is known even if it is not trusted; nothing is sent over a session with an untrusted certificate.
#include "net/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "clock.h"

#define DTLS_MTU 1200

// Keeps what libssl says of a failure, and returns the fault.
static enum fault ssl_fault(struct conn *c, int result, enum fault fault)
{
	const int kind = SSL_get_error(c->ssl, result), error = errno;
	const unsigned long code = ERR_peek_last_error();
	const char *reason = ERR_reason_error_string(code);

	if (kind == SSL_ERROR_ZERO_RETURN)
		return FAULT_CLOSED;
	if (kind == SSL_ERROR_SYSCALL && code == 0)
		return error != 0 ? conn_fault(c, error) : FAULT_CLOSED;
	if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return FAULT_CLOSED;
	snprintf(c->detail, sizeof(c->detail), "%s", reason != NULL ? reason : "libssl failed");
	return fault;
}

// Waits for what a call of libssl wants. With DTLS, sends flights again meanwhile. Returns
// FAULT_NONE to repeat the call.
static enum fault ssl_wait(struct conn *c, int result, uint64_t deadline_ms)
{
	const int kind = SSL_get_error(c->ssl, result);
	uint64_t until_ms = deadline_ms, due_ms;
	struct timeval left;

	if (kind != SSL_ERROR_WANT_READ && kind != SSL_ERROR_WANT_WRITE)
		return ssl_fault(c, result, FAULT_HANDSHAKE);
	if (c->transport == TRANSPORT_DTLS && DTLSv1_get_timeout(c->ssl, &left)) {
		due_ms = clock_monotonic_ms() + (uint64_t)left.tv_sec * 1000 +
			(uint64_t)left.tv_usec / 1000 + 1;
		until_ms = due_ms < deadline_ms ? due_ms : deadline_ms;
	}
	if (conn_wait(c->fd, kind == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until_ms))
		return FAULT_NONE;
	if (conn_stopped || clock_monotonic_ms() >= deadline_ms)
		return FAULT_NO_ANSWER;
	DTLSv1_handle_timeout(c->ssl);
	return FAULT_NONE;
}

// --- the handshake -------------------------------------------------------------------------------

static bool make_session(struct conn *c, const struct tls_params *p)
{
	const bool dtls = c->transport == TRANSPORT_DTLS;
	struct addr address;

	c->ctx = SSL_CTX_new(dtls ? DTLS_client_method() : TLS_client_method());
	if (c->ctx == NULL ||
		!SSL_CTX_set_min_proto_version(c->ctx, dtls ? DTLS1_2_VERSION : TLS1_2_VERSION))
		return false;
	if (p->ca != NULL ? !SSL_CTX_load_verify_file(c->ctx, p->ca)
			  : !SSL_CTX_set_default_verify_paths(c->ctx))
		return false;
	SSL_CTX_set_mode(
		c->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	c->ssl = SSL_new(c->ctx);
	if (c->ssl == NULL)
		return false;
	SSL_set_verify(c->ssl, SSL_VERIFY_NONE, NULL);
	if (addr_parse(p->name, &address) == 0)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), p->name) == 1;
	return SSL_set1_host(c->ssl, p->name) == 1 &&
		SSL_set_tlsext_host_name(c->ssl, p->name) == 1;
}

static bool attach_socket(struct conn *c)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	BIO *bio;

	if (c->transport == TRANSPORT_TLS)
		return SSL_set_fd(c->ssl, c->fd) == 1;
	bio = BIO_new_dgram(c->fd, BIO_NOCLOSE);
	if (bio == NULL || getpeername(c->fd, (struct sockaddr *)&peer, &len) < 0)
		return false;
	BIO_ctrl(bio, BIO_CTRL_DGRAM_SET_CONNECTED, 0, &peer);
	SSL_set_bio(c->ssl, bio, bio);
	SSL_set_options(c->ssl, SSL_OP_NO_QUERY_MTU);
	SSL_set_mtu(c->ssl, DTLS_MTU);
	return true;
}

static int64_t end_of(X509 *certificate)
{
	struct tm tm;

	if (!ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm))
		return 0;
	return (int64_t)timegm(&tm);
}

static enum fault judge_certificate(struct conn *c, int64_t *not_after_s)
{
	X509 *certificate = SSL_get0_peer_certificate(c->ssl);
	const long result = SSL_get_verify_result(c->ssl);

	if (certificate != NULL)
		*not_after_s = end_of(certificate);
	switch (certificate != NULL ? result : X509_V_ERR_UNSPECIFIED) {
	case X509_V_OK:
		return FAULT_NONE;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return FAULT_CERT_NAME;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return FAULT_CERT_EXPIRED;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return FAULT_CERT_EARLY;
	default:
		snprintf(c->detail, sizeof(c->detail), "%s", X509_verify_cert_error_string(result));
		return FAULT_CERT_UNTRUSTED;
	}
}

enum fault tls_open(
	struct conn *c, const struct tls_params *p, int64_t *not_after_s, uint64_t deadline_ms)
{
	enum fault fault;
	int result;

	ERR_clear_error();
	if (!make_session(c, p) || !attach_socket(c)) {
		snprintf(c->detail, sizeof(c->detail), "%s",
			p->ca != NULL ? "libssl failed, or the CA file cannot be read"
				      : "libssl failed");
		return FAULT_SYSTEM;
	}
	for (;;) {
		ERR_clear_error();
		errno = 0;
		result = SSL_connect(c->ssl);
		if (result == 1)
			return judge_certificate(c, not_after_s);
		fault = ssl_wait(c, result, deadline_ms);
		if (fault != FAULT_NONE)
			return fault;
	}
}

// --- sending and receiving -----------------------------------------------------------------------

enum fault tls_send(struct conn *c, const void *data, size_t len, uint64_t deadline_ms)
{
	const uint8_t *p = data;
	enum fault fault;
	int n;

	while (len > 0) {
		ERR_clear_error();
		errno = 0;
		n = SSL_write(c->ssl, p, (int)len);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		fault = ssl_wait(c, n, deadline_ms);
		if (fault != FAULT_NONE)
			return fault;
	}
	return FAULT_NONE;
}

enum fault tls_receive(struct conn *c, uint8_t *out, size_t cap, size_t *len, uint64_t deadline_ms)
{
	enum fault fault;
	int n;

	for (;;) {
		ERR_clear_error();
		errno = 0;
		n = SSL_read(c->ssl, out, (int)cap);
		if (n > 0) {
			*len = (size_t)n;
			return FAULT_NONE;
		}
		fault = ssl_wait(c, n, deadline_ms);
		if (fault == FAULT_NO_ANSWER)
			return FAULT_NONE;
		if (fault != FAULT_NONE)
			return fault;
	}
}

void tls_close(struct conn *c)
{
	if (c->ssl != NULL && SSL_is_init_finished(c->ssl)) {
		ERR_clear_error();
		SSL_shutdown(c->ssl);
	}
	SSL_free(c->ssl);
	SSL_CTX_free(c->ctx);
	c->ssl = NULL;
	c->ctx = NULL;
}
