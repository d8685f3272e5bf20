// SPDX-License-Identifier: BSD-3-Clause
// Result of a probe of one transport: its steps, their times, and the fault that ended it.
#pragma once

#include "addr.h"
#include "stun.h"

enum transport { TRANSPORT_UDP, TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORT_DTLS, NB_TRANSPORTS };

enum step {
	STEP_RESOLVE,
	STEP_CONNECT, // TCP and TLS: the kernel's handshake
	STEP_HANDSHAKE, // of TLS and DTLS, with the check of the certificate
	STEP_BINDING,
	STEP_ALLOCATE,
	STEP_PERMISSION,
	STEP_ECHO,
	STEP_RELEASE, // Refresh with lifetime 0
	NB_STEPS
};

// X(enum, what is wrong, what to do). words.h has the names in braces.
#define FAULTS(X)                                                                                 \
	X(FAULT_NAME, "the name {host} has no address",                                           \
		"check its spelling and the DNS; -4 and -6 ask for one family only")              \
	X(FAULT_SYSTEM, "this host failed", "mend what the system says")                          \
	X(FAULT_UNREACHABLE, "no route leads to {server}",                                        \
		"check address, routes and firewall of this host; try -4 or -6")                  \
	X(FAULT_REFUSED, "nothing listens on {protocol} port {port}: the host refuses",           \
		"start the server, add a listener for this transport, or correct the port")       \
	X(FAULT_NO_ANSWER, "no answer over {protocol} from port {port}",                          \
		"check address and port, and let the firewalls pass {protocol} port {port}")      \
	X(FAULT_CLOSED, "the server closed the connection",                                       \
		"see the server's log; the port may serve another transport")                     \
	X(FAULT_HANDSHAKE, "the handshake failed",                                                \
		"the port may serve another transport, or the server lacks TLS 1.2 or newer")     \
	X(FAULT_CERT_UNTRUSTED, "the certificate is not trusted",                                 \
		"let the server send the whole chain, or name its CA with --ca")                  \
	X(FAULT_CERT_NAME, "the certificate is for another name than {name}",                     \
		"give the server a certificate with this name, or name the right one with "       \
		"--name")                                                                         \
	X(FAULT_CERT_EXPIRED, "the certificate has expired",                                      \
		"renew it and reload the server; check this host's clock")                        \
	X(FAULT_CERT_EARLY, "the certificate is not valid yet", "check the clocks of both hosts") \
	X(FAULT_BAD_ANSWER, "the answer is no valid answer of a TURN server",                     \
		"check that a TURN server uses this port")                                        \
	X(FAULT_INTEGRITY, "the answer is not signed with the password",                          \
		"something on the path changes or forges answers")                                \
	X(FAULT_PASSWORD, "401: {user} is unknown in realm {realm}, or its password is wrong",    \
		"compare name and password with the server's; its log or slipringctl explain "    \
		"tells which")                                                                    \
	X(FAULT_SECRET, "401: the password made from the secret is refused in realm {realm}",     \
		"compare the secret with the server's, and the clocks of both hosts")             \
	X(FAULT_EXPIRED, "401: the time in the name {user} has passed",                           \
		"get new credentials from the application, and compare the clocks")               \
	X(FAULT_STALE, "438: the server calls each new nonce stale",                              \
		"let no balancer spread the requests of a client over several servers")           \
	X(FAULT_ALTERNATE, "300: the server sends clients away",                                  \
		"it drains, or has a rule for alternates: probe the server that it names")        \
	X(FAULT_FORBIDDEN, "403: the server forbids allocations",                                 \
		"check the server's rules for this client")                                       \
	X(FAULT_QUOTA, "486: a quota of allocations is used up",                                  \
		"wait, or raise the quotas of this user, address or realm")                       \
	X(FAULT_CAPACITY, "508: the server has no capacity",                                      \
		"it may be draining or out of relay ports: see its status")                       \
	X(FAULT_CODE, "the server refuses with {code}", "see the server's log")                   \
	X(FAULT_PEER, "403: the server forbids this host and its own relay address as peers",     \
		"allow {peer} as a peer, or probe from a host that may be one")                   \
	X(FAULT_TO_RELAY, "relayed, but nothing comes back: {relay} gets no datagrams",           \
		"let the firewalls pass UDP to the relay range; behind a NAT check the "          \
		"external address of the relay")                                                  \
	X(FAULT_FROM_RELAY, "nothing comes from {relay} to the peer",                             \
		"let the firewalls pass UDP from the relay range, and to this host")              \
	X(FAULT_PAIR, "two allocations cannot exchange datagrams",                                \
		"let the server's host send to its own relay addresses")                          \
	X(FAULT_STOPPED, "stopped by a signal", "start it again")

enum fault {
	FAULT_NONE,
#define X(id, wrong, advice) id,
	FAULTS(X)
#undef X
		NB_FAULTS
};

#define NAME_MAX_LEN 253 // of a host
#define USER_MAX 508 // bytes of USERNAME (RFC 8489 14.3)
#define DETAIL_SIZE 200
#define STEP_NOT_DONE (-1)

struct result {
	enum transport transport;
	bool ok;
	bool absent; // the transport does not answer, and the command line does not name it
	enum step step; // the last one that began
	enum fault fault;
	unsigned int code; // of the STUN error; 0 = none
	char detail[DETAIL_SIZE]; // what a library or the server says; may be empty
	int64_t us[NB_STEPS]; // microseconds; STEP_NOT_DONE
	// An endpoint of port 0 is unknown.
	struct endpoint server, mapped, relayed, peer, alternate;
	char realm[STUN_TEXT_MAX + 1];
	char user[USER_MAX + 1]; // as it was sent
	char name[NAME_MAX_LEN + 1]; // that the certificate must have
	int64_t not_after_s; // of the certificate, Unix time; 0 = none seen
	bool authless; // no credentials: only Binding was tested
	bool paired; // two allocations were each other's peers
};

// Names in options and output: "udp", "handshake".
const char *transport_name(enum transport t);
const char *step_name(enum step s);
// True for TLS and DTLS.
bool transport_is_secure(enum transport t);
// True for UDP and DTLS.
bool transport_is_datagram(enum transport t);
// Makes an empty result.
void result_init(struct result *r, enum transport t);
// Copies a text of another program to out (size bytes), and cuts it if it does not fit. Bytes that
// are not printable ASCII become question marks: they could change a terminal, or break a line.
void result_text(char *out, size_t size, const char *text);
// Days from now_s (Unix time) to the end of the certificate, rounded down; negative after it.
int64_t result_days(const struct result *r, int64_t now_s);
