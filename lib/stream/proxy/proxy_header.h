// SPDX-License-Identifier: BSD-3-Clause
// Parses the PROXY protocol header, with which a balancer tells the client's address at the start
// of a connection. Version 1 is text (proxy_text.h), version 2 is binary. Section numbers are those
// of HAProxy's doc/proxy-protocol.txt. PURE: nothing here allocates, logs, or reads a clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define PROXY_HEADER_FIRST 16 // bytes of the fixed part of version 2, with the length of the rest
#define PROXY_HEADER_INET 12 // bytes of the IPv4 addresses and ports after it
#define PROXY_HEADER_INET6 36 // bytes of the IPv6 addresses and ports
// Smallest limit that a reader may have: a header of version 2 with IPv6, without TLVs.
#define PROXY_HEADER_LEAST (PROXY_HEADER_FIRST + PROXY_HEADER_INET6)
#define PROXY_TEXT_LEAST 15 // bytes of the shortest header of version 1, and of all headers
#define PROXY_TEXT_LONGEST 107 // bytes of the longest header of version 1

enum proxy_header_answer {
	PROXY_HEADER_SHORT, // valid until here, but incomplete: read up to len bytes
	PROXY_HEADER_CLIENT, // complete, and names the client
	PROXY_HEADER_OWN, // complete: the balancer itself is the client
	PROXY_HEADER_NONE, // not a header
	PROXY_HEADER_BAD, // invalid, or with an address that no client can have
	PROXY_HEADER_LONG, // longer than room bytes
};

struct proxy_header {
	// Minimum length of the header, as far as its first bytes tell: PROXY_TEXT_LEAST at first,
	// PROXY_HEADER_FIRST for version 2, and the exact length once that many bytes are there. So
	// reading up to len bytes takes none of the client's bytes.
	size_t len;
	struct endpoint client; // of PROXY_HEADER_CLIENT
};

// Reads the first n bytes of a connection. n may have any value; at most len bytes are used. The
// answer to a prefix of a header is PROXY_HEADER_SHORT, or the answer to the complete header if the
// prefix decides it: errors are detected at the first wrong byte. Headers of version 2 with more
// than room bytes are refused; those of version 1 have at most PROXY_TEXT_LONGEST bytes.
//
// PROXY_HEADER_OWN is for the command LOCAL, which balancers use for health checks, and for address
// families that no client of TURN over TCP has: UNKNOWN (2.1), UNSPEC, UNIX and datagrams (2.2).
// TLVs are ignored, except that their lengths, and a CRC32C (2.2.3), must be correct.
enum proxy_header_answer proxy_header_read(
	const uint8_t *p, size_t n, size_t room, struct proxy_header *out);
// True if a header may name this endpoint as a client.
bool proxy_header_can_be_client(const struct endpoint *e);
