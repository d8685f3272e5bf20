// SPDX-License-Identifier: BSD-3-Clause
// One connection of a client to the server: a socket of the kernel's, with libssl on it where the
// transport is TLS or DTLS. Never blocks. No DPDK, no TURN. One owner.
#pragma once

#include <openssl/ssl.h>

#include "options/config.h"

// What came of a call: more than 0, or one of these.
#define WIRE_LATER 0 // it would block
#define WIRE_CLOSED (-1) // by the server
#define WIRE_FAILED (-2)

struct wire {
	int fd;
	SSL *ssl; // NULL: plain TCP
	bool datagrams; // DTLS: each write is a message, and so is each read
	bool connected; // TCP's own handshake is over
	bool broken; // libssl has given up: no close_notify any more
};

// The context of all connections of TLS or DTLS. NULL with a reason in error.
SSL_CTX *wire_context(const struct config *c, char *error, size_t len);
// Begins to connect, from an address of the kernel's and a port that it chooses. 0 or -errno.
int wire_open(struct wire *w, SSL_CTX *tls, enum transport t, const struct addr *own,
	const struct endpoint *server);
// Goes on with the handshakes after an event or a time-out: 1 once they are over.
int wire_shake(struct wire *w);
int wire_read(struct wire *w, uint8_t *buf, size_t len);
// A stream may take less than len.
int wire_write(struct wire *w, const uint8_t *buf, size_t len);
// Sends again what DTLS has lost of a handshake, when it is time.
void wire_tick(struct wire *w);
// hard: by a reset, which leaves no port in TIME_WAIT behind.
void wire_close(struct wire *w, bool hard);
