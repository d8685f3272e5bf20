// SPDX-License-Identifier: BSD-3-Clause
// The header of the PROXY protocol that a balancer sends in front of a connection's bytes: whose
// connection it is. Version 1 is text (proxy_text.h), version 2 is read here. Section
// numbers are those of HAProxy's doc/proxy-protocol.txt.
// PURE: nothing here allocates, logs, or reads a clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define PROXY_HEADER_FIRST 16 // bytes of the first part of version 2, which tells the length of all
#define PROXY_HEADER_INET 12 // bytes of the addresses and ports of IPv4 behind it
#define PROXY_HEADER_INET6 36 // and of IPv6
// Bytes of the longest header whose length a reader must allow for: with IPv6, without TLVs.
#define PROXY_HEADER_LEAST (PROXY_HEADER_FIRST + PROXY_HEADER_INET6)
#define PROXY_TEXT_LEAST 15 // bytes of the shortest header of version 1, and so of any
#define PROXY_TEXT_LONGEST 107 // and of the longest

enum proxy_header_answer {
	PROXY_HEADER_SHORT, // all good so far: there have to be len bytes
	PROXY_HEADER_CLIENT, // whole, and names the client
	PROXY_HEADER_OWN, // whole, and the client is who has made the connection itself
	PROXY_HEADER_NONE, // no header
	PROXY_HEADER_BAD, // against the specification, or an address that no client can have
	PROXY_HEADER_LONG, // longer than room
};

struct proxy_header {
	// Bytes that the header has in any case, by what has come of it: PROXY_TEXT_LEAST, then of
	// version 2 PROXY_HEADER_FIRST, and once there are as many, the length of all. Nothing
	// behind the last of them is the header's.
	size_t len;
	struct endpoint client; // of PROXY_HEADER_CLIENT
};

// Reads the first n bytes of a connection. n may be anything; no more than len bytes are looked at.
// The answer to a prefix of a header is PROXY_HEADER_SHORT, or that to the whole of it: what cannot
// become a header is told from its first wrong byte. Headers of version 2 of more than room bytes
// are refused; those of version 1 have PROXY_TEXT_LONGEST at most, by the specification.
//
// PROXY_HEADER_OWN is for the command LOCAL, by which balancers check health, and for kinds of
// addresses that no client of TURN over TCP has: UNKNOWN (2.1), UNSPEC, UNIX and datagrams (2.2).
// Of TLVs only the lengths are looked at, and a CRC32C (2.2.3), which has to be right.
enum proxy_header_answer proxy_header_read(
	const uint8_t *p, size_t n, size_t room, struct proxy_header *out);
// Whether a header may name it as a client.
bool proxy_header_can_be_client(const struct endpoint *e);
