// SPDX-License-Identifier: BSD-3-Clause
// DTLS 1.2 (RFC 6347, RFC 7350), datagram by datagram, without sockets. libssl does the handshake,
// on a stream thread (lib/stream/dtls/handshake.c). The handshake produces a session of about 3 KB,
// which no longer needs libssl. The client's home worker owns the session, until a stream thread
// frees it. Renegotiation is refused, so a session has one epoch, and its keys never change.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssl_cipher_st; // libssl's SSL_CIPHER
struct ssl_ctx_st; // libssl's SSL_CTX

// Maximum number of bytes that a record adds to a message: header, explicit nonce, tag.
#define DTLS_OVERHEAD_MAX (13 + 8 + 16)
#define DTLS_MESSAGE_MAX 16384 // RFC 5246 section 6.2.1

// Result of a read, a write or a handshake: more than 0, or one of these.
#define IO_LATER 0 // not now
#define IO_CLOSED (-1) // closed by the other side
#define IO_FAILED (-2)

// The datagram that a call reads, and the output for datagrams that it sends.
struct dtls_wire {
	uint8_t *in; // the rest of a datagram; the call overwrites it
	uint16_t in_len;
	uint16_t most; // limit of records to decrypt; 0: no limit
	uint16_t opened; // records decrypted
	uint16_t outs; // datagrams sent
	uint16_t unsealed; // records not sent because the cipher failed
	// Sends one datagram.
	void (*out)(void *ctx, const uint8_t *data, size_t len);
	void *ctx;
};

// --- dtls.c: handshakes --------------------------------------------------------------------------

struct dtls_handshake;

// True if sessions support the cipher.
bool dtls_supports(const struct ssl_cipher_st *c);
// Makes the server's end of a handshake whose client has returned its cookie; w->in is that
// ClientHello. mtu: maximum length of a datagram in bytes. NULL if the ClientHello cannot be used,
// or without memory.
struct dtls_handshake *dtls_open(struct ssl_ctx_st *ctx, uint16_t mtu, struct dtls_wire *w);
// True if a datagram has an encrypted record.
bool dtls_is_sealed(const uint8_t *data, size_t len);
// Continues the handshake with the datagram in w->in. Returns more than 0 if it is complete, else
// IO_*.
int dtls_handshake(struct dtls_handshake *h, struct dtls_wire *w);
// Retransmits the last flight if that is due.
void dtls_handshake_tick(struct dtls_handshake *h, struct dtls_wire *w);
// Makes the session of a complete handshake; free it with dtls_session_free. NULL without memory.
struct dtls_session *dtls_settle(const struct dtls_handshake *h);
void dtls_handshake_free(struct dtls_handshake *h); // NULL is fine

// --- dtls_session.c: sessions --------------------------------------------------------------------

// Decrypts the next message in w->in in place. Returns its length, with *message pointing to it,
// and advances w->in past its record. IO_LATER: w->in has no more messages, or w->most records were
// decrypted. IO_CLOSED, IO_FAILED: an alert has ended the session. Forged, replayed and empty
// records are ignored. Handshake messages are answered, up to a limit: a repeated Finished with our
// last flight, a ClientHello with a refusal.
int dtls_session_read(struct dtls_session *s, struct dtls_wire *w, uint8_t **message);
// Returns the bytes that a record of the session adds to its message.
uint16_t dtls_session_overhead(const struct dtls_session *s);
// Makes the record of a message, for a separate datagram; record and message may overlap. Returns
// the record's length. IO_LATER: the cipher failed, and the message is lost. IO_FAILED: the session
// has used all its sequence numbers.
int dtls_session_write(struct dtls_session *s, const uint8_t *message, size_t len, uint8_t *record);
// Sends close_notify.
void dtls_session_close(struct dtls_session *s, struct dtls_wire *w);
void dtls_session_free(struct dtls_session *s); // NULL is fine
// Returns the name of its cipher, a static string.
const char *dtls_session_cipher(const struct dtls_session *s);
