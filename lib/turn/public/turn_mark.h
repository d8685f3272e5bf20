// SPDX-License-Identifier: BSD-3-Clause
// The mark of an end: everything that identifies a datagram's end except the address, in one word
// that is compared at once. PURE.
//
//	 0..15  the end's port, in host order
//	16..23  of a client: index of the listener    \ of a peer: by which of our addresses
//	24..31  of a client: state of the line        / it sees us (relay_pools.h)
//
// The mark of a client's view has state 0.
#pragma once

#include <stdint.h>

// Mask of a client's port and listener, without the state: two marks that are equal under it belong
// to one client.
#define TURN_MARK_CLIENT 0xffffff
#define TURN_MARK_STATE_LIVE 1 // the line is an allocation; only lib/turn knows the other states
// Upper half of the client mark of a live line whose client uses this listener.
#define TURN_LINE_LISTENER(index) ((TURN_MARK_STATE_LIVE << 8) + (unsigned int)(index))

static inline uint32_t turn_mark_client(uint16_t port, uint8_t listener)
{
	return port | (uint32_t)listener << 16;
}

static inline uint16_t turn_mark_port(uint32_t mark)
{
	return (uint16_t)mark;
}

// The upper half of a mark: the source of datagrams to this end. For the client of a live line it
// is TURN_LINE_LISTENER, for a peer the index of the relay address or of its replacement.
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
