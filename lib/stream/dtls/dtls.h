// SPDX-License-Identifier: BSD-3-Clause
// DTLS 1.2 (RFC 6347, RFC 7350), datagram by datagram, without sockets. libssl does a handshake, on
// a stream thread (handshake.c). The handshake leaves a session of some 3 KB, which does not need
// libssl any more. The client's home worker owns the session, until a stream thread frees it.
// Renegotiation is refused, so a session has one epoch, and its keys never change.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

struct ssl_ctx_st; // libssl's SSL_CTX

// Bytes that a record adds to a message at most: header, explicit nonce, tag.
#define DTLS_OVERHEAD_MAX (13 + 8 + 16)
#define DTLS_MESSAGE_MAX 16384 // RFC 5246 section 6.2.1

// The result of a read, a write or a handshake: more than 0, or one of these.
#define IO_LATER 0 // not now
#define IO_CLOSED (-1) // closed by the other side
#define IO_FAILED (-2)

// The datagrams of one call: where they come from and where they go.
struct dtls_wire {
	uint8_t *in; // the rest of a datagram; the call writes over it
	uint16_t in_len;
	uint16_t most; // records of a session that may be decrypted; 0: all
	uint16_t opened; // that were
	uint16_t outs; // datagrams that went out
	uint16_t unsealed; // records that did not go out: the cipher failed
	// Sends one datagram.
	void (*out)(void *ctx, const uint8_t *data, size_t len);
	void *ctx;
};

// --- dtls.c: handshakes --------------------------------------------------------------------------

struct dtls_handshake;

// Makes a context from the files of tls. The datagrams of a handshake are no longer than c says.
// The context has only the ciphers that a session knows. NULL with a reason in error (len bytes).
struct ssl_ctx_st *dtls_load(
	const struct stream_tls *tls, const struct stream_dtls *c, char *error, size_t len);
// Makes the server's end of a handshake whose client has brought back its cookie; w->in is that
// ClientHello. NULL when it cannot be used, or without memory.
struct dtls_handshake *dtls_open(
	struct ssl_ctx_st *ctx, const struct stream_dtls *c, struct dtls_wire *w);
// True when a datagram has a record that is not in the clear.
bool dtls_is_sealed(const uint8_t *data, size_t len);
// Goes on with the handshake, with the datagram in w->in. More than 0: it is complete; else IO_*.
int dtls_handshake(struct dtls_handshake *h, struct dtls_wire *w);
// Sends the last flight again if that is due.
void dtls_handshake_tick(struct dtls_handshake *h, struct dtls_wire *w);
// Makes the session of a handshake that is complete; dtls_session_free frees it. NULL without
// memory.
struct dtls_session *dtls_settle(const struct dtls_handshake *h);
void dtls_handshake_free(struct dtls_handshake *h); // NULL is fine

// --- dtls_session.c: sessions --------------------------------------------------------------------

// Decrypts the next message in w->in in place. Returns its length, with *message pointing at it,
// and takes all up to the end of its record out of w->in. IO_LATER: there is no more, and w->in is
// done with, or w->most were opened. IO_CLOSED, IO_FAILED: an alert has ended the session. Forged,
// replayed and empty records leave no other trace. Handshake messages are answered, up to a limit:
// a repeated Finished by our last flight, a ClientHello by a refusal.
int dtls_session_read(struct dtls_session *s, struct dtls_wire *w, uint8_t **message);
// Bytes that a record of the session has more than its message.
uint16_t dtls_session_overhead(const struct dtls_session *s);
// Makes a record of a message, for a datagram of its own; record and message may overlap. Returns
// the record's length. IO_LATER: the cipher failed, and the message is lost. IO_FAILED: the session
// has used all its sequence numbers.
int dtls_session_write(struct dtls_session *s, const uint8_t *message, size_t len, uint8_t *record);
// Sends close_notify.
void dtls_session_close(struct dtls_session *s, struct dtls_wire *w);
void dtls_session_free(struct dtls_session *s); // NULL is fine
// Name of the cipher of its records: static text.
const char *dtls_session_cipher(const struct dtls_session *s);
