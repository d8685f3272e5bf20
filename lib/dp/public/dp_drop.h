// SPDX-License-Identifier: BSD-3-Clause
// Every reason for which a datagram is dropped. stats.c has the functions. Any thread.
#pragma once

#include "net.h"
#include "turn_drop.h"

// Drop reasons of the data path itself: X(enum, counter name, meaning).
#define DP_DROPS(X)                                                                                \
	X(DP_DROP_NO_LISTENER, "no-listener", "to our address, but to a port without listener")    \
	X(DP_DROP_TTL, "ttl-expired", "TTL or hop limit used up")                                  \
	X(DP_DROP_MTU, "mtu-exceeded", "larger than the MTU of its path, or of the egress port")   \
	X(DP_DROP_RX_OVERSIZE, "rx-oversize", "larger than the MTU of the port it came in on")     \
	X(DP_DROP_NO_ROUTE, "no-route", "destination neither on-link nor behind a gateway")        \
	X(DP_DROP_NEIGH_HELD, "neighbour-hold-full",                                               \
		"no room to hold it until the neighbour answers")                                  \
	X(DP_DROP_NEIGH_FULL, "neighbour-table-full", "no free neighbour entry")                   \
	X(DP_DROP_NEIGH_RATE, "neighbour-rate",                                                    \
		"to a neighbour not known yet, past 1000 a second")                                \
	X(DP_DROP_NEIGH_FAILED, "neighbour-failed", "the neighbour did not answer")                \
	X(DP_DROP_HANDOVER_FULL, "handover-full", "ring to the home worker full")                  \
	X(DP_DROP_TX_FULL, "tx-full", "the port did not accept it")                                \
	X(DP_DROP_ICMP, "icmp", "ICMP or ND message that needs no action here")                    \
	X(DP_DROP_ICMP_RATE, "icmp-rate", "echo request past the rate limit")                      \
	X(DP_DROP_ICMP_QUOTE, "icmp-quote",                                                        \
		"ICMP error that quotes a datagram we cannot have sent")                           \
	X(DP_DROP_ICMP_TOTAL, "icmp-error-total",                                                  \
		"ICMP error that could be passed to a client, past 1000 a second")                 \
	X(DP_DROP_ARP, "arp", "ARP that does not ask for our address (learned from, if valid)")    \
	X(DP_DROP_HEADROOM, "headroom", "no room in front of the payload for the new headers")     \
	X(DP_DROP_NO_MBUF, "no-mbuf", "packet pool or pool of long buffers empty")                 \
	X(DP_DROP_SEGMENTED, "segmented", "received in several buffers")                           \
	X(DP_DROP_BACKLOG, "request-backlog",                                                      \
		"no room in the backlog for a request of a client without allocation")             \
	X(DP_DROP_BACKLOG_KNOWN, "request-known",                                                  \
		"no room in the backlog for a request of a client with allocation or connection")  \
	X(DP_DROP_BACKLOG_CLIENT, "request-client", "one client has too many requests waiting")    \
	X(DP_DROP_LOOKUP_WAITS, "lookup-waits",                                                    \
		"request of a client whose last request waits until its user is looked up")        \
	X(DP_DROP_LOOKUP_ROOM, "lookup-room",                                                      \
		"request whose user is being looked up, where no more of them can wait")           \
	X(DP_DROP_STREAM_FULL, "stream-full", "ring to a stream thread full")                      \
	X(DP_DROP_DTLS_PLAIN, "dtls-plain", "not encrypted, to a port for DTLS only")              \
	X(DP_DROP_DTLS_UNKNOWN, "dtls-unknown",                                                    \
		"DTLS record without session that is no ClientHello")                              \
	X(DP_DROP_DTLS_HELLO, "dtls-hello", "ClientHello malformed, or not alone in its datagram") \
	X(DP_DROP_DTLS_FRAGMENT, "dtls-fragment",                                                  \
		"fragment of a ClientHello without a valid cookie before it")                      \
	X(DP_DROP_DTLS_FULL, "dtls-full",                                                          \
		"ClientHello with its cookie, past dtls.sessions or 256 handshakes")               \
	X(DP_DROP_DTLS_RATE, "dtls-rate",                                                          \
		"ClientHello with its cookie, past 200 a second of its source")                    \
	X(DP_DROP_DTLS_RECORD, "dtls-record",                                                      \
		"DTLS record forged, replayed, or of no use to its session")                       \
	X(DP_DROP_DTLS_MANY, "dtls-many",                                                          \
		"rest of a datagram with more DTLS records than one pass handles")                 \
	X(DP_DROP_DTLS_ENDED, "dtls-ended", "from or to a client whose DTLS session has ended")    \
	X(DP_DROP_DTLS_CIPHER, "dtls-cipher", "to a DTLS client: it could not be encrypted")       \
	X(DP_DROP_SUPER, "super-frame",                                                            \
		"super-frame with inconsistent headers, or of too many datagrams")                 \
	X(DP_DROP_EXC_DENIED, "exception-denied",                                                  \
		"for the kernel, but exception.allow does not name it")                            \
	X(DP_DROP_EXC_FOREIGN, "exception-foreign",                                                \
		"from the kernel: not its address, or exception.allow does not name it")           \
	X(DP_DROP_EXC_RATE, "exception-rate",                                                      \
		"for the kernel: past 100,000 a second, or faster than the kernel reads")          \
	X(DP_DROP_FRAGMENT_RATE, "fragment-rate", "fragment of a source past 10,000 a second")     \
	X(DP_DROP_STOPPING, "stopping", "in flight when slipring stopped")

// All reasons in one numbering: those of lib/net, then those of lib/turn, then those of the data
// path.
enum dp_drop {
	DP_DROP_NET = 0, // enum net_drop n is DP_DROP_NET + n - 1
	DP_DROP_TURN = DP_DROP_NET + NET_DROP_END - 1, // enum turn_drop n is DP_DROP_TURN + n - 1
	DP_DROP_FIRST_ = DP_DROP_TURN + TURN_DROP_END - 2,
#define X(id, name, text) id,
	DP_DROPS(X)
#undef X
		DP_DROP_END
};

const char *dp_drop_name(unsigned int reason); // NULL for DP_DROP_END and above
const char *dp_drop_text(unsigned int reason);
