// SPDX-License-Identifier: BSD-3-Clause
// Finds where messages begin and end in a byte stream (TCP, TLS). STUN carries its length (RFC 8489
// 5), and so does ChannelData, which is padded to four bytes in a stream (RFC 8656 12.5). PURE; any
// thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUN_FIRST_MAX 3 // highest first byte of a STUN message (RFC 7983)
// Bytes up to the end of the cookie, which identifies STUN.
#define STUN_FRAMING_JUDGED 8

enum stun_framing_state {
	STUN_FRAMING_SHORT, // the message is not complete yet
	STUN_FRAMING_WHOLE,
	STUN_FRAMING_BAD, // not a message, so the start of the next one cannot be found
};

struct stun_framing {
	uint32_t size; // bytes that the message takes in the stream; 0 while unknown
	uint32_t len; // bytes of the message without padding
};

// Looks at the first message in the n bytes at p, and fills the members of *f that these bytes
// determine. channel_max (host order) is the highest valid channel number: CHANNEL_MAX, or
// CHANNEL_MAX_RFC5766 where clients of RFC 5766 are served. Only the high byte of a channel number
// is compared.
enum stun_framing_state stun_framing_scan(
	const uint8_t *p, size_t n, uint16_t channel_max, struct stun_framing *f);

// True if a complete message is a STUN request: the class bits of its type are zero (RFC 8489 5).
static inline bool stun_framing_is_request(const uint8_t *p)
{
	return (p[0] & 0xfd) == 0 && (p[1] & 0x10) == 0;
}

// Bytes of padding after len bytes of ChannelData. The header has 4 bytes, so len may include it or
// not.
static inline unsigned int stun_framing_pad(uint32_t len)
{
	return -len & 3;
}
