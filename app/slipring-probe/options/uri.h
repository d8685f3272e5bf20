// SPDX-License-Identifier: BSD-3-Clause
// Where a TURN server is, as users write it. PURE.
#pragma once

#include "result.h"

#define TRANSPORT_BIT(t) (1u << (t))
#define TRANSPORTS_ALL ((1u << NB_TRANSPORTS) - 1)

struct uri {
	char host[NAME_MAX_LEN + 1]; // without brackets
	uint16_t port; // 0 = the default port of the transport
	unsigned int transports; // bits of enum transport
	bool exact; // the text names the transport
};

// Reads "turn:HOST[:PORT][?transport=udp|tcp]", the same with "turns:" (RFC 7065: TLS, or DTLS with
// transport=udp), or HOST[:PORT]. An IPv6 address needs brackets in front of a port and in URIs.
// Without ?transport turn: means UDP and TCP, turns: TLS and DTLS, and a host all four. False if
// the text is something else; *out is then not valid.
bool uri_read(const char *text, struct uri *out);
// Returns the port of a transport: that of the URI, else 3478 or 5349.
uint16_t uri_port(const struct uri *u, enum transport t);
