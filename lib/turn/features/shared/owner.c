// SPDX-License-Identifier: BSD-3-Clause
// Registers the peers of allocations on shared addresses when a ChannelBind or a Send names them,
// and finds the allocation of a peer.
#include "features/shared/owner.h"
#include "peers.h"
#include "shard.h"

enum turn_drop owner_ask(const struct turn_shard *s, struct turn_view *v)
{
	// looked up again, because the burst may have registered the peer meanwhile
	v->slot = shared_slot_of(s, v);
	return v->slot != TURN_NONE ? TURN_OK : TURN_DROP_SHARED_UNKNOWN_PEER;
}

enum turn_drop owner_send(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	uint32_t endpoint;

	switch (shared_ask(s, slot, peer)) {
	case SHARED_OURS:
		return TURN_OK;
	case SHARED_COLLISION:
		return TURN_DROP_SHARED_COLLISION;
	case SHARED_SHARE:
		return TURN_DROP_SHARED_SHARE;
	case SHARED_FULL:
		return TURN_DROP_SHARED_FULL;
	case SHARED_FREE:
		break;
	}
	endpoint = shared_register(s, slot, peer);
	if (endpoint == TURN_NONE)
		return TURN_DROP_SHARED_FULL;
	shared_keep(s, endpoint);
	return TURN_OK;
}

enum turn_refusal owner_bind(struct turn_shard *s, uint32_t slot, const struct peers_channel *want)
{
	uint32_t endpoint;
	enum turn_refusal refusal;

	switch (shared_ask(s, slot, &want->peer)) {
	case SHARED_OURS:
		return peers_channel_set(s, slot, want);
	case SHARED_COLLISION:
		// not 400, after which a client would give up all its other peers (RFC 8656 12.3)
		return TURN_REFUSED_SHARED_PEER;
	case SHARED_SHARE:
		return TURN_REFUSED_SHARED_SHARE;
	case SHARED_FULL:
		return TURN_REFUSED_SHARED_FULL;
	case SHARED_FREE:
		break;
	}
	endpoint = shared_register(s, slot, &want->peer);
	if (endpoint == TURN_NONE)
		return TURN_REFUSED_SHARED_FULL;
	refusal = peers_channel_set(s, slot, want);
	if (refusal == TURN_GRANTED)
		shared_keep(s, endpoint);
	else
		shared_withdraw(s, endpoint);
	return refusal;
}

bool owner_has(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	return shared_ask(s, slot, peer) == SHARED_OURS;
}

bool owner_put(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	uint32_t endpoint = TURN_NONE;

	if (shared_ask(s, slot, peer) == SHARED_FREE)
		endpoint = shared_register(s, slot, peer);
	if (endpoint == TURN_NONE)
		return false;
	shared_keep(s, endpoint);
	return true;
}
