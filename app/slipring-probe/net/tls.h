// SPDX-License-Identifier: BSD-3-Clause
// TLS and DTLS by libssl over the socket of a connection.
#pragma once

#include "net/conn.h"

struct tls_params {
	const char *ca; // PEM file; NULL = the system's CAs
	const char *name; // host name or address that the certificate must have
};

// Does the handshake, and checks the certificate. *not_after_s gets the end of its validity even if
// the check fails.
enum fault tls_open(
	struct conn *c, const struct tls_params *p, int64_t *not_after_s, uint64_t deadline_ms);
// Like conn_send() and conn_receive(), without framing.
enum fault tls_send(struct conn *c, const void *data, size_t len, uint64_t deadline_ms);
enum fault tls_receive(struct conn *c, uint8_t *out, size_t cap, size_t *len, uint64_t deadline_ms);
// Says goodbye and frees the session, if there is one.
void tls_close(struct conn *c);
