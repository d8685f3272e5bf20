// SPDX-License-Identifier: BSD-3-Clause
// Every reason for which lib/turn drops a datagram.
#pragma once

// X(enum, counter name, meaning).
#define TURN_DROPS(X)                                                                              \
	X(TURN_DROP_NOT_TURN, "not-turn", "first byte is neither STUN nor ChannelData (RFC 7983)") \
	X(TURN_DROP_MALFORMED, "stun-malformed", "not a well-formed STUN message")                 \
	X(TURN_DROP_FINGERPRINT, "stun-fingerprint", "FINGERPRINT does not match")                 \
	X(TURN_DROP_METHOD, "stun-method", "method unknown, or class not defined for it")          \
	X(TURN_DROP_UNKNOWN_ATTRIBUTE, "stun-unknown-attribute",                                   \
		"indication with an unknown "                                                      \
		"comprehension-required attribute")                                                \
	X(TURN_DROP_INDICATION, "indication-malformed", "Send without XOR-PEER-ADDRESS or DATA")   \
	X(TURN_DROP_NO_ALLOCATION, "no-allocation",                                                \
		"ChannelData or indication from a client "                                         \
		"without allocation")                                                              \
	X(TURN_DROP_CHANNEL_LENGTH, "channel-length", "ChannelData longer than its datagram")      \
	X(TURN_DROP_CHANNEL_UNBOUND, "channel-unbound", "ChannelData on a channel not bound")      \
	X(TURN_DROP_NO_PERMISSION, "no-permission", "client to a peer without live permission")    \
	X(TURN_DROP_PEER_DENIED, "peer-denied", "Send to a peer that the policy refuses")          \
	X(TURN_DROP_PEER_NO_ALLOCATION, "peer-no-allocation",                                      \
		"to a relay port without allocation")                                              \
	X(TURN_DROP_PEER_NO_PERMISSION, "peer-no-permission", "from a peer without permission")    \
	X(TURN_DROP_PEER_OTHER_POOL, "peer-other-pool",                                            \
		"from a permitted peer, but not to the address by which it sees the "              \
		"allocation, where realms have pools")                                             \
	X(TURN_DROP_SHARED_UNKNOWN_PEER, "shared-unknown-peer",                                    \
		"to a shared relay port from a peer "                                              \
		"that no allocation there has registered")                                         \
	X(TURN_DROP_SHARED_COLLISION, "shared-collision",                                          \
		"Send to a peer that another allocation "                                          \
		"on the same shared relay port has registered")                                    \
	X(TURN_DROP_SHARED_FULL, "shared-full",                                                    \
		"Send to more peers than relay.peers-per-allocation or the memory allows")         \
	X(TURN_DROP_SHARED_SHARE, "shared-share",                                                  \
		"Send to a peer that the user's other allocations have on as many shared "         \
		"relay ports as one user may have")                                                \
	X(TURN_DROP_PEER_OVERSIZE, "peer-oversize",                                                \
		"peer datagram too long for a Data indication")                                    \
	X(TURN_DROP_HAIRPIN_NO_ALLOCATION, "hairpin-no-allocation",                                \
		"client to one of our relay addresses, without live allocation")                   \
	X(TURN_DROP_PEER_OWN, "peer-own",                                                          \
		"client to a port of this box that is not a relay port, or from a local "          \
		"program, where peers.allow does not name the address")                            \
	X(TURN_DROP_UNAUTHENTICATED_RATE, "unauthenticated-rate",                                  \
		"request that would get an unauthenticated answer, above "                         \
		"limits.unauthenticated")                                                          \
	X(TURN_DROP_GUESS_RATE, "guess-rate",                                                      \
		"request from an address with too many wrong signatures")                          \
	X(TURN_DROP_LOOKUP, "lookup-unanswered",                                                   \
		"request of a user whom auth.lookup asks about, and nobody answers in time, or "   \
		"too many wait")                                                                   \
	X(TURN_DROP_BINDING_RATE, "binding-rate", "Binding request above limits.binding")          \
	X(TURN_DROP_BINDING_OFF, "binding-off",                                                    \
		"Binding request of a kind that listeners[].binding does not answer")              \
	X(TURN_DROP_ICMP_NO_ALLOCATION, "icmp-no-allocation",                                      \
		"ICMP error about a datagram that no live allocation can have sent")               \
	X(TURN_DROP_ICMP_NO_PERMISSION, "icmp-no-permission",                                      \
		"ICMP error about a datagram to a peer without permission")                        \
	X(TURN_DROP_ICMP_UNTOLD, "icmp-untold",                                                    \
		"ICMP error about an allocation's datagram, to a kind of client that "             \
		"icmp.tell excludes")                                                              \
	X(TURN_DROP_ICMP_RATE, "icmp-error-rate",                                                  \
		"ICMP error about an allocation's datagram, above 10 a second")                    \
	X(TURN_DROP_ALLOCATION_RATE, "allocation-rate",                                            \
		"datagram above limits.rates of its allocation")                                   \
	X(TURN_DROP_USER_RATE, "user-rate", "datagram above limits.rates of its user")             \
	X(TURN_DROP_REALM_RATE, "realm-rate", "datagram above limits.rates of its realm")          \
	X(TURN_DROP_KEEPALIVE, "keepalive", "Binding indication: a keepalive needs no answer")     \
	X(TURN_DROP_CLIENT_DENIED, "client-denied",                                                \
		"from a client without allocation whose address clients.* denies")                 \
	X(TURN_DROP_CLIENT_BLOCKED, "client-blocked",                                              \
		"from a client without allocation whose address is blocked")                       \
	X(TURN_DROP_INTERNAL, "turn-internal", "answer did not fit or libcrypto failed")

enum turn_drop {
	TURN_OK,
#define X(id, name, text) id,
	TURN_DROPS(X)
#undef X
		TURN_DROP_END
};

// Counter name and meaning of a reason: static text; NULL for TURN_OK or an unknown number.
const char *turn_drop_name(enum turn_drop reason);
const char *turn_drop_text(enum turn_drop reason);
