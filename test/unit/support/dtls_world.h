// SPDX-License-Identifier: BSD-3-Clause
// A DTLS client of libssl for tests, with a wire of queues on which the test may do what it likes.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "dtls/cookie.h"
#include "dtls/dtls.h"

#define WIRE_MAX 256
#define DATAGRAM_MAX 2048

// What a session may take of memory.
#if __has_include(<intel-ipsec-mb.h>)
#define SESSION_BYTES 3328 // it is 2773 with libipsec-mb 1.3; two keys of 2.0 are 512 more
#else
#define SESSION_BYTES 6144 // keys of libcrypto's EVP
#endif

struct datagram {
	uint16_t len;
	uint8_t data[DATAGRAM_MAX];
};

// Datagrams under way, first in, first out.
struct wire {
	unsigned int n;
	struct datagram d[WIRE_MAX];
};

void wire_put(struct wire *w, const void *data, size_t len);
bool wire_take(struct wire *w, struct datagram *out);

struct dtls_client {
	SSL_CTX *ctx;
	SSL *ssl;
	struct wire in, out; // to and from the client
};

// Files with a certificate for this process, removed at its end.
struct stream_tls dtls_files(void);
// ciphers NULL: libssl's default; its timer runs out after 20 ms, and twice that each time.
void dtls_client_open(struct dtls_client *c, const char *ciphers);
void dtls_client_close(struct dtls_client *c);
// Goes on with what it has been sent and with its timer. True when its handshake is complete.
bool dtls_client_shake(struct dtls_client *c);
