// SPDX-License-Identifier: BSD-3-Clause
// Flags that lib/dp keeps in the view of a datagram.
#pragma once

#include <stdbool.h>

#include "turn.h"

// Flags of a view. A plain frame: untagged, without options, extension headers and padding, with a
// UDP checksum and a TTL or hop limit that is left, short enough for every port with a ChannelData
// header added.
#define DP_PLAIN 1
#define DP_IPV4 2
// The datagram's source has not been checked yet: it must be an address that a host can have, and
// not ours. An allocation's line is proof enough, because its ends have been checked.
#define DP_UNJUDGED 4
// From a client over a stream, whose connection is v->stream. Without DP_STREAM or DP_DTLS,
// v->stream is meaningless.
#define DP_STREAM 8
// Decrypted: from a client over DTLS, whose session is v->stream. For everything except the answer
// it is the same as a datagram over UDP.
#define DP_DTLS 16
// It came in fragments, so it may leave in fragments over IPv6, too (RFC 8656 section 13.2).
#define DP_FRAGMENTED 32

// True for a STUN request (RFC 8489 5): the class bits of the message type are zero.
static inline bool dp_view_is_request(const struct turn_view *v)
{
	return v->len >= 2 && (v->data[0] & 0xfd) == 0 && (v->data[1] & 0x10) == 0;
}
