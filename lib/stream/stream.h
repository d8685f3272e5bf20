// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP and TLS (RFC 8656 3, 12.5; RFC 8489 6.2.2, 6.2.3). The kernel does TCP, libssl
// does TLS; threads of their own, never polling lcores, accept, shake hands, cut the byte streams
// into messages and give them to the workers, and write what comes back. They know nothing of
// TURN but its framing. No DPDK: how a message gets to a worker and back is handed in
// (struct stream_ops).
//
// For clients over DTLS these threads do the handshakes only. The datagrams come in on workers,
// which give a thread those of a handshake and get the session once it is complete (dtls.h).
#pragma once

#include "addr.h"

#define STREAM_THREADS_MAX 16
#define STREAM_CONNECTIONS_MAX (1u << 20)
#define STREAM_BURST 32
#define STREAM_ROOM_MAX 16384 // of stream_config.room

enum stream_mode {
	STREAM_PLAIN,
	STREAM_TLS,
	STREAM_DETECT, // the first byte tells
};

struct stream_listener {
	struct endpoint at;
	uint8_t index; // what workers call it
	uint8_t mode; // enum stream_mode
};

// Paths of PEM files. Read at start, and again by stream_reload.
struct stream_tls {
	const char *certificate; // with or without what is between it and the root; NULL: no TLS
	const char *key;
	const char *chain; // NULL, or more certificates
	const char *ciphers; // of TLS 1.2, in OpenSSL's words; NULL: ECDHE with an AEAD
	bool only_13;
	bool for_dtls; // there are listeners of DTLS
};

// DTLS clients; sessions 0: there are none.
struct stream_dtls {
	uint32_t sessions; // at a time, handshakes included
	uint32_t per_source; // at a time, of an IPv4 address or an IPv6 /64; 0 = no limit
	uint32_t per_network; // at a time, of an IPv6 /48; 0 = no limit
	uint32_t handshake_s;
	uint16_t mtu; // of UDP payload, for the datagrams of a handshake
	uint16_t message; // longest that is sent to a client
};

enum stream_kind {
	STREAM_BYTES, // of or for a connection
	STREAM_HELLO, // DTLS: ClientHello of a new session, its cookie good; conn is new, too
	STREAM_SHAKE, // another datagram of that session, with its headers gone
	STREAM_GONE, // session is to be freed; NULL: its handshake is to be given up
};

struct dtls_session; // dtls.h

// A message between a connection or session and a worker.
struct stream_message {
	void *buf; // the worker's; not looked into
	uint8_t *data;
	uint16_t len;
	uint8_t kind; // enum stream_kind
	bool media; // to the client: may be dropped for newer ones
	uint64_t conn; // never 0
	// To the client, of an answer: seconds that its allocation lives on, 0 = it has none.
	uint32_t lease_s;
	struct addr source; // HELLO, GONE: address of the client
	struct dtls_session *session; // GONE
};

// Whose a connection is.
struct stream_from {
	struct endpoint client;
	uint8_t listener; // index
	uint64_t conn;
};

// The way to the workers and back; each function is called by stream thread t alone.
struct stream_ops {
	// Worker of a client of a listener (its index), always the same for the same two.
	unsigned int (*home)(void *ctx, const struct endpoint *client, uint8_t listener);
	// An empty buffer for a message to worker w: room bytes at m->data. False: not now.
	bool (*take)(void *ctx, unsigned int t, unsigned int w, struct stream_message *m);
	// Whether the worker takes another request now: they wait there, and TCP asks only once.
	bool (*may_ask)(void *ctx, unsigned int t, unsigned int w);
	// Gives a buffer just taken, now of m->len bytes, to the worker; never fails.
	void (*send)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_from *from);
	// Tells that a connection has ended. False: not now.
	bool (*ended)(void *ctx, unsigned int t, unsigned int w, const struct stream_from *from);
	// Up to n messages for clients; all of them are given back before the next call of any but
	// take and datagram.
	unsigned int (*receive)(void *ctx, unsigned int t, unsigned int w, struct stream_message *m,
		unsigned int n);
	void (*release)(void *ctx, unsigned int t, unsigned int w, void *buf);
	// Gives a buffer just taken, now of m->len bytes, to the worker: a datagram for the client
	// of session m->conn (STREAM_SHAKE), or one of that client which came after its handshake
	// was complete (STREAM_BYTES). Never fails.
	void (*datagram)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m);
	// Tells that the handshake of a session has ended: complete, and s is the worker's from
	// now on, or NULL. False: not now.
	bool (*shaken)(
		void *ctx, unsigned int t, unsigned int w, uint64_t conn, struct dtls_session *s);
};

struct stream_config {
	const struct stream_listener *listeners;
	unsigned int nb_listeners, threads, workers;
	const char *netns; // where the listeners are; NULL or "" = where the process is
	uint32_t connections; // at a time, up to STREAM_CONNECTIONS_MAX
	uint32_t per_source; // at a time, of an IPv4 address or an IPv6 /64; 0 = no limit
	uint32_t per_network; // at a time, of an IPv6 /48; 0 = no limit
	uint32_t idle_s, handshake_s;
	uint32_t rate,
		burst; // of TLS handshakes, a second and at once, of a source; rate 0 = no limit
	uint32_t nap_us; // what a message may have to wait where there are many; NAP_US at least
	uint32_t queue; // bytes that may wait for a client that does not read
	uint16_t room; // longest message
	struct stream_tls tls;
	struct stream_dtls dtls;
	const struct stream_ops *ops;
	void *ctx;
};

// Counters: X(field, meaning). The first is a level.
#define STREAM_COUNTERS(X)                                                                  \
	X(connections, "open")                                                              \
	X(tls, "of them with TLS")                                                          \
	X(accepted, "in all, but for those refused")                                        \
	X(refused_total, "refused: streams.connections")                                    \
	X(refused_source, "refused: streams.per-source")                                    \
	X(refused_network, "refused: streams.per-network")                                  \
	X(refused_rate, "refused: limits.handshakes")                                       \
	X(refused_files, "refused: no file descriptor, or no memory of the kernel's, left") \
	X(handshakes, "TLS handshakes completed")                                           \
	X(handshake_failed, "closed: TLS handshake failed")                                 \
	X(slow, "closed: no whole message in streams.handshake seconds")                    \
	X(gave_way, "closed, the oldest without a message: streams.connections")            \
	X(idle, "closed: streams.idle")                                                     \
	X(garbage, "closed: neither STUN nor ChannelData")                                  \
	X(failed, "closed: reset, or an error of TCP or TLS")                               \
	X(closed, "closed by the client")                                                   \
	X(rx, "messages from clients given to workers")                                     \
	X(tx, "messages of workers written to clients")                                     \
	X(rx_bytes, "received, TLS taken off")                                              \
	X(tx_bytes, "written, before TLS")                                                  \
	X(oversize, "messages from clients too long for any datagram, skipped")             \
	X(queue_full, "messages to clients dropped: streams.queue")                         \
	X(late, "messages to clients whose connection has ended")                           \
	X(stalled, "times that reading waited for the workers")                             \
	X(dtls_sessions, "DTLS sessions there are, handshakes included")                    \
	X(dtls_handshakes, "DTLS handshakes completed")                                     \
	X(dtls_failed, "DTLS handshakes given up: failed, or past dtls.handshake")          \
	X(dtls_refused_total, "DTLS handshakes refused: dtls.sessions")                     \
	X(dtls_refused_source, "DTLS handshakes refused: dtls.per-source")                  \
	X(dtls_refused_network, "DTLS handshakes refused: dtls.per-network")                \
	X(dtls_overrun, "datagrams of DTLS handshakes dropped: too many waited")

struct stream_stats {
#define X(field, text) uint64_t field;
	STREAM_COUNTERS(X)
#undef X
};

struct streams;

// Opens the listeners and starts the threads, which have all signals blocked and run on the
// caller's CPUs. c->ctx, c->ops and the paths of tls outlive the streams; all else is copied. NULL
// with a reason in error, everything undone.
struct streams *stream_start(const struct stream_config *c, char *error, size_t len);
// Ends the threads and closes all connections. Workers are no longer told, and may have stopped.
void stream_stop(struct streams *s);
// Reads the files of TLS again, for connections from now on. 0, or -1 with the reason in error,
// and then nothing has changed. One thread at a time.
int stream_reload(struct streams *s, char *error, size_t len);
// Whether the files can be used. 0, or -1 with the reason in error.
int stream_tls_check(const struct stream_tls *tls, char *error, size_t len);
// Any thread. A snapshot of each counter, not of all at once.
void stream_stats(const struct streams *s, struct stream_stats *out);

// For workers.

// Number of the thread that has a connection.
static inline unsigned int stream_thread_of(uint64_t conn)
{
	return (uint8_t)(conn >> 24);
}

// False when it has ended, or ends by now. Once it has said so, or the workers have been told by
// ops.ended, it never is again.
bool stream_alive(const struct streams *s, uint64_t conn);
// To be called when something has been left for a thread's ops.receive: wakes it if it sleeps.
void stream_wake(struct streams *s, unsigned int thread);
