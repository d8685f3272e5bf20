// SPDX-License-Identifier: BSD-3-Clause
// TLS by libssl: contexts, and reading from and writing to a connection, plain or TLS. Private to
// lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <openssl/ssl.h>

#include "addr.h"
#include "dtls.h"
#include "stream.h"

#define TLS_REKEYS 8 // handshake messages (a key update is one) that a client may send at once

struct conn;
struct thread;
struct streams;

// Configures the settings common to TLS and DTLS: files, ciphers, ALPN, options. Returns false with
// a reason in error (len bytes).
bool tls_fill(SSL_CTX *c, const struct stream_tls *tls, char *error, size_t len);
// Makes a TLS context from the files. NULL with a reason in error.
SSL_CTX *tls_load(const struct stream_tls *tls, char *error, size_t len);
// True if a source may begin another handshake now. Counts the handshake in that case.
bool tls_allowed(struct thread *t, const struct addr *source);
// Makes the server's end of a TLS connection. NULL without memory.
SSL *tls_open(struct streams *s, struct conn *c);

// Reads from a connection, plain or TLS. Returns the number of bytes, or IO_* (dtls.h). IO_LATER:
// it would block, or the one read that c->chunk allows is used up. IO_FAILED with c->rekeys above
// TLS_REKEYS: the client has sent too many handshake messages.
int tls_io_read(struct conn *c, uint8_t *buf, size_t len);
// True if libssl holds bytes that tls_io_read may return and epoll does not report.
bool tls_io_pending(const struct conn *c);
// Writes to a connection, plain or TLS. Returns the number of bytes written, or IO_*.
int tls_io_write(struct conn *c, const uint8_t *buf, size_t len);
// Writes n messages, which leave together. Over TLS each message becomes one record. Returns the
// number of bytes written, maybe fewer than all, or IO_*. After IO_LATER over TLS, the next write
// must repeat the first message.
int tls_io_writev(struct conn *c, const struct iovec *v, unsigned int n);
// Ends the stream to the client, by a close_notify or a FIN. False if the client has reset the
// connection, or libssl failed. A close_notify that the kernel has no room for is lost.
bool tls_io_finish(struct conn *c);
// Continues the TLS handshake. Returns more than 0 if it is complete, else IO_*, with libssl's
// errors in the thread's queue.
int tls_io_handshake(struct conn *c);
// Peeks at the first byte of a connection, to distinguish plain TCP from TLS. Returns more than 0,
// or IO_*.
int tls_io_peek(const struct conn *c, uint8_t *first);
