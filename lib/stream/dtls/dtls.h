// SPDX-License-Identifier: BSD-3-Clause
// DTLS 1.2 (RFC 6347, RFC 7350), datagram by datagram: no sockets. A handshake is libssl's, on a
// stream thread (handshake.c). What it leaves is a session of some 3 KB, which needs libssl no
// more and is owned by the worker that is its client's home, until a stream thread frees it.
// Renegotiation is refused, so a session has one epoch and its keys stay what they are.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

struct ssl_ctx_st; // libssl's SSL_CTX

// What a record adds to a message, at most: header, explicit nonce, tag.
#define DTLS_OVERHEAD_MAX (13 + 8 + 16)

// What of a read, a write or a handshake there was: more than 0, or one of these.
#define IO_LATER 0 // not now
#define IO_CLOSED (-1) // by the other side
#define IO_FAILED (-2)

// Where the datagrams of a call come from and go.
struct dtls_wire {
	uint8_t *in; // what is left of a datagram, which is written over
	uint16_t in_len;
	uint16_t outs; // how many went out
	uint16_t unsealed; // records that did not: the cipher failed
	void (*out)(void *ctx, const uint8_t *data, size_t len);
	void *ctx;
};

// --- dtls.c: handshakes --------------------------------------------------------------------------

struct dtls_handshake;

// Makes a context from the files of tls, for datagrams of a handshake no longer than c says. Only
// the ciphers that a session knows are left in it. NULL with a reason in error.
struct ssl_ctx_st *dtls_load(
	const struct stream_tls *tls, const struct stream_dtls *c, char *error, size_t len);
// The server's end of a handshake whose client has brought back its cookie: w->in is that
// ClientHello. NULL when it cannot be used, or without memory.
struct dtls_handshake *dtls_open(
	struct ssl_ctx_st *ctx, const struct stream_dtls *c, struct dtls_wire *w);
// Whether there is a record in a datagram that is not in the clear.
bool dtls_is_sealed(const uint8_t *data, size_t len);
// Goes on with the handshake with what there is in w->in; more than 0: it is complete.
int dtls_handshake(struct dtls_handshake *h, struct dtls_wire *w);
// Sends the last flight again if it is time for that.
void dtls_handshake_tick(struct dtls_handshake *h, struct dtls_wire *w);
// The session of a handshake that is complete. NULL without memory.
struct dtls_session *dtls_settle(const struct dtls_handshake *h);
void dtls_handshake_free(struct dtls_handshake *h); // NULL is fine

// --- record.c: sessions --------------------------------------------------------------------------

// The next message in w->in, decrypted where it is, at *message: its length. Up to the end of its
// record is then taken out of w->in. IO_LATER: there is no more, and w->in is done with; forged,
// replayed and empty records leave no other trace. A handshake message is answered, up to a limit:
// a repeated Finished by our last flight, a ClientHello by a refusal.
int dtls_read(struct dtls_session *s, struct dtls_wire *w, uint8_t **message);
// Makes a record of a message, for a datagram of its own; the two may lie over each other. Its
// length; IO_LATER: the cipher failed, and the message is lost; IO_FAILED: the session is worn out.
int dtls_write(struct dtls_session *s, const uint8_t *message, size_t len, uint8_t *record);
// Sends close_notify.
void dtls_close(struct dtls_session *s, struct dtls_wire *w);
void dtls_free(struct dtls_session *s); // NULL is fine
