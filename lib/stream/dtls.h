// SPDX-License-Identifier: BSD-3-Clause
// One DTLS 1.2 session by libssl (RFC 6347, RFC 7350), fed datagram by datagram: no sockets. Who
// owns a session may be another thread from one call to the next, but never two at a time: a stream
// thread has it until its handshake is complete (shake.c), then the worker that is its client's
// home, and at the end a stream thread again, to free it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

struct ssl_ctx_st; // libssl's SSL_CTX
struct ssl_st; // libssl's SSL: a session

// What a record adds to a message, at most: header, explicit nonce, tag; of CBC suites the padding
// too.
#define DTLS_OVERHEAD_MAX (13 + 16 + 16 + 48)

// What of a read, a write or a handshake there was: more than 0, or one of these.
#define IO_LATER 0 // not now
#define IO_CLOSED (-1) // by the other side
#define IO_FAILED (-2)

// Where the datagrams of a call come from and go.
struct dtls_wire {
	const uint8_t *in; // of in_len bytes, to be read once; 0: there is none
	uint16_t in_len;
	uint16_t outs; // how many went out
	void (*out)(void *ctx, const uint8_t *data, size_t len);
	void *ctx;
};

// From the files of tls, for datagrams of a handshake and messages no longer than c says. NULL with
// a reason in error.
struct ssl_ctx_st *dtls_load(
	const struct stream_tls *tls, const struct stream_dtls *c, char *error, size_t len);
// The server's end of a session whose client has brought back its cookie: w->in is that
// ClientHello. NULL when it cannot be used, or without memory.
struct ssl_st *dtls_open(struct ssl_ctx_st *ctx, const struct stream_dtls *c, struct dtls_wire *w);
// Whether there is a record in a datagram that is not in the clear.
bool dtls_is_sealed(const uint8_t *data, size_t len);
// Goes on with the handshake with what there is in w->in; more than 0: it is complete.
int dtls_shake(struct ssl_st *ssl, struct dtls_wire *w);
// Sends the last flight again if it is time for that.
void dtls_shake_tick(struct ssl_st *ssl, struct dtls_wire *w);
// The next message out of w->in or what has been kept of it: its length. IO_LATER: there is no
// more; forged, replayed and empty records leave no other trace. A handshake message is answered: a
// repeated Finished by ours, a ClientHello by a refusal. buf may be where w->in is.
int dtls_read(struct ssl_st *ssl, struct dtls_wire *w, uint8_t *buf, size_t len);
// False after a message: there is no other one behind it.
bool dtls_more(const struct ssl_st *ssl);
// One message, of at most stream_dtls.message bytes, in one record in one datagram. buf may be
// where that is written to.
int dtls_write(struct ssl_st *ssl, struct dtls_wire *w, const uint8_t *buf, size_t len);
// Sends close_notify.
void dtls_close(struct ssl_st *ssl, struct dtls_wire *w);
void dtls_free(struct ssl_st *ssl); // NULL is fine
