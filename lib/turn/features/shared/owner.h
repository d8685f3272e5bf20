// SPDX-License-Identifier: BSD-3-Clause
// Finds the allocation that has registered a peer on a shared address, for channels, Sends, the
// peer's own datagrams, and records of the state area.
#pragma once

#include "turn.h"
#include "turn_drop.h"
#include "turn_refusal.h"

struct peers_channel;

// A datagram from a peer that shared_look_up has processed: v->slot becomes the allocation that has
// registered the peer. TURN_DROP_SHARED_UNKNOWN_PEER if none has.
enum turn_drop owner_ask(const struct turn_shard *s, struct turn_view *v);
// Checks that a Send may go from an allocation to a peer that it has permitted: the peer's answers
// must come back to it. The first Send registers the peer. TURN_OK, or why not.
enum turn_drop owner_send(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// peers_channel_set() that registers the channel's peer, too: it does both or neither.
enum turn_refusal owner_bind(struct turn_shard *s, uint32_t slot, const struct peers_channel *want);
// True if an allocation has registered a peer.
bool owner_has(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Registers a peer of a restored allocation that has a permission for its address. False if it
// cannot.
bool owner_put(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
