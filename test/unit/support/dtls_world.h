// SPDX-License-Identifier: BSD-3-Clause
// A DTLS client of libssl for tests. Its wire is a pair of queues that the test may change.
#pragma once

#include <openssl/ssl.h>

#include "dtls.h"
#include "dtls_cookie.h"
#include "stream.h"
#include "test.h"

#define WIRE_MAX 256
#define DATAGRAM_MAX 2048

// Upper bound of a session's memory, in bytes.
#if __has_include(<intel-ipsec-mb.h>)
#define SESSION_BYTES 3328 // 2790 with libipsec-mb 1.3; two keys of version 2.0 are 512 more
#else
#define SESSION_BYTES 6144 // with keys of libcrypto's EVP
#endif

struct datagram {
	uint16_t len;
	uint8_t data[DATAGRAM_MAX];
};

// Datagrams in transit, in order.
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

// Makes files with a certificate for this process; they are removed when it ends. dtls_with_rsa,
// set before the first call: the certificate has an RSA-2048 key, not P-256.
extern bool dtls_with_rsa;
struct stream_tls dtls_files(void);
// The identity of all listeners with that certificate, for TLS and DTLS. ciphers: NULL, or a list.
const struct stream_identities *dtls_identities(const char *ciphers);
// Wall clock time after which a client first retransmits an unanswered flight; doubled each time.
// 20 ms, for tests that lose datagrams. Tests that lose none set a second (RFC 6347 4.2.4.1), or
// their clients retransmit whenever the machine is busy.
extern unsigned int dtls_client_timer_us;
// ciphers: NULL = libssl's default.
void dtls_client_open(struct dtls_client *c, const char *ciphers);
void dtls_client_close(struct dtls_client *c);
// Processes received datagrams and the timer. True when the handshake is complete.
bool dtls_client_handshake(struct dtls_client *c);
