// SPDX-License-Identifier: BSD-3-Clause
// The mark: what of an end, beside its address, tells datagrams apart, in one word that is compared
// at once. PURE.
//
//	 0..15  the end's port, in host order
//	16..23  of a client: index of the listener    \ of a peer: index of the relay
//	24..31  of a client: state of the line        / address
//
// A view's mark is a client's with state 0, and of a peer's datagram the port alone counts.
#pragma once

#include <stdint.h>

// A client's port and listener, without the state: marks that differ in nothing else are of one
// client.
#define TURN_MARK_CLIENT 0xffffff
#define TURN_MARK_STATE_LIVE 1 // of a line that is an allocation; others are lib/turn's own
// Upper half of a live line's mark of the client, by listener.
#define TURN_LINE_LISTENER(index) ((TURN_MARK_STATE_LIVE << 8) + (unsigned int)(index))

static inline uint32_t turn_mark_client(uint16_t port, uint8_t listener)
{
	return port | (uint32_t)listener << 16;
}

static inline uint16_t turn_mark_port(uint32_t mark)
{
	return (uint16_t)mark;
}

// The upper half: where the other end is sent from. TURN_LINE_LISTENER of a live line's client, the
// index of the relay address of a peer.
static inline uint32_t turn_mark_from(uint32_t mark)
{
	return mark >> 16;
}

static inline uint8_t turn_mark_listener(uint32_t mark)
{
	return (uint8_t)(mark >> 16);
}

static inline uint8_t turn_mark_state(uint32_t mark)
{
	return (uint8_t)(mark >> 24);
}

static inline uint32_t turn_mark_with_state(uint32_t mark, unsigned int state)
{
	return (mark & TURN_MARK_CLIENT) | (uint32_t)state << 24;
}
