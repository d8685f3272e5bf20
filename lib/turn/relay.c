// SPDX-License-Identifier: BSD-3-Clause
// The fast path: a burst is looked up and its lines fetched, then plans are made in arrival order.
// At most two look-ups a datagram; requests branch off to request.c.
#include "turn_int.h"

#define SPILL (UINT32_C(1) << 31) // hot counters move to the cold ones before they can wrap

void plan_drop(struct turn_plan *plan, enum turn_drop reason)
{
	*plan = (struct turn_plan){.verdict = TURN_DROP, .reason = (uint16_t)reason};
}

static void plan_relay(struct turn_plan *plan, const struct turn_view *v, uint32_t flow,
	uint16_t off, uint16_t len)
{
	*plan = (struct turn_plan){.verdict = TURN_RELAY,
		.flags = v->df ? TURN_PLAN_DF : 0,
		.off = off,
		.len = len,
		.flow = flow};
}

static void count_rx(struct turn_shard *s, uint32_t slot)
{
	struct turn_alloc *a = alloc_at(s, slot);

	if (++a->rx >= SPILL) {
		cold_at(s, slot)->rx += a->rx;
		a->rx = 0;
	}
}

static void count_tx(struct turn_shard *s, uint32_t slot)
{
	struct turn_alloc *a = alloc_at(s, slot);

	if (++a->tx >= SPILL) {
		cold_at(s, slot)->tx += a->tx;
		a->tx = 0;
	}
}

void turn_route_begin(struct turn_shard *s, struct turn_burst *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		struct turn_view *v = &b->view[i];

		if (v->leg == TURN_FROM_PEER) {
			__builtin_prefetch(alloc_at(s, v->slot));
			continue;
		}
		v->hash = client_hash(s, &v->src, v->src_port, v->listener);
		table_prefetch(&s->clients, v->hash);
	}
	for (unsigned int i = 0; i < b->n; i++) {
		struct turn_view *v = &b->view[i];
		struct table_iter it = {0};

		if (v->leg == TURN_FROM_PEER)
			continue;
		v->epoch = s->epoch;
		v->found = TURN_NONE;
		if (table_next(&s->clients, v->hash, &it, &v->found))
			__builtin_prefetch(alloc_at(s, v->found));
	}
}

static bool alloc_is(const struct turn_alloc *a, const struct turn_view *v)
{
	return a->state != ALLOC_FREE && addr_eq(&a->client, &v->src) &&
		a->client_port == v->src_port && a->listener == v->listener;
}

// Allocation or redirect of a view looked up by turn_route_begin. What was found then may have
// ended since, and what was missed may have been made: the burst has the same outcome as its
// packets alone.
static uint32_t client_slot(struct turn_shard *s, const struct turn_view *v)
{
	if (v->found != TURN_NONE && alloc_is(alloc_at(s, v->found), v))
		return v->found;
	if (v->found == TURN_NONE && v->epoch == s->epoch)
		return TURN_NONE;
	return alloc_lookup(s, v);
}

static bool slot_live(const struct turn_shard *s, uint32_t slot)
{
	return alloc_at(s, slot)->state == ALLOC_LIVE && cold_at(s, slot)->expires_ms > s->now_ms;
}

// ChannelData from a client (RFC 8656 12.6).
static void relay_channel_data(
	struct turn_shard *s, const struct turn_view *v, uint32_t slot, struct turn_plan *plan)
{
	const struct turn_alloc *a = alloc_at(s, slot);
	uint16_t number, len;
	uint32_t channel;

	if (v->len < CHANNEL_HEADER_LEN)
		return plan_drop(plan, TURN_DROP_CHANNEL_LENGTH);
	number = load_be16(v->data);
	len = load_be16(v->data + 2);
	if (len > v->len - CHANNEL_HEADER_LEN)
		return plan_drop(plan, TURN_DROP_CHANNEL_LENGTH);
	if (number == a->channel && a->until_ms > s->now_ms) {
		channel = a->record;
	} else {
		if (!slot_live(s, slot))
			return plan_drop(plan, TURN_DROP_NO_ALLOCATION);
		channel = channel_by_number(s, slot, number);
		if (channel == TURN_NONE || s->channel[channel].until_ms <= s->now_ms)
			return plan_drop(plan, TURN_DROP_CHANNEL_UNBOUND);
		if (!channel_live(s, channel))
			return plan_drop(plan, TURN_DROP_NO_PERMISSION);
	}
	count_rx(s, slot);
	plan_relay(plan, v, s->nb_slots + channel, CHANNEL_HEADER_LEN, len);
}

// Send indication (RFC 8656 11.2). Never answered; a permission was judged by the policy when it
// was installed.
static void relay_send(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side)
{
	const struct turn_request r = {.s = s, .v = v, .m = *m, .slot = v->found};
	const uint32_t slot = v->found;
	struct endpoint peer;
	uint32_t channel;

	if (m->nb_unknown > 0)
		return plan_drop(plan, TURN_DROP_UNKNOWN_ATTRIBUTE);
	if (!stun_has(m, STUN_XOR_PEER_ADDRESS) || !stun_has(m, STUN_DATA_ATTR))
		return plan_drop(plan, TURN_DROP_INDICATION);
	if (slot == TURN_NONE || !slot_live(s, slot))
		return plan_drop(plan, TURN_DROP_NO_ALLOCATION);
	switch (peer_decode(
		&r, m->off[STUN_XOR_PEER_ADDRESS], m->alen[STUN_XOR_PEER_ADDRESS], &peer)) {
	case 0:
		break;
	case 400:
		return plan_drop(plan, TURN_DROP_INDICATION);
	default:
		return plan_drop(plan, TURN_DROP_PEER_DENIED);
	}
	if (peer.port == 0)
		return plan_drop(plan, TURN_DROP_PEER_DENIED);
	if (!permission_live(s, slot, &peer.addr))
		return plan_drop(plan, TURN_DROP_NO_PERMISSION);
	count_rx(s, slot);
	// The header of a peer with a channel is kept ready; a channel that is past its time will
	// do.
	channel = channel_by_peer(s, slot, &peer);
	plan_relay(plan, v, s->nb_slots + channel, m->off[STUN_DATA_ATTR], m->alen[STUN_DATA_ATTR]);
	if (channel == TURN_NONE) {
		plan->verdict = TURN_SEND;
		side->src = turn_relay_endpoint(s->map, s->worker, slot);
		side->dst = peer;
	}
	if (stun_has(m, STUN_DONT_FRAGMENT))
		plan->flags |= TURN_PLAN_DF;
}

static void route_stun(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
	struct stun_msg m;

	if (stun_parse(v->data, v->len, &m) != 0)
		return plan_drop(plan, TURN_DROP_MALFORMED);
	if (m.fingerprint_bad)
		return plan_drop(plan, TURN_DROP_FINGERPRINT);
	if (m.cls == STUN_REQUEST)
		return turn_request(s, v, &m, plan, side);
	if (m.cls == STUN_INDICATION && m.method == STUN_SEND)
		return relay_send(s, v, &m, plan, side);
	if (m.cls == STUN_INDICATION && m.method == STUN_BINDING)
		return plan_drop(plan, TURN_DROP_KEEPALIVE);
	plan_drop(plan, TURN_DROP_METHOD);
}

static void route_client(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
	const uint32_t slot = v->found = client_slot(s, v);

	if (slot != TURN_NONE && alloc_at(s, slot)->state == ALLOC_REDIRECT) {
		if (v->via == TURN_NO_WORKER && alloc_at(s, slot)->until_ms > s->now_ms) {
			*plan = (struct turn_plan){
				.verdict = TURN_HANDOVER, .flow = alloc_at(s, slot)->worker};
			return;
		}
		redirect_end(s, slot);
		v->found = TURN_NONE;
	}
	// RFC 8656 section 12, table 3: 0..3 is STUN, 64..79 is ChannelData; so is up to 127 for
	// the clients of RFC 5766, which can be bound or not but is nothing else.
	if (v->len > 0 && (v->data[0] & 0xc0) == 0x40) {
		if (v->found == TURN_NONE)
			return plan_drop(plan, TURN_DROP_NO_ALLOCATION);
		return relay_channel_data(s, v, v->found, plan);
	}
	if (v->len > 0 && v->data[0] <= 3)
		return route_stun(s, v, plan, side);
	plan_drop(plan, TURN_DROP_NOT_TURN);
}

// A datagram of a peer without a channel but with a permission (RFC 8656 11.3).
static void relay_data_indication(struct turn_shard *s, const struct turn_view *v,
	struct turn_plan *plan, struct turn_side *side)
{
	const struct endpoint peer = {v->src, v->src_port};
	uint8_t tid[STUN_TID_LEN];

	// The STUN length field counts header attributes and padding in 16 bits.
	if (v->len > UINT16_MAX - 64)
		return plan_drop(plan, TURN_DROP_PEER_OVERSIZE);
	csprng_bytes(s->rng, tid, sizeof(tid));
	plan_relay(plan, v, v->slot, 0, v->len);
	plan->front_len = stun_data_indication(side->front, tid, &peer, v->len);
	count_tx(s, v->slot);
}

// From a peer to the relayed transport address that is v->slot (RFC 8656 11.3, 12.5).
static void route_peer(struct turn_shard *s, const struct turn_view *v, struct turn_plan *plan,
	struct turn_side *side)
{
	const struct turn_alloc *a = alloc_at(s, v->slot);
	const struct endpoint peer = {v->src, v->src_port};
	uint16_t number = a->channel;

	if (a->channel == 0 || a->peer_port != v->src_port || a->until_ms <= s->now_ms ||
		a->state != ALLOC_LIVE || !addr_eq(&a->peer, &v->src)) {
		uint32_t channel;

		if (!slot_live(s, v->slot))
			return plan_drop(plan,
				v->hairpin ? TURN_DROP_HAIRPIN_NO_ALLOCATION
					   : TURN_DROP_PEER_NO_ALLOCATION);
		if (!permission_live(s, v->slot, &v->src))
			return plan_drop(plan, TURN_DROP_PEER_NO_PERMISSION);
		channel = channel_by_peer(s, v->slot, &peer);
		if (channel == TURN_NONE || !channel_live(s, channel))
			return relay_data_indication(s, v, plan, side);
		number = s->channel[channel].number;
	}
	plan_relay(plan, v, v->slot, 0, v->len);
	plan->front_len = CHANNEL_HEADER_LEN;
	plan->channel = number;
	count_tx(s, v->slot);
}

void turn_route_finish(
	struct turn_shard *s, struct turn_burst *b, unsigned int from, unsigned int n)
{
	for (unsigned int i = from; i < from + n; i++) {
		struct turn_view *v = &b->view[i];

		if (v->leg == TURN_FROM_PEER)
			route_peer(s, v, &b->plan[i], &b->side[i % TURN_CHUNK]);
		else
			route_client(s, v, &b->plan[i], &b->side[i % TURN_CHUNK]);
	}
}

void turn_route_one(struct turn_shard *s, struct turn_burst *b)
{
	b->n = 1;
	turn_route_begin(s, b);
	turn_route_finish(s, b, 0, 1);
}
