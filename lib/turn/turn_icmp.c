// SPDX-License-Identifier: BSD-3-Clause
// Finds the allocation of an ICMP error, and writes the Data indication for its client.
#include "turn_icmp.h"
#include "shard.h"

// True if the slot belongs to a live allocation.
static bool is_live(const struct turn_shard *s, uint32_t slot)
{
	return slot < s->nb_slots && line_state(alloc_at(s, slot)) == ALLOC_LIVE &&
		alloc_left(s, slot) > 0;
}

static uint32_t slot_of(const struct turn_shard *s, const struct turn_icmp *e)
{
#define X(look_up, ask, find, send) \
	if (shard_shares_ports(s))  \
		return find(s, e->slot, &e->peer);
	TURN_PEERS(X)
#undef X
	return e->slot;
}

uint64_t turn_icmp_user(const struct turn_shard *s, uint32_t slot)
{
	return cold_at(s, slot)->quota_user;
}

uint32_t turn_icmp_sibling(const struct turn_shard *s, uint32_t slot)
{
	return alloc_sibling(s, slot);
}

bool turn_icmp_allows(struct turn_shard *s, uint32_t slot)
{
	static const struct addr none;
	const uint64_t key = hash_addr(&s->key, &none, (uint64_t)1 << 62 | slot);

	return bucket_take(limiter_bucket(&s->limiter[TURN_LIMIT_ICMP], key),
		&s->policy->limits.icmp, s->now_ms * BUCKET_MS);
}

enum turn_drop turn_icmp_judge(struct turn_shard *s, struct turn_icmp *e)
{
	struct endpoint seen;

	e->slot = slot_of(s, e);
	if (e->slot == TURN_NONE || !is_live(s, e->slot))
		return TURN_DROP_ICMP_NO_ALLOCATION;
	seen = alloc_source(s, e->slot, &e->peer.addr);
	if (!endpoint_eq(&seen, &e->relay))
		return TURN_DROP_ICMP_NO_ALLOCATION;
	if (!peers_permission_live(s, e->slot, &e->peer.addr))
		return TURN_DROP_ICMP_NO_PERMISSION;
	return TURN_OK;
}

bool turn_icmp_tells(const struct turn_shard *s, uint32_t slot)
{
	switch (s->policy->icmp_tell) {
	case TURN_ICMP_TELL_ALL:
		return true;
	case TURN_ICMP_TELL_NONE:
		return false;
	default:
		return cold_at(s, slot)->rfc8489;
	}
}

uint16_t turn_icmp_indication(
	struct turn_shard *s, const struct turn_icmp *e, uint8_t out[TURN_ICMP_LEN_MAX])
{
	uint8_t tid[16], value[8] = {0}; // RFC 8656 18.13: two reserved bytes
	struct stun_writer w;

	turn_tids_next(&s->tids, tid);
	value[2] = e->type;
	value[3] = e->code;
	store_be32(value + 4, e->data);
	stun_begin(&w, out, TURN_ICMP_LEN_MAX, STUN_INDICATION, STUN_DATA, tid);
	stun_put_xor_addr(&w, STUN_XOR_PEER_ADDRESS, &e->peer);
	stun_put(&w, STUN_ICMP, value, sizeof(value));
	return stun_end(&w);
}
