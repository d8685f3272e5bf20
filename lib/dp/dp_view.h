// SPDX-License-Identifier: BSD-3-Clause
// What lib/dp notes in the view of a datagram, and reads from it.
#pragma once

#include <stdbool.h>

#include "turn.h"

// Flags of a view.
// A plain frame: untagged, without options, extension headers and padding, with a UDP checksum and
// with hops left, short enough for every port with a ChannelData header more.
#define DP_PLAIN 1
#define DP_IPV4 2
// Nobody has looked at the datagram's source yet: whether it is one that a host can have, and not
// one of ours. An allocation's line is proof enough, as those who made it have been judged.
#define DP_UNJUDGED 4
// From a client over a stream, whose connection is v->stream. In views without this flag and the
// next one v->stream means nothing.
#define DP_STREAM 8
// Decrypted; the client is one over DTLS and its session is v->stream. For all except the answer
// this is the datagram that it would have been over UDP.
#define DP_DTLS 16
// It came in fragments. It may then leave in fragments over IPv6 too (RFC 8656 section 13.2).
#define DP_FRAGMENTED 32

// A STUN request (RFC 8489 5): the class bits of the message type are zero.
static inline bool dp_view_is_request(const struct turn_view *v)
{
	return v->len >= 2 && (v->data[0] & 0xfd) == 0 && (v->data[1] & 0x10) == 0;
}
