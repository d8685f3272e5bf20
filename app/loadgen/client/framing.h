// SPDX-License-Identifier: BSD-3-Clause
// Messages in a byte stream (RFC 8656 12.5, RFC 8489 6.2.2): STUN, and ChannelData padded to a
// multiple of four. What a client over TCP or TLS reads and writes. PURE.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum framing_state {
	FRAMING_SHORT, // more has to come before the message is whole
	FRAMING_WHOLE,
	FRAMING_BAD, // neither STUN nor ChannelData: the stream has lost its place
};

struct framing {
	uint32_t len; // of the message, without padding
	uint32_t size; // in the stream; known from the first four bytes on, before that 0
};

// Looks at the message that begins at p, of which n bytes are there. *f is filled with what is
// known of it.
enum framing_state framing_scan(const uint8_t *p, size_t n, struct framing *f);

// Bytes of padding behind a message of len bytes.
static inline unsigned int framing_pad(uint32_t len)
{
	return -len & 3;
}
