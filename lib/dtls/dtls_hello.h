// SPDX-License-Identifier: BSD-3-Clause
// Recognises and parses DTLS 1.2 ClientHellos before there is a session. Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTLS_RECORD_LEN 13 // bytes of the header of a record
#define DTLS_HANDSHAKE_LEN 12 // bytes of the header of a handshake message
#define DTLS_RANDOM_LEN 32
// Bytes of the shortest ClientHello: version, random and four empty vectors.
#define DTLS_HELLO_MIN (DTLS_RECORD_LEN + DTLS_HANDSHAKE_LEN + 2 + DTLS_RANDOM_LEN + 1 + 1 + 2 + 1)

#define DTLS_HELLO_MAX 8192 // limit of a reassembled message, in bytes

// Content types of a record.
enum { DTLS_CCS = 20, DTLS_ALERT = 21, DTLS_HANDSHAKE = 22, DTLS_APPLICATION = 23 };

// True if a datagram with this first byte is DTLS (RFC 7983).
static inline bool dtls_first_byte(uint8_t b)
{
	return (uint8_t)(b - 20) < 44;
}

// A ClientHello, by pointers into its datagram.
struct dtls_hello {
	const uint8_t *record; // the datagram
	const uint8_t *random; // DTLS_RANDOM_LEN bytes
	const uint8_t *cookie;
	uint8_t cookie_len;
	bool whole; // else it is the first fragment
};

// A fragment of a ClientHello (RFC 6347 4.2.3), or all of it.
struct dtls_fragment {
	const uint8_t *data; // len bytes: [off, off + len) of total
	uint32_t off, len, total;
	uint16_t number; // of the message
};

// True if the datagram's first record is plaintext and begins with a ClientHello, valid or not.
bool dtls_hello_is(const uint8_t *data, size_t len);
// Reads the ClientHello fragment in a datagram's first record. False if it is malformed, or if the
// message is longer than DTLS_HELLO_MAX.
bool dtls_hello_fragment(const uint8_t *data, size_t len, struct dtls_fragment *f);
// Reads a ClientHello that is whole and alone in its datagram, or its first fragment, if that has
// all fields that a cookie needs. Any version is accepted: libssl refuses wrong versions. False if
// the datagram is neither.
bool dtls_hello_read(const uint8_t *data, size_t len, struct dtls_hello *h);
