// SPDX-License-Identifier: BSD-3-Clause
// Messages in a byte stream: STUN carries its length (RFC 8489 5), ChannelData too, and over a
// stream it is padded to four bytes (RFC 8656 12.5). Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_state {
	FRAME_SHORT, // more bytes are needed
	FRAME_WHOLE,
	FRAME_BAD, // this is no message: whatever follows cannot be told apart any more
};

struct frame {
	uint32_t size; // bytes it takes of the stream; 0: its length is not there yet
	uint32_t len; // of the message, without padding
};

// Whether a whole message is a STUN request: the class bits of its type are zero (RFC 8489 5).
static inline bool frame_is_request(const uint8_t *p)
{
	return (p[0] & 0xfd) == 0 && (p[1] & 0x10) == 0;
}
// What n bytes begin with.
enum frame_state frame_scan(const uint8_t *p, size_t n, struct frame *f);
