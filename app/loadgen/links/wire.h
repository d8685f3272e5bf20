// SPDX-License-Identifier: BSD-3-Clause
// One connection of a client to the server: a kernel socket, with libssl on it for TLS and DTLS.
// Never blocks. Knows neither DPDK nor TURN. Has one owner.
#pragma once

#include <openssl/ssl.h>

#include "options/config.h"

// Return values of wire_handshake, wire_read and wire_write: more than 0, or one of these.
#define WIRE_LATER 0 // the call would block
#define WIRE_CLOSED (-1) // the server has closed the connection
#define WIRE_FAILED (-2) // an error: the connection cannot be used any more

struct wire {
	int fd;
	SSL *ssl; // NULL: plain TCP
	bool datagrams; // DTLS: each read and each write is one message
	bool connected; // TCP's own handshake is over (always true for DTLS)
	bool broken; // libssl has failed: wire_close sends no close_notify
};

// Makes the context that all TLS or DTLS connections share. NULL with the reason in error.
SSL_CTX *wire_context(const struct config *conf, char *error, size_t len);
// Begins to connect from the kernel's address `local`; the kernel chooses the port. Returns 0 or
// -errno.
int wire_open(struct wire *w, SSL_CTX *tls, enum transport t, const struct addr *local,
	const struct endpoint *server);
// Continues the handshakes after an event or a timeout. Returns 1 once they are over.
int wire_handshake(struct wire *w);
// Reads up to len bytes; returns how many.
int wire_read(struct wire *w, uint8_t *buf, size_t len);
// Writes len bytes; returns how many were taken. A stream may take fewer than len.
int wire_write(struct wire *w, const uint8_t *buf, size_t len);
// Retransmits lost DTLS handshake messages when it is time.
void wire_tick(struct wire *w);
// Closes the connection. hard: with a TCP reset, which leaves no port in TIME_WAIT.
void wire_close(struct wire *w, bool hard);
