// SPDX-License-Identifier: BSD-3-Clause
// A connection to the server over one transport, through this host's kernel. Deadlines are times of
// the monotonic clock in ms. A signal that sets conn_stopped ends all waiting.
#pragma once

#include <openssl/ssl.h>
#include <signal.h>

#include "result.h"

#define CONN_MESSAGE_MAX 2048 // bytes of the longest message; longer ones are no valid answers

struct conn {
	enum transport transport;
	int fd; // -1 = closed
	SSL_CTX *ctx;
	SSL *ssl;
	size_t held; // bytes received, at the front of buf (TCP and TLS)
	uint8_t buf[CONN_MESSAGE_MAX];
	char detail[DETAIL_SIZE]; // what the system or libssl says of the last fault
};

extern volatile sig_atomic_t conn_stopped;

// Waits until fd has the event (POLLIN, POLLOUT). False at the deadline or when stopped.
bool conn_wait(int fd, short event, uint64_t deadline_ms);
// Makes a UDP socket that does not block, of the family of e; -1 on failure.
int conn_udp_socket(const struct endpoint *e);
// Sends a datagram through a UDP socket that is not connected.
bool conn_send_to(int fd, const struct endpoint *peer, const void *data, size_t len);

// Connects to the server; UDP and DTLS have no handshake of the kernel. conn_close() is needed in
// any case.
enum fault conn_open(
	struct conn *c, enum transport t, const struct endpoint *server, uint64_t deadline_ms);
// Sends one message.
enum fault conn_send(struct conn *c, const void *data, size_t len, uint64_t deadline_ms);
// Receives one message into out (CONN_MESSAGE_MAX bytes). *len is 0 if none comes until the
// deadline.
enum fault conn_receive(struct conn *c, uint8_t *out, size_t *len, uint64_t deadline_ms);
void conn_close(struct conn *c);
// Private to conn.c and tls.c: the fault that an errno means. Keeps the text of an unusual one.
enum fault conn_fault(struct conn *c, int error);
