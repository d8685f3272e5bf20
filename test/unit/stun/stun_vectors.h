// SPDX-License-Identifier: BSD-3-Clause
// Published STUN messages, byte for byte as printed (RFC 5769 section 2, RFC 8489 appendix B), and
// helpers shared by the tests of lib/stun.
#pragma once

#include <stddef.h>
#include <stdint.h>

// RFC 5769 2.1: short-term credentials, spaces for padding.
extern const uint8_t rfc5769_request[108];

// RFC 5769 2.2: XOR-MAPPED-ADDRESS 192.0.2.1 port 32853.
extern const uint8_t rfc5769_response4[80];

// RFC 5769 2.3: 2001:db8:1234:5678:11:2233:4455:6677 port 32853.
extern const uint8_t rfc5769_response6[92];

// RFC 5769 2.4: long-term credentials.
extern const uint8_t rfc5769_longterm[116];

// RFC 8489 B.1 as printed. Its length field says 156, the length including the header (136 would be
// right), and the HMAC was computed over that: no conforming parser may accept it.
extern const uint8_t rfc8489_b1_printed[156];

// RFC 8489 B.1 with the length corrected and the HMAC recomputed (Python's hmac module); all other
// bytes are as printed.
extern const uint8_t rfc8489_b1[156];

#define RFC5769_PASSWORD "VOkJxbRl1RmTxUk/WvJxBt" // of 2.1 to 2.3
#define RFC5769_USER "\xe3\x83\x9e\xe3\x83\x88\xe3\x83\xaa\xe3\x83\x83\xe3\x82\xaf\xe3\x82\xb9"
#define RFC5769_REALM "example.org"
#define RFC5769_LONGTERM_PASSWORD "TheMatrIX"

struct vector {
	const char *name;
	const uint8_t *data;
	size_t len;
};

#define VECTOR(v)                \
	{                        \
#v, v, sizeof(v) \
	}

// Messages that a parser has to accept.
extern const struct vector vectors[5];

#define NB_VECTORS (sizeof(vectors) / sizeof(vectors[0]))

// A copy at an odd address that ends with its block, so that ASan finds a read of one byte too many
// and UBSan an aligned load. Free block, not data.
struct odd_copy {
	uint8_t *block, *data;
};

// Copies len bytes; if data is NULL, the bytes stay unset.
struct odd_copy stun_vectors_odd_copy(const uint8_t *data, size_t len);
