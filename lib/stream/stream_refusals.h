// SPDX-License-Identifier: BSD-3-Clause
// Why clients over TCP, TLS and DTLS are refused, in words for people, and the news of it. It is
// for whoever has stream.h.
#pragma once

#include <stdint.h>

#include "addr.h"

// Why a connection, or the handshake of a session, came to nothing: X(enum, name, meaning, advice).
#define STREAM_REFUSALS(X)                                                                        \
	X(STREAM_REFUSED_TOTAL, "connections-total", "as many connections as there may be",       \
		"raise streams.connections, or add a box")                                        \
	X(STREAM_REFUSED_SOURCE, "connections-source",                                            \
		"as many without an allocation as its address may have",                          \
		"many clients behind one address, or a multiplexer: name it in streams.trusted, " \
		"or raise streams.per-source; else somebody who connects and does nothing")       \
	X(STREAM_REFUSED_NETWORK, "connections-network",                                          \
		"as many without an allocation as its /48 may have",                              \
		"raise streams.per-network where many clients share a network")                   \
	X(STREAM_REFUSED_RATE, "handshake-rate", "past the handshakes that an address may begin", \
		"a flood, or many clients behind one address: limits.handshakes")                 \
	X(STREAM_REFUSED_FILES, "files", "no file descriptor, or no memory of the kernel, left",  \
		"raise the limit of open files (LimitNOFILE=)")                                   \
	STREAM_TLS_REFUSALS(X)                                                                    \
	X(STREAM_REFUSED_SLOW, "slow", "no whole message in time",                                \
		"a port scan, or a client that waits: streams.handshake")                         \
	X(STREAM_REFUSED_GAVE_WAY, "gave-way", "the oldest without a message gave way to others", \
		"a flood of connections, or too few: streams.connections")                        \
	X(STREAM_REFUSED_GARBAGE, "garbage", "neither STUN nor ChannelData",                      \
		"it is no TURN client, or speaks TLS to a port without")                          \
	STREAM_PROXY_REFUSALS(X)                                                                  \
	X(STREAM_REFUSED_DTLS_TOTAL, "dtls-total", "as many DTLS sessions as there may be",       \
		"raise dtls.sessions, or add a box")                                              \
	X(STREAM_REFUSED_DTLS_SOURCE, "dtls-source", "as many sessions as the address may have",  \
		"raise dtls.per-source where many clients share an address")                      \
	X(STREAM_REFUSED_DTLS_NETWORK, "dtls-network", "as many sessions as the /48 may have",    \
		"raise dtls.per-network where many clients share a network")                      \
	X(STREAM_REFUSED_DTLS_HANDSHAKE, "dtls-handshake-failed",                                 \
		"the DTLS handshake has failed, or was not complete in time",                     \
		"the client does not trust the certificate, has no cipher in common, or "         \
		"datagrams of it are lost on the way: compare with tls")                          \
	STREAM_DTLS_REFUSALS(X)

// Handshakes of TLS that have failed. What the client has offered is told beside them.
#define STREAM_TLS_REFUSALS(X)                                                                     \
	X(STREAM_REFUSED_TLS_CA, "tls-unknown-ca",                                                 \
		"the client does not trust the certificate's CA (alert 48)",                       \
		"have a certificate from a CA that clients know, give them yours, or add those "   \
		"between it and the certificate: tls.chain")                                       \
	X(STREAM_REFUSED_TLS_BAD, "tls-bad-certificate",                                           \
		"the client finds the certificate bad (alert 42)",                                 \
		"often it is for another name than the client has asked for")                      \
	X(STREAM_REFUSED_TLS_EXPIRED, "tls-expired",                                               \
		"the client says that the certificate has expired (alert 45)",                     \
		"renew it, and have it read again (SIGUSR2); or the client's clock is wrong")      \
	X(STREAM_REFUSED_TLS_CERTIFICATE, "tls-certificate",                                       \
		"the client refuses the certificate (alert 46, 44 or 43)",                         \
		"browsers say no more than that where they do not trust it: openssl s_client, "    \
		"with the client's CAs, tells why")                                                \
	X(STREAM_REFUSED_TLS_VERSION, "tls-version", "no version of TLS in common (alert 70)",     \
		"the client is older than TLS 1.2, or than tls.min-version")                       \
	X(STREAM_REFUSED_TLS_ALPN, "tls-alpn", "no name of ALPN in common (alert 120)",            \
		"add the client's to tls.alpn, or have it offer stun.turn; tls.alpn: [] looks at " \
		"none")                                                                            \
	X(STREAM_REFUSED_TLS_CIPHER, "tls-cipher",                                                 \
		"no cipher, group or signature in common (alert 40)",                              \
		"the client is old: tls.ciphers; or the key is of a kind that it does not know")   \
	X(STREAM_REFUSED_TLS_PLAIN, "tls-plain", "no TLS where only TLS is spoken",                \
		"a client set up without TLS, or HTTP: another port, or transport: auto")          \
	X(STREAM_REFUSED_TLS_LEFT, "tls-left", "the client has closed it amid the TLS handshake",  \
		"a port scan, or a client that does not trust the certificate and does not say "   \
		"so")                                                                              \
	X(STREAM_REFUSED_HANDSHAKE, "handshake-failed", "the TLS handshake has failed",            \
		"a broken client, or somebody who tries: capture it")

// Those of listeners[].proxy. The client is the balancer, but that of the last one the header's.
#define STREAM_PROXY_REFUSALS(X)                                                                   \
	X(STREAM_REFUSED_PROXY_SOURCE, "proxy-source", "from no balancer of the listener",         \
		"a client that goes past the balancer, or a balancer that is missing in "          \
		"listeners[].proxy.from")                                                          \
	X(STREAM_REFUSED_PROXY_NONE, "proxy-none", "no PROXY header in front",                     \
		"have the balancer send one (haproxy: send-proxy-v2, nginx: proxy_protocol on)")   \
	X(STREAM_REFUSED_PROXY_BAD, "proxy-bad",                                                   \
		"a PROXY header against the specification, or with an address that no client "     \
		"can have",                                                                        \
		"a fault of the balancer: capture what it sends")                                  \
	X(STREAM_REFUSED_PROXY_LONG, "proxy-long", "a PROXY header longer than is taken",          \
		"raise listeners[].proxy.size, or have the balancer send fewer TLVs")              \
	X(STREAM_REFUSED_PROXY_SLOW, "proxy-slow", "no whole PROXY header in time",                \
		"a client that says nothing, where the balancer waits for its first bytes (NLB), " \
		"or health checks without a header: streams.handshake")                            \
	X(STREAM_REFUSED_PROXY_GAVE_WAY, "proxy-gave-way",                                         \
		"the oldest without a whole PROXY header gave way to others",                      \
		"a flood by way of the balancer, or too few: streams.headers")                     \
	X(STREAM_REFUSED_PROXY_TAKEN, "proxy-taken",                                               \
		"a connection with the same address and port of a client is open",                 \
		"the client comes by two addresses of balancers to one listener: give each a "     \
		"listener of its own")

// Those that workers find, before a stream thread has the handshake. Of the last three the sender
// has not shown that its address is its own.
#define STREAM_DTLS_REFUSALS(X)                                                                   \
	X(STREAM_REFUSED_DTLS_RATE, "dtls-rate", "past the handshakes that an address may begin", \
		"a flood, or many clients behind one address: limits.handshakes")                 \
	X(STREAM_REFUSED_DTLS_FULL, "dtls-full", "as many DTLS handshakes as there may be",       \
		"a flood of handshakes, or too few: dtls.half-open, dtls.sessions")               \
	X(STREAM_REFUSED_DTLS_GAVE_WAY, "dtls-gave-way",                                          \
		"the oldest DTLS handshake gave way to another",                                  \
		"a flood of handshakes, or too few: dtls.half-open")                              \
	X(STREAM_REFUSED_DTLS_HELLO, "dtls-hello",                                                \
		"ClientHello malformed, or not alone in its datagram", "a broken client")         \
	X(STREAM_REFUSED_DTLS_UNKNOWN, "dtls-unknown", "DTLS record of no session",               \
		"usual after a restart, or when the client's address has changed: it has to "     \
		"make a new session")                                                             \
	X(STREAM_REFUSED_DTLS_PLAIN, "dtls-plain", "STUN in the clear where only DTLS is spoken", \
		"a client set up for UDP: it has to use DTLS there, or another port")

enum stream_refusal {
#define X(id, name, text, advice) id,
	STREAM_REFUSALS(X)
#undef X
		STREAM_REFUSAL_END
};

struct stream_refusal_info {
	const char *name, *text, *advice; // for people
};

// What is to be known of a reason; NULL for a number that is none. Any thread.
const struct stream_refusal_info *stream_refusal_info(unsigned int refusal);

#define STREAM_NO_LISTENER 255
#define STREAM_OFFERED_LEN 64 // bytes of stream_refused.offered, with the 0 at its end

// News of connections and handshakes refused: one, and those like it.
struct stream_refused {
	struct endpoint client; // port 0 where it is not known
	uint8_t listener; // stream_listener.index; STREAM_NO_LISTENER where it is not known
	uint8_t reason; // enum stream_refusal
	// What its ClientHello has offered, plain text that strangers have chosen; "" = unknown.
	const char *offered;
	// 0 = this one. Else so many of the source have come since the last was told, for this
	// reason, and this is the last of them.
	uint32_t more;
};
