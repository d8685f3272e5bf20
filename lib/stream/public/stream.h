// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP and TLS (RFC 8656 3, 12.5; RFC 8489 6.2.2, 6.2.3). The kernel does TCP, libssl
// does TLS. Stream threads, never polling lcores, accept connections, do the handshakes, cut the
// byte streams into messages and pass these to the workers. They also write the answers of the
// workers to the clients. Stream threads know nothing of TURN except its framing. They do not use
// DPDK: the caller supplies the functions that carry messages to a worker and back (struct
// stream_ops).
//
// For DTLS clients these threads do only the handshakes. Workers receive the datagrams. A worker
// passes the datagrams of a handshake to a thread, and gets the session once the handshake is
// complete (dtls.h).
#pragma once

#include <sys/types.h>
#include <time.h>

#include "addr.h"
#include "rates/bucket.h"
#include "handle.h"
#include "stream_expiry.h"
#include "stream_config_features.h"
#include "stream_refusals.h"

#define STREAM_THREADS_MAX 16
#define STREAM_WORKERS_MAX 64
#define STREAM_CONNECTIONS_MAX (1u << 20)
#define STREAM_BURST 256 // messages that a thread receives at a time
#define STREAM_ROOM_MAX 16384 // upper limit of stream_config.room, in bytes
#define STREAM_PROXIES_MAX 64 // prefixes of load balancers of a listener
#define STREAM_TRUSTED_MAX 64 // prefixes of stream_config.trusted
#define STREAM_RATE_NETWORK 5 // an IPv6 /48 may begin this many times the handshakes of one source

enum stream_mode {
	STREAM_PLAIN,
	STREAM_TLS,
	STREAM_DETECT, // the client's first byte distinguishes plain TCP from TLS
};

struct stream_listener {
	struct endpoint endpoint;
	uint8_t index; // the workers' number for it
	uint8_t mode; // enum stream_mode
	bool marked; // its connections use tos; else the DSCP of their clients' SYNs
	uint8_t tos; // DSCP in its place in the TOS byte, ECN bits zero
	// Load balancers: only these may connect, and they begin each connection with a PROXY
	// header.
	const struct prefix *proxy; // nb_proxy of them
	uint8_t nb_proxy; // up to STREAM_PROXIES_MAX; 0: no headers, everybody may connect
	uint16_t proxy_room; // bytes of the longest accepted header, at least PROXY_HEADER_LEAST
};

// TLS and DTLS settings of a listener: its identity, as paths of PEM files, and the protocols it
// accepts. The files are read at the start, and again by stream_tls_reload.
struct stream_tls {
	const char *certificate; // with or without the intermediate certificates
	const char *key;
	const char *chain; // NULL, or a file with more certificates of the chain
	const char *ciphers; // for TLS 1.2, in OpenSSL's syntax; NULL: ECDHE with an AEAD
	const char *const *alpn; // nb_alpn names, each 1 to 255 bytes, in order of preference
	unsigned int nb_alpn; // 0: the ALPN offers of clients are ignored
	bool only_13; // no version older than TLS 1.3
	bool for_tls, for_dtls; // a listener uses it for TLS, or for DTLS
	char section[24]; // configuration section of both files: "listeners[1].tls"; "" is "tls"
};

#define STREAM_LISTENERS_MAX 255

// The identities of all listeners.
struct stream_identities {
	struct stream_tls list[STREAM_LISTENERS_MAX];
	unsigned int nb;
	// index in list, by the workers' number of a listener
	uint8_t by_listener[STREAM_LISTENERS_MAX];
};

// Limits of DTLS clients. DTLS is off if sessions is 0.
struct stream_dtls {
	uint32_t sessions; // at the same time, handshakes included
	uint32_t per_source; // at the same time, of an IPv4 address or an IPv6 /64; 0 = no limit
	uint32_t per_network; // at the same time, of an IPv6 /48; 0 = no limit
	uint32_t handshake_s; // seconds that a handshake may take
	uint16_t mtu; // limit of a handshake datagram's UDP payload, in bytes
	uint16_t message; // bytes of the longest message to a client
};

enum stream_kind {
	STREAM_BYTES, // bytes from or to a connection
	STREAM_HELLO, // DTLS: ClientHello of a new session, with a valid cookie; conn is new, too
	STREAM_HANDSHAKE, // a later handshake datagram of the session, without the packet's headers
	STREAM_GONE, // the thread must free session; NULL: the worker abandons the handshake
#define X(kind) kind,
	STREAM_CONFIG_MESSAGE_KINDS(X)
#undef X
};

struct dtls_session; // dtls.h

// A message between a connection or session and a worker.
struct stream_message {
	void *buf; // the worker's buffer, opaque to stream threads
	uint8_t *data;
	uint16_t len;
	uint8_t kind; // enum stream_kind
	bool media; // to the client: may be dropped in favour of newer messages
	uint64_t conn; // connection or session; never 0
	// In an answer to the client: remaining lifetime of its allocation in seconds; 0 = no
	// allocation.
	uint32_t lease_s;
	struct addr source; // HELLO, GONE: the client's address
	uint8_t listener; // HELLO: the workers' number of the listener that received it
	struct dtls_session *session; // GONE only
};

// Identifies a connection to workers.
struct stream_from {
	struct endpoint client;
	uint8_t listener; // stream_listener.index
	uint8_t tos; // the connection's DSCP in its place in the TOS byte, ECN bits zero
	uint64_t conn;
};

// Carries messages to the workers and back. t is the number of the calling stream thread, w the
// number of a worker. Only thread t calls with this t.
struct stream_ops {
	// Returns the home worker of a client on a listener (stream_listener.index). It never
	// changes.
	unsigned int (*home)(void *ctx, const struct endpoint *client, uint8_t listener);
	// Gets an empty buffer for a message to worker w, with stream_config.room bytes at m->data.
	// False if there is no buffer now.
	bool (*take)(void *ctx, unsigned int t, unsigned int w, struct stream_message *m);
	// True if the worker can accept another request, which may have to wait there. TCP clients
	// do not retransmit requests, so no request may be dropped.
	bool (*may_ask)(void *ctx, unsigned int t, unsigned int w);
	// Passes the buffer of the last `take`, now with m->len bytes, to the worker, without
	// waking it. Never fails.
	void (*send)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_from *origin);
	// Wakes a sleeping worker, after the last message that a round sends to it.
	void (*kick)(void *ctx, unsigned int w);
	// Ends the doze of a worker, if it dozes. A napping thread is the clock of such workers.
	void (*rouse)(void *ctx, unsigned int w);
	// Notifies a worker that a connection has closed. False if the worker has no room now.
	bool (*ended)(void *ctx, unsigned int t, unsigned int w, const struct stream_from *origin);
	// Gets up to n messages for clients. Before the thread releases all of them it calls no
	// other functions than take and datagram.
	unsigned int (*receive)(void *ctx, unsigned int t, unsigned int w, struct stream_message *m,
		unsigned int n);
	// Returns a buffer of receive to the worker.
	void (*release)(void *ctx, unsigned int t, unsigned int w, void *buf);
	// Passes the buffer of the last `take`, now with m->len bytes, to the worker. It holds a
	// datagram to the client of session m->conn (STREAM_HANDSHAKE), or a datagram from that
	// client that arrived after the handshake (STREAM_BYTES). Never fails.
	void (*datagram)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m);
	// Notifies a worker that the handshake of session conn has ended. It is complete, and the
	// worker owns s from now on; or it failed, and s is NULL. False if the worker has no room
	// now.
	bool (*handshake_ended)(
		void *ctx, unsigned int t, unsigned int w, uint64_t conn, struct dtls_session *s);
	// STREAM_REFUSAL_END if clients at this address are served, else the reason why they are
	// not: STREAM_REFUSED_DENIED or STREAM_REFUSED_BLOCKED. NULL: all are served.
	enum stream_refusal (*refuses)(void *ctx, const struct addr *client);
	// Reports a refusal; NULL: refusals are not reported. False if there is no room for the
	// report.
	bool (*refused)(void *ctx, unsigned int t, const struct stream_refused *r);
};

struct stream_config {
	const struct stream_listener *listeners;
	unsigned int nb_listeners, threads, workers;
	const char *netns; // network namespace of the listeners; NULL or "" = that of the process
	uint32_t connections; // at the same time, up to STREAM_CONNECTIONS_MAX
	uint32_t per_source; // at the same time, of an IPv4 address or an IPv6 /64; 0 = no limit
	uint32_t per_network; // at the same time, of an IPv6 /48; 0 = no limit
	const struct prefix *trusted; // sources that the two limits above do not count
	unsigned int nb_trusted; // up to STREAM_TRUSTED_MAX
	uint32_t idle_s, handshake_s;
	struct limit handshakes; // TLS handshakes of one source
	uint32_t nap_us; // longest nap of a busy thread, in microseconds; 0 = the limits in nap.h
	uint32_t headers; // connections of one thread that wait for their PROXY header; 0 = 1
	uint32_t queue; // bytes queued for a client that does not read
	uint16_t room; // bytes of the longest message from a client
	const struct stream_identities *identities; // NULL: neither TLS nor DTLS
	struct stream_dtls dtls;
#define X(type, field) type field;
	STREAM_CONFIG_SETTINGS(X)
#undef X
	const struct stream_ops *ops;
	void *ctx;
};

// Counters: X(field, meaning). The first one is a level.
#define STREAM_COUNTERS(X)                                                              \
	X(connections, "open")                                                          \
	X(tls, "open, with TLS")                                                        \
	X(accepted, "accepted in total, refused connections excluded")                  \
	X(refused_denied, "refused, or closed by a reload: denied by clients.*")        \
	X(refused_blocked, "refused, or closed: its address is blocked")                \
	X(refused_total, "refused: streams.connections")                                \
	X(refused_source, "refused: streams.per-source")                                \
	X(refused_network, "refused: connections of its IPv6 /48")                      \
	X(refused_rate, "refused: handshakes of its source")                            \
	X(refused_files, "refused: no file descriptor, or no kernel memory, left")      \
	X(refused_proxy, "refused: not from an address of listeners[].proxy")           \
	X(proxy_own, "of balancers themselves: LOCAL, or an unusable address family")   \
	X(proxy_none, "refused: no PROXY header")                                       \
	X(proxy_bad, "refused: PROXY header violates the specification")                \
	X(proxy_long, "refused: PROXY header too long")                                 \
	X(proxy_slow, "closed: no complete PROXY header in 10 seconds")                 \
	X(proxy_gave_way, "closed as the oldest without a PROXY header: too many wait") \
	X(proxy_taken, "refused: the PROXY header names a connected client")            \
	X(proxy_closed, "closed by the balancer before its PROXY header was complete")  \
	X(handshakes, "TLS handshakes completed")                                       \
	X(handshake_failed, "closed: TLS handshake failed")                             \
	X(slow, "closed: no complete message in 10 seconds")                            \
	X(gave_way, "closed as the oldest without a message: streams.connections")      \
	X(idle, "closed: idle, without an allocation")                                  \
	X(garbage, "closed: neither STUN nor ChannelData")                              \
	X(rekeys, "closed: client asked for new TLS keys too often")                    \
	X(failed, "closed: reset, or an error of TCP or TLS")                           \
	X(closed, "closed by the client")                                               \
	X(rx, "messages from clients passed to workers")                                \
	X(tx, "messages from workers written to clients")                               \
	X(rx_bytes, "received, after TLS decryption")                                   \
	X(tx_bytes, "written, before TLS encryption")                                   \
	X(writes, "writes to clients, each of one or more messages")                    \
	X(oversize, "messages from clients skipped: too long for a datagram")           \
	X(queue_full, "messages to clients dropped: too many wait")                     \
	X(late, "messages to clients dropped: connection closed")                       \
	X(stalled, "times that reading paused for the workers")                         \
	X(dtls_sessions, "DTLS sessions open, handshakes included")                     \
	X(dtls_handshakes, "DTLS handshakes completed")                                 \
	X(dtls_failed, "DTLS handshakes given up: failed, or longer than 10 seconds")   \
	X(dtls_refused_total, "DTLS handshakes refused: dtls.sessions")                 \
	X(dtls_refused_source, "DTLS handshakes refused: dtls.per-source")              \
	X(dtls_refused_network, "DTLS handshakes refused: sessions of its IPv6 /48")    \
	X(dtls_overrun, "datagrams of DTLS handshakes dropped: queue full")             \
	X(untold, "refusals of any kind that no event reports")                         \
	X(relay_ports, "open ports of TCP allocations")                                 \
	X(relay_connections, "open connections with peers")                             \
	X(relay_connected, "connections made to peers")                                 \
	X(relay_accepted, "connections of peers with a permission accepted")            \
	X(relay_bound, "connections with peers bound to a client's connection")         \
	X(relay_failed, "Connects answered with 447")                                   \
	X(relay_refused, "Connects refused: relay.tcp, or the peer is this host")       \
	X(relay_hasty, "Connects refused: more than 20 a second")                       \
	X(relay_strangers, "connections of peers closed: no permission")                \
	X(relay_full, "connections of peers closed: limits of relay.tcp")               \
	X(relay_files, "connections with peers closed: no file descriptor left")        \
	X(relay_unbound, "connections of peers closed: not bound in time")              \
	X(relay_denied, "connections with peers closed: peer denied by a reload")       \
	X(relay_unknown, "ConnectionBinds without a waiting connection of the user")    \
	X(relay_unopened, "ports of TCP allocations that the kernel could not open")    \
	X(relay_held, "times that relaying paused for limits.rates")                    \
	X(relay_to_peers, "bytes written to peers")                                     \
	X(relay_to_clients, "bytes written from peers to clients")

struct stream_stats {
#define X(field, text) uint64_t field;
	STREAM_COUNTERS(X)
#undef X
};

struct streams;

// Opens the listeners and starts the threads, which block all signals and run on the caller's CPUs.
// c->ctx and c->ops must outlive the streams; everything else is copied. On failure returns NULL
// with a reason in error (len bytes), and frees everything.
struct streams *stream_start(const struct stream_config *c, char *error, size_t len);
// Stops the threads, closes all connections and frees s. Workers get no notice, and may have
// stopped already.
void stream_stop(struct streams *s);
// Reads the TLS files again, for new connections. Returns 0, or -1 with the reason in error and
// nothing changed. One thread at a time.
int stream_tls_reload(struct streams *s, char *error, size_t len);
// Checks that the files can be used. Returns 0, or -1 with the reason in error.
int stream_tls_check(const struct stream_tls *tls, char *error, size_t len);

#define STREAM_PATH_LEN 128

// A certificate in use for new connections and sessions.
struct stream_certificate {
	char path[STREAM_PATH_LEN]; // the last bytes of a longer path
	struct stream_validity validity; // of the chain's certificate that expires first
};

// Describes the certificate in use with this index, from 0 up. A file that several listeners use
// counts once. False if there are no more. Any thread.
bool stream_certificate(struct streams *s, unsigned int index, struct stream_certificate *out);
// Copies the counters: each counter is exact, but they are not read at one moment. Any thread.
void stream_stats(const struct streams *s, struct stream_stats *out);

// Progress of a thread: it completes at least ten rounds a second.
struct stream_progress {
	uint64_t rounds;
	pid_t tid; // 0: the thread does not run yet
	clockid_t clock; // its CPU time clock
};

// False if there is no thread with this index. Any thread, while the threads run.
bool stream_progress(const struct streams *s, unsigned int index, struct stream_progress *out);

// The following functions are for workers.

// Returns the number of the thread that owns a connection.
static inline unsigned int stream_thread_of(uint64_t conn)
{
	return handle_owner(conn);
}

// False if a connection has closed or is closing. After the first false, and after ops.ended, it is
// always false.
bool stream_alive(const struct streams *s, uint64_t conn);
// Returns the cipher of a TLS connection by libssl's name, a static string. NULL: the connection is
// plain, or has closed.
const char *stream_cipher(const struct streams *s, uint64_t conn);
// Wakes a sleeping thread. Call it after queueing messages for its ops.receive.
void stream_wake(struct streams *s, unsigned int thread);
