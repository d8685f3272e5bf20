// SPDX-License-Identifier: BSD-3-Clause
// The libssl contexts of DTLS listeners. Private to lib/stream.
#pragma once

#include <stddef.h>

struct ssl_ctx_st; // libssl's SSL_CTX
struct stream_dtls;
struct stream_tls;

// Makes a context from the files of tls. c limits the size of handshake datagrams. The context has
// only the ciphers that sessions support. Returns NULL with a reason in error (len bytes) on
// failure.
struct ssl_ctx_st *dtls_load(
	const struct stream_tls *tls, const struct stream_dtls *c, char *error, size_t len);
