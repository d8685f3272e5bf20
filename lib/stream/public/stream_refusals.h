// SPDX-License-Identifier: BSD-3-Clause
// Reasons to refuse clients over TCP, TLS and DTLS, with texts for operators, and the report of a
// refusal. Part of stream.h's interface.
#pragma once

#include <stdint.h>

#include "addr.h"

// Reasons why a connection or a DTLS handshake failed: X(enum, name, meaning, advice).
#define STREAM_REFUSALS(X)                                                                       \
	X(STREAM_REFUSED_DENIED, "client-denied", "clients.* denies its address",                \
		"as configured: clients.allow, deny, deny-files")                                \
	X(STREAM_REFUSED_BLOCKED, "client-blocked", "an operator has blocked its address",       \
		"see slipringctl blocked; unblock lets it in again")                             \
	X(STREAM_REFUSED_TOTAL, "connections-total", "too many connections",                     \
		"raise streams.connections, or add a box")                                       \
	X(STREAM_REFUSED_SOURCE, "connections-source",                                           \
		"too many connections without an allocation from its address",                   \
		"many clients behind one address, or a multiplexer: add it to streams.trusted, " \
		"or raise streams.per-source; else a client that connects and sends nothing")    \
	X(STREAM_REFUSED_NETWORK, "connections-network",                                         \
		"too many connections without an allocation from its /48",                       \
		"raise streams.per-source where many clients share a network")                   \
	X(STREAM_REFUSED_RATE, "handshake-rate", "more handshakes than an address may begin",    \
		"a flood, or many clients behind one address")                                   \
	X(STREAM_REFUSED_FILES, "files", "no file descriptor, or no kernel memory, left",        \
		"raise the limit of open files (LimitNOFILE=)")                                  \
	STREAM_TLS_REFUSALS(X)                                                                   \
	X(STREAM_REFUSED_SLOW, "slow", "no complete message in time",                            \
		"a port scan, or a slow client")                                                 \
	X(STREAM_REFUSED_GAVE_WAY, "gave-way", "closed as the oldest without a message",         \
		"a flood of connections, or streams.connections is too low")                     \
	X(STREAM_REFUSED_GARBAGE, "garbage", "neither STUN nor ChannelData",                     \
		"it is not a TURN client, or uses TLS on a port without TLS")                    \
	STREAM_PROXY_REFUSALS(X)                                                                 \
	X(STREAM_REFUSED_DTLS_TOTAL, "dtls-total", "too many DTLS sessions",                     \
		"raise dtls.sessions, or add a box")                                             \
	X(STREAM_REFUSED_DTLS_SOURCE, "dtls-source", "too many DTLS sessions from its address",  \
		"raise dtls.per-source where many clients share an address")                     \
	X(STREAM_REFUSED_DTLS_NETWORK, "dtls-network", "too many DTLS sessions from its /48",    \
		"raise dtls.per-source where many clients share a network")                      \
	X(STREAM_REFUSED_DTLS_HANDSHAKE, "dtls-handshake-failed",                                \
		"the DTLS handshake failed, or was not complete in time",                        \
		"the client does not trust the certificate, has no common cipher, or "           \
		"datagrams of the handshake are lost: try it over TLS")                          \
	STREAM_DTLS_REFUSALS(X)

// Failed TLS handshakes. The report includes the client's offer.
#define STREAM_TLS_REFUSALS(X)                                                                   \
	X(STREAM_REFUSED_TLS_CA, "tls-unknown-ca",                                               \
		"the client does not trust the certificate's CA (alert 48)",                     \
		"use a certificate from a CA that clients know, give clients yours, or add the " \
		"intermediate certificates: tls.chain")                                          \
	X(STREAM_REFUSED_TLS_BAD, "tls-bad-certificate",                                         \
		"the client calls the certificate bad (alert 42)",                               \
		"often it is for another name than the client asked for")                        \
	X(STREAM_REFUSED_TLS_EXPIRED, "tls-expired",                                             \
		"the client says that the certificate has expired (alert 45)",                   \
		"renew it and reload it (SIGUSR2); or the client's clock is wrong")              \
	X(STREAM_REFUSED_TLS_CERTIFICATE, "tls-certificate",                                     \
		"the client refuses the certificate (alert 46, 44 or 43)",                       \
		"browsers report no more when they do not trust it: openssl s_client, "          \
		"with the client's CAs, gives the reason")                                       \
	X(STREAM_REFUSED_TLS_VERSION, "tls-version", "no common TLS version (alert 70)",         \
		"the client is older than TLS 1.2, or than tls.min-version")                     \
	X(STREAM_REFUSED_TLS_ALPN, "tls-alpn", "no common ALPN name (alert 120)",                \
		"add the client's name to tls.alpn, or let it offer stun.turn; [] accepts "      \
		"all names")                                                                     \
	X(STREAM_REFUSED_TLS_CIPHER, "tls-cipher",                                               \
		"no common cipher, group or signature (alert 40)",                               \
		"the client is old: tls.ciphers; or it does not support the type of the key")    \
	X(STREAM_REFUSED_TLS_PLAIN, "tls-plain", "plain bytes on a TLS port",                    \
		"a client set up without TLS, or HTTP: use another port, or transport: auto")    \
	X(STREAM_REFUSED_TLS_LEFT, "tls-left", "closed by the client during the TLS handshake",  \
		"a port scan, or a client that does not trust the certificate and does not say " \
		"so")                                                                            \
	X(STREAM_REFUSED_HANDSHAKE, "handshake-failed", "the TLS handshake failed",              \
		"a broken client, or an attack: capture it")

// Reasons of listeners[].proxy. The reported client is the balancer; for the last reason it is the
// client that the header names.
#define STREAM_PROXY_REFUSALS(X)                                                               \
	X(STREAM_REFUSED_PROXY_SOURCE, "proxy-source", "not from a balancer of the listener",  \
		"a client that bypasses the balancer, or a balancer that is missing in "       \
		"listeners[].proxy")                                                           \
	X(STREAM_REFUSED_PROXY_NONE, "proxy-none", "no PROXY header",                          \
		"let the balancer send it (haproxy: send-proxy-v2, nginx: proxy_protocol on)") \
	X(STREAM_REFUSED_PROXY_BAD, "proxy-bad",                                               \
		"a PROXY header that violates the specification, or has an address that no "   \
		"client can have",                                                             \
		"a fault of the balancer: capture its bytes")                                  \
	X(STREAM_REFUSED_PROXY_LONG, "proxy-long", "PROXY header too long",                    \
		"let the balancer send fewer TLVs")                                            \
	X(STREAM_REFUSED_PROXY_SLOW, "proxy-slow", "no complete PROXY header in time",         \
		"a silent client, where the balancer waits for its first bytes (NLB), "        \
		"or health checks without a header")                                           \
	X(STREAM_REFUSED_PROXY_GAVE_WAY, "proxy-gave-way",                                     \
		"closed as the oldest without a complete PROXY header",                        \
		"a flood through the balancer")                                                \
	X(STREAM_REFUSED_PROXY_TAKEN, "proxy-taken",                                           \
		"a connection with this client address and port is open already",              \
		"the client reaches one listener through two balancer addresses: give each a " \
		"listener of its own")

// Reasons that workers detect before a stream thread gets the handshake. For the last three the
// source address is unverified.
#define STREAM_DTLS_REFUSALS(X)                                                                    \
	X(STREAM_REFUSED_DTLS_RATE, "dtls-rate", "more handshakes than an address may begin",      \
		"a flood, or many clients behind one address")                                     \
	X(STREAM_REFUSED_DTLS_FULL, "dtls-full", "too many DTLS handshakes",                       \
		"a flood of handshakes, or dtls.sessions is too low")                              \
	X(STREAM_REFUSED_DTLS_GAVE_WAY, "dtls-gave-way",                                           \
		"dropped as the oldest DTLS handshake, for a new one", "a flood of handshakes")    \
	X(STREAM_REFUSED_DTLS_HELLO, "dtls-hello",                                                 \
		"ClientHello malformed, or not alone in its datagram", "a broken client")          \
	X(STREAM_REFUSED_DTLS_UNKNOWN, "dtls-unknown", "DTLS record without a session",            \
		"usual after a restart, or after the client's address changed: the client has to " \
		"start a new session")                                                             \
	X(STREAM_REFUSED_DTLS_PLAIN, "dtls-plain", "plain STUN on a DTLS port",                    \
		"a client set up for UDP: it has to use DTLS, or another port")

enum stream_refusal {
#define X(id, name, text, advice) id,
	STREAM_REFUSALS(X)
#undef X
		STREAM_REFUSAL_END
};

struct stream_refusal_info {
	const char *name, *text, *advice; // for operators
};

// Returns the texts of a reason, or NULL if the number is not a reason. Any thread.
const struct stream_refusal_info *stream_refusal_info(unsigned int refusal);

#define STREAM_NO_LISTENER 255
#define STREAM_OFFERED_LEN 64 // bytes of stream_refused.offered, with the terminating 0

// Report of a refused connection or handshake, and of others like it.
struct stream_refused {
	struct endpoint client; // port 0 if it is unknown
	uint8_t listener; // stream_listener.index; STREAM_NO_LISTENER if it is unknown
	uint8_t reason; // enum stream_refusal
	// Offer in the client's ClientHello: printable text, chosen by an untrusted client; "" =
	// unknown.
	const char *offered;
	// 0 = a single refusal. Else the number of refusals of this source for this reason since
	// the last report; this one is the last of them.
	uint32_t more;
};
