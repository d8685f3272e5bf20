// SPDX-License-Identifier: BSD-3-Clause
// TLS by libssl: contexts, and reading and writing a connection that may be plain. Private to
// lib/stream.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "addr.h"
#include "dtls/dtls.h"
#include "stream.h"

struct conn;
struct thread;
struct streams;

struct tls_contexts {
	SSL_CTX *tls, *dtls; // NULL: no listener wants it
};

// What all versions of TLS and DTLS have in common: files, ciphers, ALPN, options. False with a
// reason in error.
bool tls_fill(SSL_CTX *c, const struct stream_tls *tls, char *error, size_t len);
// NULL with a reason in error.
SSL_CTX *tls_load(const struct stream_tls *tls, char *error, size_t len);
// Those that are wanted. 0, or -1 with a reason in error and nothing made.
int tls_load_all(const struct streams *s, bool tls, bool dtls, struct tls_contexts *out,
	char *error, size_t len);
// Whether a source may begin another handshake now, which is counted.
bool tls_allowed(struct thread *t, const struct addr *source);
// The server's end of a connection; NULL when there is no memory.
SSL *tls_open(struct streams *s, struct conn *c);
// A kind of BIO; NULL when there is no memory.
BIO_METHOD *tls_io_method(const char *name, int (*in)(BIO *b, char *buf, int len),
	int (*out)(BIO *b, const char *buf, int len), long (*ctrl)(BIO *b, int, long, void *));

// Plain or TLS. Bytes, or IO_* (dtls.h); IO_LATER: it would block, or c->chunk has been read.
int tls_io_read(struct conn *c, uint8_t *buf, size_t len);
// Whether libssl has something that tls_io_read may return and epoll does not tell of.
bool tls_io_pending(const struct conn *c);
int tls_io_write(struct conn *c, const uint8_t *buf, size_t len);
int tls_io_handshake(struct conn *c);
// The first byte that has come, before there is TLS or not; it stays.
int tls_io_peek(const struct conn *c, uint8_t *first);
