// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP and TLS (RFC 8656 3, 12.5; RFC 8489 6.2.2, 6.2.3). The kernel does TCP, libssl
// does TLS. Stream threads, never polling lcores, accept connections, do the handshakes, cut the
// byte streams into messages and give these to the workers. They also write what comes back. Stream
// threads know nothing of TURN except its framing. They use no DPDK: the caller passes in the way
// of a message to a worker and back (struct stream_ops).
//
// For DTLS clients these threads do only the handshakes. The datagrams come in on workers. A worker
// gives a thread the datagrams of a handshake, and gets the session once the handshake is complete
// (dtls.h).
#pragma once

#include <sys/types.h>
#include <time.h>

#include "addr.h"
#include "bucket.h"
#include "identity/expiry.h"
#include "relay/stream_relay.h"
#include "stream_refusals.h"

#define STREAM_THREADS_MAX 16
#define STREAM_WORKERS_MAX 64
#define STREAM_CONNECTIONS_MAX (1u << 20)
#define STREAM_BURST 256 // messages that a thread takes at a time
#define STREAM_ROOM_MAX 16384 // limit of stream_config.room, in bytes
#define STREAM_PROXIES_MAX 64 // prefixes of balancers of a listener
#define STREAM_TRUSTED_MAX 64 // prefixes of stream_config.trusted
#define STREAM_RATE_NETWORK 5 // sources, as many handshakes as which an IPv6 /48 may begin

enum stream_mode {
	STREAM_PLAIN,
	STREAM_TLS,
	STREAM_DETECT, // the first byte of a client tells plain from TLS
};

struct stream_listener {
	struct endpoint endpoint;
	uint8_t index; // the workers' number for it
	uint8_t mode; // enum stream_mode
	bool marked; // its connections have tos; else what their clients' SYNs have
	uint8_t tos; // DSCP as it stands in TOS, without ECN
	// Balancers: only these may connect, and send a PROXY header in front of each connection.
	const struct prefix *proxy; // nb_proxy of them
	uint8_t nb_proxy; // up to STREAM_PROXIES_MAX; 0: no headers, anybody may connect
	uint16_t proxy_room; // bytes of the longest header, PROXY_HEADER_LEAST at least
};

// What clients of TLS and DTLS meet: an identity, by paths of PEM files, and what is spoken. The
// files are read at the start, and again by stream_tls_reload.
struct stream_tls {
	const char *certificate; // with or without those between it and the root
	const char *key;
	const char *chain; // NULL, or a file with more certificates of the chain
	const char *ciphers; // for TLS 1.2, in OpenSSL's words; NULL: ECDHE with an AEAD
	const char *const *alpn; // nb_alpn names, of 1 to 255 bytes; the first that a client has
	unsigned int nb_alpn; // 0: what clients offer is not looked at
	bool only_13; // no version before TLS 1.3
	bool for_tls, for_dtls; // some listeners use TLS, or DTLS
	char section[24]; // that certificate and key stand in: "listeners[1].tls"; "" is "tls"
};

#define STREAM_LISTENERS_MAX 255

// The identities of all listeners.
struct stream_identities {
	struct stream_tls list[STREAM_LISTENERS_MAX];
	unsigned int nb;
	uint8_t by_listener
		[STREAM_LISTENERS_MAX]; // its place in list, by the workers' number of a listener
};

// Limits of DTLS clients. sessions 0: there is no DTLS.
struct stream_dtls {
	uint32_t sessions; // at a time, handshakes included
	uint32_t per_source; // at a time, of an IPv4 address or an IPv6 /64; 0 = no limit
	uint32_t per_network; // at a time, of an IPv6 /48; 0 = no limit
	uint32_t handshake_s; // seconds that a handshake may take
	uint16_t mtu; // bytes of UDP payload, for the datagrams of a handshake
	uint16_t message; // bytes of the longest message that is sent to a client
};

enum stream_kind {
	STREAM_BYTES, // bytes from or to a connection
	STREAM_HELLO, // DTLS: ClientHello of a new session, with a good cookie; conn is new, too
	STREAM_SHAKE, // another datagram of that session, without the packet's headers
	STREAM_GONE, // session is to be freed; NULL: its handshake is given up
	STREAM_ORDER, // data begins with a struct stream_order; conn is the client's connection
};

struct dtls_session; // dtls.h

// A message between a connection or session and a worker.
struct stream_message {
	void *buf; // the worker's buffer; stream threads do not look into it
	uint8_t *data;
	uint16_t len;
	uint8_t kind; // enum stream_kind
	bool media; // to the client: may be dropped for newer messages
	uint64_t conn; // connection or session; never 0
	// On an answer to the client: seconds that its allocation still lives, 0 = it has none.
	uint32_t lease_s;
	struct addr source; // HELLO, GONE: the client's address
	uint8_t listener; // HELLO: the workers' number of the one that it came by
	struct dtls_session *session; // GONE only
};

// The client, listener and number of a connection.
struct stream_from {
	struct endpoint client;
	uint8_t listener; // stream_listener.index
	uint8_t tos; // DSCP of the connection as it stands in TOS, without ECN
	uint64_t conn;
};

// The way to the workers and back. t is the number of the calling stream thread, w that of a
// worker; no other thread calls with this t.
struct stream_ops {
	// The worker for a client of a listener (its index); always the same for the same two.
	unsigned int (*home)(void *ctx, const struct endpoint *client, uint8_t listener);
	// Gets an empty buffer for a message to worker w, with room bytes at m->data. False: not
	// now.
	bool (*take)(void *ctx, unsigned int t, unsigned int w, struct stream_message *m);
	// True when the worker has room for another request, which may have to wait there. A client
	// over TCP does not repeat a request, so none may be dropped.
	bool (*may_ask)(void *ctx, unsigned int t, unsigned int w);
	// Gives the buffer just taken, now with m->len bytes, to the worker, and does not wake it.
	// Never fails.
	void (*send)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_from *origin);
	// Wakes a worker, if it waits, behind all that a round has sent it.
	void (*kick)(void *ctx, unsigned int w);
	// Ends the doze of a worker, if it dozes: the thread that has its clock goes round.
	void (*rouse)(void *ctx, unsigned int w);
	// Tells a worker that a connection has ended. False: not now.
	bool (*ended)(void *ctx, unsigned int t, unsigned int w, const struct stream_from *origin);
	// Gets up to n messages for clients. The thread gives all of them back with release before
	// it calls anything except take and datagram.
	unsigned int (*receive)(void *ctx, unsigned int t, unsigned int w, struct stream_message *m,
		unsigned int n);
	// Gives back a buffer that receive returned.
	void (*release)(void *ctx, unsigned int t, unsigned int w, void *buf);
	// Gives the buffer just taken, now with m->len bytes, to the worker. It is a datagram to
	// the client of session m->conn (STREAM_SHAKE), or one from that client that came after its
	// handshake was complete (STREAM_BYTES). Never fails.
	void (*datagram)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m);
	// Tells a worker that the handshake of session conn has ended. It is complete, and the
	// worker owns s from now on; or s is NULL. False: not now.
	bool (*shaken)(
		void *ctx, unsigned int t, unsigned int w, uint64_t conn, struct dtls_session *s);
	// Gives the buffer just taken to the worker: a peer has connected to a relay port (RFC 6062
	// 5.3), and the answer is an order to admit it. Never fails.
	void (*attempt)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_attempt *a);
	// Gives the buffer just taken to the worker: the port of an allocation was not opened.
	// Never fails.
	void (*unopened)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_place *p);
	// Writes the name of the kernel's interface that has a relay address; "" = whichever.
	void (*device)(void *ctx, const struct addr *a, char name[STREAM_DEVICE_LEN]);
	// Whether an allocation of TCP still lives. Any thread.
	bool (*lives)(void *ctx, unsigned int w, const struct stream_place *p);
	// Whether an endpoint may be a peer of allocations of a realm, by the rules that hold now;
	// stream_change is called whenever they have changed. Any thread.
	bool (*may_be_peer)(void *ctx, uint8_t realm, const struct endpoint *peer);
	// Notes how many connections of peers it has now.
	void (*counted)(void *ctx, unsigned int w, const struct stream_place *p, uint32_t n);
	// Asks how many bytes, up to want, may be relayed now: 0 = none for a while. So many are
	// then spoken for. Any thread, as relayed.
	uint32_t (*allow)(void *ctx, const struct stream_flow *f, uint32_t want);
	// Counts bytes that are about to be relayed, and gives back what was allowed beyond them.
	// False: the allocation has ended, and none may be.
	bool (*relayed)(void *ctx, const struct stream_flow *f, uint32_t allowed, uint32_t bytes);
	// Tells of refusals; NULL: nobody wants to know. False: there is no room for it.
	bool (*refused)(void *ctx, unsigned int t, const struct stream_refused *r);
};

struct stream_config {
	const struct stream_listener *listeners;
	unsigned int nb_listeners, threads, workers;
	const char *netns; // namespace of the listeners; NULL or "" = the process's
	uint32_t connections; // at a time, up to STREAM_CONNECTIONS_MAX
	uint32_t per_source; // at a time, of an IPv4 address or an IPv6 /64; 0 = no limit
	uint32_t per_network; // at a time, of an IPv6 /48; 0 = no limit
	const struct prefix *trusted; // whose connections these two do not count
	unsigned int nb_trusted; // up to STREAM_TRUSTED_MAX
	uint32_t idle_s, handshake_s;
	struct limit handshakes; // of TLS, of a source
	uint32_t nap_us; // microseconds a message may wait where there are many; 0 = as nap.h says
	uint32_t headers; // connections of a thread that wait for their PROXY header; 0 = 1
	uint32_t queue; // bytes that may wait for a client that does not read
	uint16_t room; // bytes of the longest message
	const struct stream_identities *identities; // NULL: there is neither TLS nor DTLS
	struct stream_dtls dtls;
	struct stream_relay relay; // ports 0: no TCP is relayed, and ops has no need of its part
	const struct stream_ops *ops;
	void *ctx;
};

// Counters: X(field, meaning). The first one is a level.
#define STREAM_COUNTERS(X)                                                                  \
	X(connections, "open")                                                              \
	X(tls, "open, with TLS")                                                            \
	X(accepted, "in all, without those refused")                                        \
	X(refused_total, "refused: streams.connections")                                    \
	X(refused_source, "refused: streams.per-source")                                    \
	X(refused_network, "refused: streams.per-network")                                  \
	X(refused_rate, "refused: limits.handshakes")                                       \
	X(refused_files, "refused: no file descriptor, or no memory of the kernel's, left") \
	X(refused_proxy, "refused: from none of listeners[].proxy.from")                    \
	X(proxy_own, "by balancers for themselves: LOCAL, or addresses of another kind")    \
	X(proxy_none, "refused: no PROXY header")                                           \
	X(proxy_bad, "refused: PROXY header against the specification")                     \
	X(proxy_long, "refused: listeners[].proxy.size")                                    \
	X(proxy_slow, "closed: no whole PROXY header in streams.handshake seconds")         \
	X(proxy_gave_way, "closed, the oldest without a PROXY header: streams.headers")     \
	X(proxy_taken, "refused: the PROXY header names a client that is connected")        \
	X(proxy_closed, "closed by the balancer before its PROXY header was whole")         \
	X(handshakes, "TLS handshakes completed")                                           \
	X(handshake_failed, "closed: TLS handshake failed")                                 \
	X(slow, "closed: no whole message in streams.handshake seconds")                    \
	X(gave_way, "closed, the oldest without a message: streams.connections")            \
	X(idle, "closed: streams.idle")                                                     \
	X(garbage, "closed: neither STUN nor ChannelData")                                  \
	X(rekeys, "closed: new keys of TLS asked for too often")                            \
	X(failed, "closed: reset, or an error of TCP or TLS")                               \
	X(closed, "closed by the client")                                                   \
	X(rx, "messages from clients given to workers")                                     \
	X(tx, "messages of workers written to clients")                                     \
	X(rx_bytes, "received, TLS taken off")                                              \
	X(tx_bytes, "written, before TLS")                                                  \
	X(writes, "times that messages were written: those of one time left together")      \
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
	X(dtls_overrun, "datagrams of DTLS handshakes dropped: too many waited")            \
	X(untold, "refusals, of any kind, of which no event tells")                         \
	X(relay_ports, "ports of TCP allocations, open")                                    \
	X(relay_connections, "connections of peers to and from them, open")                 \
	X(relay_connected, "connections made to peers")                                     \
	X(relay_accepted, "connections of peers with a permission, taken")                  \
	X(relay_bound, "of both, joined with one of a client")                              \
	X(relay_failed, "Connects answered with 447")                                       \
	X(relay_refused, "Connects refused by relay.tcp or an address of this box")         \
	X(relay_hasty, "Connects refused: past relay.tcp.connects")                         \
	X(relay_strangers, "connections of peers without a permission, closed")             \
	X(relay_full, "connections of peers past relay.tcp, closed")                        \
	X(relay_files, "connections with peers given up: no file descriptor left")          \
	X(relay_unbound, "connections of peers closed: bound by no client in time")         \
	X(relay_denied, "connections with peers closed: denied by a reload")                \
	X(relay_unknown, "ConnectionBinds of no connection that waits for the user")        \
	X(relay_unopened, "ports of TCP allocations that the kernel did not open")          \
	X(relay_held, "times that bytes waited for limits.rates")                           \
	X(relay_to_peers, "bytes written to peers")                                         \
	X(relay_to_clients, "bytes of peers written to clients")

struct stream_stats {
#define X(field, text) uint64_t field;
	STREAM_COUNTERS(X)
#undef X
};

struct streams;

// Opens the listeners and starts the threads, which block all signals and run on the caller's CPUs.
// c->ctx and c->ops must outlive the streams; all else is copied. On failure
// returns NULL with a reason in error (len bytes), and nothing is left behind.
struct streams *stream_start(const struct stream_config *c, char *error, size_t len);
// Ends the threads, closes all connections and frees s. Workers are no longer told, and may have
// stopped.
void stream_stop(struct streams *s);
// Reads the TLS files again, for connections from now on. 0, or -1 with the reason in error;
// nothing has changed then. One thread at a time.
int stream_tls_reload(struct streams *s, char *error, size_t len);
// Checks whether the files can be used. 0, or -1 with the reason in error.
int stream_tls_check(const struct stream_tls *tls, char *error, size_t len);

#define STREAM_PATH_LEN 128

// A certificate that new connections and sessions meet.
struct stream_certificate {
	char path[STREAM_PATH_LEN]; // its end, if it is longer
	struct stream_validity validity; // of it and what stands behind it: of the first to end
};

// Tells one that is in use, by 0 and up. A file that several listeners have is one. False: there
// are no more. Any thread.
bool stream_certificate(struct streams *s, unsigned int index, struct stream_certificate *out);
// Copies the counters: each is a snapshot, but not all of one moment. Any thread.
void stream_stats(const struct streams *s, struct stream_stats *out);

// That a thread goes on: at least ten times a second.
struct stream_progress {
	uint64_t rounds;
	pid_t tid; // the kernel's number of it; 0: it does not run yet
	clockid_t clock; // of its CPU time
};

// False: there is no such thread. Any thread, while the threads run.
bool stream_progress(const struct streams *s, unsigned int index, struct stream_progress *out);

// For workers.

// The number of the thread that has a connection.
static inline unsigned int stream_thread_of(uint64_t conn)
{
	return (uint8_t)(conn >> 24);
}

// False when a connection has ended or is just ending. After the first false, and after ops.ended,
// it is always false.
bool stream_alive(const struct streams *s, uint64_t conn);
// The cipher of a connection over TLS, in libssl's words: static text. NULL: it is plain, or has
// ended.
const char *stream_cipher(const struct streams *s, uint64_t conn);
// Call it after leaving something for a thread's ops.receive: it wakes the thread if that sleeps.
void stream_wake(struct streams *s, unsigned int thread);
