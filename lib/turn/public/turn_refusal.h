// SPDX-License-Identifier: BSD-3-Clause
// Every reason for which a request is refused: code and phrase of its answer, name of its counter,
// and texts for operators. turn_stats counts every refused request by its reason.
#pragma once

#include <stdint.h>

// X(enum, code, name, phrase, meaning, advice). phrase "" is the default phrase of the code, code 0
// means no answer. advice is "" if nothing is wrong.
#define TURN_REFUSALS(X)                                                                           \
	X(TURN_REFUSED_CHALLENGE, 401, "challenge", "",                                            \
		"request without credentials: the client is asked for them, as every client "      \
		"is at first",                                                                     \
		"")                                                                                \
	X(TURN_REFUSED_NONCE_STALE, 438, "nonce-stale", "",                                        \
		"the nonce has expired: the client gets a new one and tries again", "")            \
	X(TURN_REFUSED_NONCE_FOREIGN, 438, "nonce-foreign", "",                                    \
		"the nonce was not made by this box, or not for this client",                      \
		"usual after a restart without auth.nonce.secret, or when the client's "           \
		"address has changed; else a forged request")                                      \
	X(TURN_REFUSED_INCOMPLETE, 400, "credentials-incomplete", "",                              \
		"signed request without USERNAME, REALM or NONCE",                                 \
		"the client is broken: RFC 8489 9.2.4 requires all three")                         \
	X(TURN_REFUSED_ALGORITHMS, 400, "password-algorithms", "",                                 \
		"PASSWORD-ALGORITHMS or PASSWORD-ALGORITHM does not match the offer",              \
		"the answer was changed on the path, or the client is broken")                     \
	X(TURN_REFUSED_NAME_LONG, 400, "name-long", "", "USERNAME is too long",                    \
		"the client is broken: a name has at most 508 bytes")                              \
	X(TURN_REFUSED_REALM, 401, "realm-wrong", "", "REALM is not a realm of this listener",     \
		"compare the client's realm with auth.realm, realms and listeners[].realms")       \
	X(TURN_REFUSED_USER_UNKNOWN, 401, "user-unknown", "",                                      \
		"the realm has no user of that name, and it is not a REST name, or the realm "     \
		"has no secrets",                                                                  \
		"add the user under auth.users or realms[].users, or correct name and realm in "   \
		"the client")                                                                      \
	X(TURN_REFUSED_PASSWORD, 401, "password-wrong", "",                                        \
		"the user is known, but the signature does not match the password",                \
		"correct the password in the client")                                              \
	X(TURN_REFUSED_REST_NAME, 401, "rest-name-wrong", "",                                      \
		"the realm has no user of that name, and it resembles a REST name, but is "        \
		"malformed",                                                                       \
		"the application must write TIME:ID or ID:TIME, with a colon between, and "        \
		"TIME in seconds since 1970, not in milliseconds; an ID of digits must "           \
		"follow TIME")                                                                     \
	X(TURN_REFUSED_REST_EXPIRED, 401, "rest-expired", "",                                      \
		"the time in the REST name has passed",                                            \
		"the application must hand out new credentials; compare the clocks of both boxes") \
	X(TURN_REFUSED_REST_PASSWORD, 401, "rest-password-wrong", "",                              \
		"the password of the REST name matches none of the realm's secrets",               \
		"application and server have different secrets: compare auth.secrets, or "         \
		"realms[].secrets")                                                                \
	X(TURN_REFUSED_ACCESS_KEY, 401, "access-key-unknown", "",                                  \
		"USERNAME with the ACCESS-TOKEN is not a key of this realm",                       \
		"compare the kid of the authorization server with auth.oauth.keys")                \
	X(TURN_REFUSED_ACCESS_MALFORMED, 401, "access-token-malformed", "",                        \
		"the lengths in ACCESS-TOKEN are not those of a token",                            \
		"the authorization server or the client is broken: RFC 7635 defines the "          \
		"format")                                                                          \
	X(TURN_REFUSED_ACCESS_FORGED, 401, "access-token-forged", "",                              \
		"the access token cannot be decrypted with the key in USERNAME",                   \
		"both servers must have the same key, algorithm and auth.oauth.server-name")       \
	X(TURN_REFUSED_ACCESS_SIGNATURE, 401, "access-token-signature", "",                        \
		"not signed with the key of its access token, or with that of its allocation",     \
		"the client must sign with the key that it got with the token")                    \
	X(TURN_REFUSED_ACCESS_EXPIRED, 401, "access-token-expired", "",                            \
		"the access token has expired",                                                    \
		"the client must get a new token; compare the clocks of both servers")             \
	X(TURN_REFUSED_ACCESS_FUTURE, 401, "access-token-future", "",                              \
		"the access token was made more than 5 seconds in the future",                     \
		"compare the clocks of this box and of the authorization server")                  \
	X(TURN_REFUSED_ACCESS_MISSING, 401, "access-token-missing", "",                            \
		"Refresh without ACCESS-TOKEN for an allocation that was made by a token",         \
		"the client must send a token with every Refresh (RFC 7635)")                      \
	X(TURN_REFUSED_GUESSES, 0, "guesses", "",                                                  \
		"too many wrong signatures from that address: not answered",                       \
		"see the earlier refusals")                                                        \
	X(TURN_REFUSED_LOOKUP, 0, "lookup-unanswered", "",                                         \
		"the program that knows the users (auth.lookup) gave no answer: not answered",     \
		"see the log of slipring-accounts, and its source")                                \
	X(TURN_REFUSED_LOOKUP_FULL, 0, "lookup-full", "",                                          \
		"too many users are being looked up, in all or for that address: not answered",    \
		"a flood of names, or slow answers: see the log of slipring-accounts")             \
	X(TURN_REFUSED_UNANSWERED, 0, "unauthenticated", "",                                       \
		"above the limit of unauthenticated answers to an address: not answered",          \
		"a flood, or many clients behind one address: limits.unauthenticated")             \
	X(TURN_REFUSED_BINDING_RATE, 0, "binding", "",                                             \
		"above the limit of Binding requests from an address: not answered",               \
		"a flood, or many clients behind one address: limits.binding")                     \
	X(TURN_REFUSED_ATTRIBUTE, 420, "attribute-unknown", "",                                    \
		"unknown comprehension-required attribute",                                        \
		"the client asks for an extension that this server does not have; those of "       \
		"RFC 5780 need nat-discovery")                                                     \
	X(TURN_REFUSED_MALFORMED, 400, "malformed", "",                                            \
		"attribute missing, of a wrong length, or not allowed together with another",      \
		"the client is broken: see the method's section in RFC 8656")                      \
	X(TURN_REFUSED_NO_ALLOCATION, 437, "no-allocation", "", "the client has no allocation",    \
		"it has expired or was ended, or the client's address has changed")                \
	X(TURN_REFUSED_ALLOCATED, 437, "allocated-already", "",                                    \
		"the client has an allocation already",                                            \
		"the client uses one port for two allocations, or its last one still lives")       \
	X(TURN_REFUSED_OTHER_USER, 441, "other-user", "",                                          \
		"the allocation belongs to another user",                                          \
		"the client must use the credentials that made the allocation")                    \
	X(TURN_REFUSED_MOBILITY, 405, "mobility-forbidden", "Mobility Forbidden",                  \
		"MOBILITY-TICKET, but relay.mobility is off",                                      \
		"usual with clients that can do without; else set relay.mobility.enabled")         \
	X(TURN_REFUSED_TICKET, 437, "ticket-unknown", "",                                          \
		"the ticket is not from this box, was replaced, or its allocation has ended",      \
		"the client makes a new allocation; usually it was away for too long, or "         \
		"used a ticket twice")                                                             \
	X(TURN_REFUSED_MOVES, 508, "moves-full", "",                                               \
		"no room for another moving client: in the user's share or the pool",              \
		"many clients move at once: raise limits.allocations")                             \
	X(TURN_REFUSED_FAMILY, 440, "family", "", "no relay address of the requested family",      \
		"add an address of that family to relay.addresses")                                \
	X(TURN_REFUSED_TRANSPORT, 442, "transport", "",                                            \
		"REQUESTED-TRANSPORT is neither UDP nor, with relay.tcp, TCP",                     \
		"relaying over TCP (RFC 6062) needs relay.tcp")                                    \
	X(TURN_REFUSED_TCP_CLIENT, 400, "tcp-client", "",                                          \
		"RFC 6062 request over another transport than TCP or TLS",                         \
		"the client is broken (RFC 6062 5.1, 5.4)")                                        \
	X(TURN_REFUSED_TCP_METHOD, 403, "tcp-method", "",                                          \
		"ChannelBind for a TCP allocation, or Connect for a UDP allocation",               \
		"the client is broken: the allocation has the other transport")                    \
	X(TURN_REFUSED_TCP_OWN, 403, "tcp-own", "", "Connect to an address of this box",           \
		"clients cannot reach services of this box in this way")                           \
	X(TURN_REFUSED_PEER_FAMILY, 443, "peer-family", "",                                        \
		"the peer, or the requested family, differs from the allocation's family",         \
		"usual with clients that try all candidates")                                      \
	X(TURN_REFUSED_ALTERNATE, 300, "alternate", "",                                            \
		"this box is draining: the client was sent to one of its alternates",              \
		"if the client does not arrive there: check that server, and if the client "       \
		"follows a 300")                                                                   \
	X(TURN_REFUSED_ALTERNATE_ALWAYS, 300, "alternate-always", "",                              \
		"the client was sent to one of alternate.servers, as all new clients are",         \
		"if the client does not arrive there: check that server, and if the client "       \
		"follows a 300")                                                                   \
	X(TURN_REFUSED_ALTERNATE_ALLOCATIONS, 300, "alternate-allocations", "",                    \
		"alternate.allocations is reached: sent to another server",                        \
		"raise that limit, or check if the client follows a 300 and arrives there")        \
	X(TURN_REFUSED_ALTERNATE_DATAGRAMS, 300, "alternate-datagrams", "",                        \
		"alternate.datagrams-per-second is reached: sent to another server",               \
		"raise that limit, or check if the client follows a 300 and arrives there")        \
	X(TURN_REFUSED_DRAINING, 508, "draining", "Draining",                                      \
		"this box is draining, and no alternate has an address of the client's family",    \
		"name one in drain.alternates, or end the drain: slipringctl undrain")             \
	X(TURN_REFUSED_QUOTA_USER, 486, "quota-user", "",                                          \
		"the user has as many allocations as limits.per-user, or that of the realm, "      \
		"allows",                                                                          \
		"raise the limit, or look for clients that leave allocations behind")              \
	X(TURN_REFUSED_QUOTA_SOURCE, 486, "quota-source", "",                                      \
		"the address or its IPv6 /48 has as many allocations as limits.per-source allows", \
		"raise the limit where many clients share an address")                             \
	X(TURN_REFUSED_QUOTA_REALM, 486, "quota-realm", "",                                        \
		"the realm has as many allocations as realms[].limits.allocations allows",         \
		"raise the limit, or check who holds the realm's allocations")                     \
	X(TURN_REFUSED_QUOTA_TOTAL, 486, "quota-total", "",                                        \
		"the box has as many allocations as limits.allocations allows",                    \
		"raise the limit, or add a box")                                                   \
	X(TURN_REFUSED_QUOTA_PAIR, 508, "quota-pair", "",                                          \
		"EVEN-PORT asks for two ports, and only one more is allowed",                      \
		"raise the limit that is reached, or let the client ask for one port")             \
	X(TURN_REFUSED_PORT_SHARE, 486, "port-share", "",                                          \
		"the user has as many relay ports of a worker as one user may have",               \
		"see limits.per-user; of relay.tcp.ports a quarter is for one user")               \
	X(TURN_REFUSED_REDIRECTS, 508, "redirects-full", "",                                       \
		"no room for another client with an allocation on another worker: in the "         \
		"user's share or the pool",                                                        \
		"widen relay.ports: the ports of the client's worker are used up; "                \
		"a quarter of the pool is for one user")                                           \
	X(TURN_REFUSED_NO_PORT, 508, "no-port", "", "no relay port is free",                       \
		"add relay addresses, widen relay.ports, or wait two minutes")                     \
	X(TURN_REFUSED_RELAY_LOST, 508, "relay-lost", "",                                          \
		"the network has taken the relay addresses from this box",                         \
		"see /slipring/addresses, and the DHCP server or router")                          \
	X(TURN_REFUSED_NO_MEMORY, 508, "no-memory", "", "a table of this worker is full",          \
		"the tables follow limits.allocations: raise it")                                  \
	X(TURN_REFUSED_TOKEN, 508, "reservation-unknown", "",                                      \
		"no port is reserved for that token, or its time has passed",                      \
		"the client came more than 60 seconds after EVEN-PORT, or twice")                  \
	X(TURN_REFUSED_SHARED_PORT, 508, "shared-no-pair", "",                                     \
		"EVEN-PORT or RESERVATION-TOKEN, but relay ports are shared, or never reserved",   \
		"such clients need relay.mode unique")                                             \
	X(TURN_REFUSED_USER_BLOCKED, 403, "user-blocked", "", "an operator has blocked the user",  \
		"see slipringctl blocked; unblock --user NAME lets the user in again")             \
	X(TURN_REFUSED_PEER_DENIED, 403, "peer-denied", "", "the peer is denied by the policy",    \
		"to allow that peer, name it under peers.allow, or that of the realm")             \
	X(TURN_REFUSED_PEER_OWN, 403, "peer-own", "",                                              \
		"the peer is this box, but not one of its relay ports",                            \
		"local programs need a packet: port and its address under peers.allow, other "     \
		"hosts behind the external address need that address there; relay ports need "     \
		"peers.hairpin")                                                                   \
	X(TURN_REFUSED_PEER_NEVER, 403, "peer-never", "",                                          \
		"no rule can allow it: port 0, loopback, link-local, multicast, broadcast, "       \
		"reserved, transition",                                                            \
		"usual with clients that try all candidates; else the application names a wrong "  \
		"address")                                                                         \
	X(TURN_REFUSED_PEER_UNREACHABLE, 403, "peer-unreachable", "No Route To Peer",              \
		"no route leads to the peer", "add a route or gateway to a port")                  \
	X(TURN_REFUSED_PERMISSIONS, 508, "permissions-full", "",                                   \
		"no room for the permission: in the allocation, the user's share or the pool",     \
		"one allocation has 256; else raise limits.allocations")                           \
	X(TURN_REFUSED_CHANNELS, 508, "channels-full", "",                                         \
		"no room for the channel: in the allocation, the user's share or the pool",        \
		"one allocation has 256; else raise limits.allocations")                           \
	X(TURN_REFUSED_CHANNEL_NUMBER, 400, "channel-number", "", "channel number out of range",   \
		"the client is broken; for old ones see peers.rfc5766-channels")                   \
	X(TURN_REFUSED_CHANNEL_CLASH, 400, "channel-clash", "",                                    \
		"the channel has another peer, or the peer another channel",                       \
		"the client is broken (RFC 8656 12.2)")                                            \
	X(TURN_REFUSED_CHANNEL_FORM, 508, "channel-form",                                          \
		"Peer Has A Channel By Another Of Its Addresses",                                  \
		"the peer has a channel under another of its addresses",                           \
		"usual with peers of this box behind external addresses or pools")                 \
	X(TURN_REFUSED_SHARED_PEER, 508, "shared-peer",                                            \
		"Peer In Use On This Shared Relay Address",                                        \
		"another allocation on the same shared relay port has the peer",                   \
		"add relay addresses, or ports to relay.ports")                                    \
	X(TURN_REFUSED_SHARED_SHARE, 508, "shared-share",                                          \
		"Peer In Use By Other Allocations Of This User",                                   \
		"the user's other allocations have the peer on as many shared ports as allowed",   \
		"add relay addresses: one user may have a peer on half of them")                   \
	X(TURN_REFUSED_SHARED_FULL, 508, "shared-full", "",                                        \
		"no room for the peer on the shared port: in the allocation, the user's "          \
		"share or the pool",                                                               \
		"see relay.peers-per-allocation and limits.allocations")                           \
	X(TURN_REFUSED_INTERNAL, 0, "internal", "",                                                \
		"libcrypto failed, or the answer did not fit: not answered",                       \
		"report it, with the log")

enum turn_refusal {
	TURN_GRANTED,
#define X(id, code, name, phrase, text, advice) id,
	TURN_REFUSALS(X)
#undef X
		TURN_REFUSAL_END
};

struct turn_refusal_info {
	uint16_t code; // of the answer; 0 = not answered
	const char *name; // of its counter
	const char *phrase; // of the answer; "" = the default phrase of the code
	const char *text, *advice; // for people
};

// Details of a reason; NULL for TURN_GRANTED or an unknown number. Any thread.
const struct turn_refusal_info *turn_refusal_info(unsigned int refusal);
