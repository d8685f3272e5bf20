// SPDX-License-Identifier: BSD-3-Clause
// TLS by libssl: contexts, and reading and writing a connection that may be plain. Private to
// lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <openssl/ssl.h>

#include "addr.h"
#include "dtls/dtls.h"
#include "stream.h"

#define TLS_REKEYS 8 // messages of handshakes, as new keys take one, that a client may send at once

struct conn;
struct thread;
struct streams;

// Sets what all versions of TLS and DTLS have in common: files, ciphers, ALPN, options. False with
// a reason in error (len bytes).
bool tls_fill(SSL_CTX *c, const struct stream_tls *tls, char *error, size_t len);
// Makes a TLS context from the files. NULL with a reason in error.
SSL_CTX *tls_load(const struct stream_tls *tls, char *error, size_t len);
// True when a source may begin another handshake now; the handshake is then counted.
bool tls_allowed(struct thread *t, const struct addr *source);
// Makes the server's end of a TLS connection. NULL without memory.
SSL *tls_open(struct streams *s, struct conn *c);
// Makes a kind of BIO, which the caller keeps for the life of the process. NULL without memory.
BIO_METHOD *tls_io_method(const char *name, int (*in)(BIO *b, char *buf, int len),
	int (*out)(BIO *b, const char *buf, int len), long (*ctrl)(BIO *b, int, long, void *));

// Reads from a connection, plain or TLS. Returns the number of bytes, or IO_* (dtls.h). IO_LATER:
// it would block, or the one read that c->chunk allows is done. IO_FAILED with c->rekeys past
// TLS_REKEYS: the client has sent too many messages of handshakes.
int tls_io_read(struct conn *c, uint8_t *buf, size_t len);
// True when libssl has bytes that tls_io_read may return and epoll does not report.
bool tls_io_pending(const struct conn *c);
// Writes to a connection, plain or TLS. Returns the number of bytes written, or IO_*.
int tls_io_write(struct conn *c, const uint8_t *buf, size_t len);
// The same with n messages, which leave together. Over TLS each is a record of its own. Returns the
// number of bytes written, maybe fewer than all, or IO_*. IO_LATER: libssl was offered the first.
int tls_io_writev(struct conn *c, const struct iovec *v, unsigned int n);
// Says that no more is written, by a close_notify or a FIN. False: the client has reset the
// connection, or libssl has failed. What the kernel has no room for is not said.
bool tls_io_finish(struct conn *c);
// Goes on with the TLS handshake. More than 0: it is complete; else IO_*; libssl's errors
// are in the thread's queue.
int tls_io_handshake(struct conn *c);
// Looks at the first byte of a connection without taking it, to tell plain from TLS. More than 0,
// or IO_*.
int tls_io_peek(const struct conn *c, uint8_t *first);
