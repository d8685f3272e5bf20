// SPDX-License-Identifier: BSD-3-Clause
// Routing: looks up a burst and prefetches its lines, then makes plans in arrival order. A datagram
// takes at most two look-ups; requests branch off to request.c.
#include "route.h"
#include "requests/permit.h"
#include "shard.h"

#define unlikely(x) __builtin_expect(!!(x), 0)
#define TAKE_OVER 16
#define SEND_INDICATION 0x0016 // as message type

void route_drop(struct turn_plan *plan, enum turn_drop reason)
{
	*plan = (struct turn_plan){.verdict = TURN_DROP, .reason = (uint16_t)reason};
}

static void plan_relay(struct turn_plan *plan, uint32_t flow, uint16_t off, uint16_t len)
{
	*plan = (struct turn_plan){.verdict = TURN_RELAY, .off = off, .len = len, .flow = flow};
}

// --- looking up ----------------------------------------------------------------------------------

// Lists the views of a burst by leg. It takes no branch on the leg: in a mixed burst every other
// one would be mispredicted.
static void split_legs(struct turn_burst *b)
{
	uint8_t *of_client = b->by_leg[TURN_FROM_CLIENT], *of_peer = b->by_leg[TURN_FROM_PEER];
	const struct turn_view *v = b->view;
	const size_t n = b->n; // gcc must assume that writing to the lists changes b->n
	size_t nb_peer = 0;

#pragma GCC unroll 4
	for (size_t i = 0; i < n; i++, v++) {
		of_client[i - nb_peer] = of_peer[nb_peer] = (uint8_t)i;
		nb_peer += v->leg; // TURN_FROM_PEER is 1
	}
	b->nb[TURN_FROM_CLIENT] = (unsigned int)(n - nb_peer);
	b->nb[TURN_FROM_PEER] = (unsigned int)nb_peer;
}

// Moves clients of other shards from the list of our clients to b->elsewhere. Only called if there
// are some.
static void sort_out(struct turn_burst *b, unsigned int worker)
{
	uint8_t *of_client = b->by_leg[TURN_FROM_CLIENT];
	const unsigned int nb = b->nb[TURN_FROM_CLIENT];
	unsigned int ours = 0;

	for (unsigned int i = 0; i < nb; i++) { // without a branch, as in split_legs
		const uint8_t view_idx = of_client[i];

		of_client[ours] = b->elsewhere[i - ours] = view_idx;
		ours += turn_client_home(b->view[view_idx].hash, b->homes) == worker;
	}
	b->nb[TURN_FROM_CLIENT] = ours;
	b->nb_elsewhere = nb - ours;
}

// Looks up the clients of a burst. dealt: there may be clients of other shards, which are sorted
// out first. hashed: the views have their hashes.
static inline __attribute__((always_inline)) void find_clients(
	struct turn_shard *s, struct turn_burst *b, bool dealt, bool hashed)
{
	const uint8_t *of_client = b->by_leg[TURN_FROM_CLIENT];
	const unsigned int homes = b->homes, worker = s->worker;
	const struct table clients = s->clients; // copies: nothing written here changes them
	const struct hash_key key = s->client_key;
	const struct table_bucket *first[TURN_BURST]; // by view
	unsigned int nb = b->nb[TURN_FROM_CLIENT];
	uint32_t away = 0;

#pragma GCC unroll 2
	for (unsigned int i = 0; i < nb; i++) {
		struct turn_view *v = &b->view[of_client[i]];

		if (!hashed)
			v->hash = turn_client_hash(&key, &v->src, v->mark & TURN_MARK_CLIENT);
		first[of_client[i]] = table_first(&clients, v->hash);
		__builtin_prefetch(first[of_client[i]]);
		if (dealt)
			away |= turn_client_away(v->hash, homes, worker);
	}
	b->nb_elsewhere = 0;
	if (dealt && unlikely(away >= 1u << 16)) {
		sort_out(b, worker);
		nb = b->nb[TURN_FROM_CLIENT];
	}
	for (unsigned int i = 0; i < nb; i++) {
		struct turn_view *v = &b->view[of_client[i]];

		v->slot = table_guess(&clients, first[of_client[i]], v->hash, TURN_NONE);
		v->state = ALLOC_LIVE;
		__builtin_prefetch(alloc_at(s, v->slot), 1); // harmless for TURN_NONE
	}
}

// Looks up the allocations of a burst's peers whose relay ports are shared.
static inline void look_up_peers(struct turn_shard *s, struct turn_burst *b)
{
#define X(look_up, ask, find, send) look_up(s, b);
	TURN_PEERS(X)
#undef X
}

void turn_route_begin(struct turn_shard *s, struct turn_burst *b)
{
	const uint8_t *of_peer = b->by_leg[TURN_FROM_PEER];

	b->epoch = s->epoch;
	split_legs(b);
	if (unlikely(shard_shares_ports(s)))
		look_up_peers(s, b);
	else
#pragma GCC unroll 4
		for (unsigned int i = 0; i < b->nb[TURN_FROM_PEER]; i++)
			__builtin_prefetch(alloc_at(s, b->view[of_peer[i]].slot), 1);
	if (b->homes <= 1)
		find_clients(s, b, false, false);
	else if (b->homes == TURN_HASHED)
		find_clients(s, b, false, true);
	else
		find_clients(s, b, true, false);
}

// The IPv4 half of a dual allocation, whichever half was found: losses count there until the family
// is known.
static uint32_t ipv4_half(const struct turn_shard *s, uint32_t slot)
{
	return slot < s->nb_slots && cold_at(s, slot)->is_dual ? alloc_of_family(s, slot, true)
							       : slot;
}

// Index of the allocation or redirect of a view that turn_route_begin has looked up. That
// allocation may have ended since, and a missing one may have been made: the burst has the same
// outcome as its datagrams one by one.
static uint32_t client_slot(const struct turn_shard *s, const struct turn_view *v, uint32_t epoch)
{
	if (v->slot != TURN_NONE && line_is_client(alloc_at(s, v->slot), v))
		return ipv4_half(s, v->slot);
	if (v->slot == TURN_NONE && epoch == s->epoch)
		return TURN_NONE;
	return ipv4_half(s, alloc_lookup(s, v));
}

bool turn_route_knows(const struct turn_shard *s, const struct turn_view *v)
{
	return v->slot != TURN_NONE &&
		(line_is_client(alloc_at(s, v->slot), v) || alloc_lookup(s, v) != TURN_NONE);
}

static bool slot_live(const struct turn_shard *s, uint32_t slot)
{
	return line_state(alloc_at(s, slot)) == ALLOC_LIVE && alloc_left(s, slot) > 0;
}

// The line has no copy of this channel. If it has one of another channel, this channel replaces it
// only now and then: two channels in alternation would otherwise make a copy for every datagram.
static void passed_over(struct turn_shard *s, uint32_t slot, uint32_t channel)
{
	if (alloc_at(s, slot)->channel == 0 || ++s->passed_over % TAKE_OVER == 0)
		line_copy(s, slot, channel);
}

// passed_over() for a peer without a channel, which never replaces a channel.
static void peer_passed_over(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const struct turn_line *l = alloc_at(s, slot);

	if (l->channel == 0 && (!line_copies(l, s->tick) || ++s->passed_over % TAKE_OVER == 0))
		line_copy_peer(s, slot, peer);
}

// The look-up found the line of the sibling: now and then this half is moved into the table of
// clients.
static void slot_passed_over(struct turn_shard *s, uint32_t slot)
{
	if (cold_at(s, slot)->is_second && ++s->sibling_hits % TAKE_OVER == 0)
		alloc_put_first(s, slot);
}

// Returns the one of a client's allocations that has a channel; *channel gets it. If neither has
// it, returns a live one if there is one.
static uint32_t slot_of_channel(
	const struct turn_shard *s, uint32_t slot, uint16_t number, uint32_t *channel)
{
	const uint32_t sibling = alloc_sibling(s, slot);

	*channel = peers_channel_by_number(s, slot, number);
	if (sibling == TURN_NONE || !slot_live(s, sibling) ||
		(*channel != TURN_NONE && slot_live(s, slot)))
		return slot;
	*channel = peers_channel_by_number(s, sibling, number);
	return *channel != TURN_NONE || !slot_live(s, slot) ? sibling : slot;
}

// ChannelData from a client (RFC 8656 12.6).
static void relay_channel_data(struct turn_shard *s, struct turn_view *v, struct turn_plan *plan)
{
	uint16_t number, len;
	uint32_t channel;

	if (v->len < CHANNEL_HEADER_LEN)
		return route_drop(plan, TURN_DROP_CHANNEL_LENGTH);
	number = load_be16(v->data);
	len = load_be16(v->data + 2);
	if (len > v->len - CHANNEL_HEADER_LEN)
		return route_drop(plan, TURN_DROP_CHANNEL_LENGTH);
	v->slot = slot_of_channel(s, v->slot, number, &channel);
	if (!slot_live(s, v->slot))
		return route_drop(plan, TURN_DROP_NO_ALLOCATION);
	if (channel == TURN_NONE || !peers_channel_live(s, channel))
		return route_drop(plan, TURN_DROP_CHANNEL_UNBOUND);
	passed_over(s, v->slot, channel);
	slot_passed_over(s, v->slot);
	plan_relay(plan, channel | FLOW_CHANNEL, CHANNEL_HEADER_LEN, len);
}

// Asks if a Send may go to this peer from a port that allocations share.
static enum turn_drop send_from_shared(
	struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
#define X(look_up, ask, find, send) \
	if (shard_shares_ports(s))  \
		return send(s, slot, peer);
	TURN_PEERS(X)
#undef X
	return TURN_OK;
}

// Send indication (RFC 8656 11.2). It is never answered. The policy judged the permission when it
// was installed.
static void relay_send(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side)
{
	uint32_t slot;
	struct endpoint peer;
	enum turn_drop reason;

	if (m->nb_unknown > 0)
		return route_drop(plan, TURN_DROP_UNKNOWN_ATTRIBUTE);
	if (!stun_has(m, STUN_XOR_PEER_ADDRESS) || !stun_has(m, STUN_DATA_ATTR))
		return route_drop(plan, TURN_DROP_INDICATION);
	slot = v->slot != TURN_NONE ? alloc_living(s, v->slot) : TURN_NONE;
	if (slot == TURN_NONE)
		return route_drop(plan, TURN_DROP_NO_ALLOCATION);
	switch (permit_decode(s, &slot, m, m->off[STUN_XOR_PEER_ADDRESS], &peer)) {
	case TURN_GRANTED:
		break;
	case TURN_REFUSED_MALFORMED:
		return route_drop(plan, TURN_DROP_INDICATION);
	default:
		return route_drop(plan, TURN_DROP_PEER_DENIED);
	}
	if (peer.port == 0 || alloc_left(s, slot) == 0)
		return route_drop(plan, TURN_DROP_PEER_DENIED);
	v->slot = slot;
	if (!line_has(s, slot, &peer)) {
		if (!peers_permission_live(s, slot, &peer.addr))
			return route_drop(plan, TURN_DROP_NO_PERMISSION);
		reason = send_from_shared(s, slot, &peer);
		if (reason != TURN_OK)
			return route_drop(plan, reason);
		if (peers_channel_by_peer(s, slot, &peer) == TURN_NONE)
			peer_passed_over(s, slot, &peer);
	}
	slot_passed_over(s, slot);
	plan_relay(plan, slot | FLOW_PEER, m->off[STUN_DATA_ATTR], m->alen[STUN_DATA_ATTR]);
	if (!line_has(s, slot, &peer)) {
		plan->verdict = TURN_SEND;
		side->src = alloc_source(s, slot, &peer.addr);
		side->dst = peer;
	}
	if (stun_has(m, STUN_DONT_FRAGMENT))
		plan->flags |= TURN_PLAN_DF;
}

static void route_stun(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
	struct stun_msg m;

	if (stun_parse(v->data, v->len, &m) != 0 &&
		(shard_handshakes(s, v->listener) || stun_parse_rfc3489(v->data, v->len, &m) != 0))
		return route_drop(plan, TURN_DROP_MALFORMED);
	if (m.fingerprint_bad)
		return route_drop(plan, TURN_DROP_FINGERPRINT);
	if (m.cls == STUN_REQUEST)
		return turn_request(s, v, &m, plan, side);
	if (m.cls == STUN_INDICATION && m.method == STUN_SEND)
		return relay_send(s, v, &m, plan, side);
	if (m.cls == STUN_INDICATION && m.method == STUN_BINDING)
		return route_drop(plan, TURN_DROP_KEEPALIVE);
	route_drop(plan, TURN_DROP_METHOD);
}

// The connection of a TCP allocation carries requests, and no data (RFC 6062 3).
static void route_tcp(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
	if (v->len < 2 || v->data[0] > 3 || load_be16(v->data) == SEND_INDICATION)
		return route_drop(plan, TURN_DROP_NO_ALLOCATION);
	route_stun(s, v, plan, side);
}

// A datagram of a client that has the allocation v->slot, or has no allocation.
static void route_own(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
	// RFC 8656 section 12, table 3: a first byte of 0..3 is STUN, 64..79 is ChannelData. Up to
	// 127 it is ChannelData of RFC 5766 clients; the channel may be unbound, but the datagram
	// cannot be anything else.
	if (v->len > 0 && (v->data[0] & 0xc0) == 0x40) {
		if (v->slot == TURN_NONE)
			return route_drop(plan, TURN_DROP_NO_ALLOCATION);
		return relay_channel_data(s, v, plan);
	}
	if (v->len > 0 && v->data[0] <= 3)
		return route_stun(s, v, plan, side);
	route_drop(plan, TURN_DROP_NOT_TURN);
}

static inline void tuple_used(struct turn_shard *s, const struct turn_view *v)
{
#define X(may_move, leave, used) used(s, v->slot, v);
	TURN_TUPLES(X)
#undef X
}

// Routes a datagram whose line has a state of a feature, by the allocation that this line leads to.
// False if the line has another state.
static bool route_line(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
#define X(state, find, due)                                                    \
	if (line_state(alloc_at(s, v->slot)) == state) {                       \
		v->slot = ipv4_half(s, find(s, v->slot));                      \
		route_own(s, v, plan, side);                                   \
		if (plan->verdict == TURN_RELAY || plan->verdict == TURN_SEND) \
			tuple_used(s, v);                                      \
		return true;                                                   \
	}
	TURN_LINES(X)
#undef X
	return false;
}

static void route_client(struct turn_shard *s, struct turn_view *v, uint32_t epoch,
	struct turn_plan *plan, struct turn_side *side)
{
	v->slot = client_slot(s, v, epoch);
	if (v->slot != TURN_NONE && line_state(alloc_at(s, v->slot)) >= ALLOC_REDIRECT) {
		struct turn_line *l = alloc_at(s, v->slot);

		if (alloc_is_tcp(s, v->slot))
			return route_tcp(s, v, plan, side);
		if (route_line(s, v, plan, side))
			return;
		if (v->via == TURN_NO_WORKER && *redirect_until(l) > s->now_ms) {
			*plan = (struct turn_plan){.verdict = TURN_HANDOVER, .flow = l->channel};
			return;
		}
		redirect_end(s, v->slot);
		v->slot = TURN_NONE;
	}
	route_own(s, v, plan, side);
}

// Writes to front (at most 48 bytes) the bytes that precede the data of a peer's datagram in a Data
// indication; returns their length, 36 or 48.
static uint16_t data_indication(struct turn_shard *s, const struct turn_view *v, uint8_t *front)
{
	struct endpoint peer = {v->src, v->src_port};
	uint8_t tid[16];

	if (v->inside == TURN_INSIDE_RELAYED) // the peer is one of our relayed transport addresses
		peer.addr = external_told(&s->policy->external, &peer.addr);
	turn_tids_next(&s->tids, tid);
	return stun_data_indication(front, tid, &peer, v->len);
}

// A datagram from a peer that has a permission but no channel (RFC 8656 11.3).
static void relay_data_indication(struct turn_shard *s, const struct turn_view *v,
	struct turn_plan *plan, struct turn_side *side)
{
	if (v->len > TURN_DATA_MAX)
		return route_drop(plan, TURN_DROP_PEER_OVERSIZE);
	plan_relay(plan, v->slot | FLOW_CLIENT, 0, v->len);
	plan->front_len = data_indication(s, v, side->front);
}

// Further checks of a peer, needed with shared relay ports or several realms. On TURN_OK, v->slot
// is the allocation that the datagram belongs to.
static enum turn_drop ask_peer(struct turn_shard *s, struct turn_view *v)
{
#define X(look_up, ask, find, send) \
	if (shard_shares_ports(s))  \
		return ask(s, v);
	TURN_PEERS(X)
#undef X
	// realms may have peers with equal addresses, each reached through a different pool
	if (v->inside == TURN_INSIDE_NO && slot_live(s, v->slot) &&
		peers_permission_live(s, v->slot, &v->src) &&
		!relay_pools_takes(&alloc_policy(s, v->slot)->relay_pools,
			alloc_relay_index(s, v->slot), &v->src, v->source))
		return TURN_DROP_PEER_OTHER_POOL;
	return TURN_OK;
}

// A datagram from a peer to the relayed transport address of v->slot (RFC 8656 11.3, 12.5).
static void route_peer(
	struct turn_shard *s, struct turn_view *v, struct turn_plan *plan, struct turn_side *side)
{
	const struct endpoint peer = {v->src, v->src_port};
	uint32_t channel;

	if (unlikely(s->peers_asked)) {
		const enum turn_drop reason = ask_peer(s, v);

		if (reason != TURN_OK)
			return route_drop(plan, reason);
	}
	if (line_has(s, v->slot, &peer) && alloc_at(s, v->slot)->channel == 0)
		return relay_data_indication(s, v, plan, side);
	if (!slot_live(s, v->slot))
		return route_drop(plan,
			v->inside == TURN_INSIDE_RELAYED ? TURN_DROP_HAIRPIN_NO_ALLOCATION
							 : TURN_DROP_PEER_NO_ALLOCATION);
	if (!peers_permission_live(s, v->slot, &v->src))
		return route_drop(plan, TURN_DROP_PEER_NO_PERMISSION);
	if (v->inside == TURN_INSIDE_PROGRAM &&
		!turn_shard_inside(s, v->slot, &v->src, TURN_INSIDE_PROGRAM))
		return route_drop(plan, TURN_DROP_PEER_OWN);
	channel = peers_channel_by_peer(s, v->slot, &peer);
	if (channel == TURN_NONE)
		peer_passed_over(s, v->slot, &peer);
	if (channel == TURN_NONE || !peers_channel_live(s, channel))
		return relay_data_indication(s, v, plan, side);
	passed_over(s, v->slot, channel);
	plan_relay(plan, v->slot | FLOW_CLIENT, 0, v->len);
	plan->front_len = CHANNEL_HEADER_LEN;
	plan->channel = s->channel[channel].number;
}

// Plans a datagram that turn_line_vouches has accepted (turn_line.h).
static void route_usual(
	const struct turn_view *v, const struct turn_line *l, struct turn_plan *plan)
{
	if (v->leg == TURN_FROM_CLIENT)
		return plan_relay(plan, v->slot | FLOW_PEER, CHANNEL_HEADER_LEN,
			(uint16_t)(v->len - CHANNEL_HEADER_LEN));
	plan_relay(plan, v->slot | FLOW_CLIENT, 0, v->len);
	plan->front_len = CHANNEL_HEADER_LEN;
	plan->channel = __builtin_bswap16(l->channel);
}

void turn_route_finish(struct turn_shard *s, struct turn_burst *b, unsigned int i)
{
	struct turn_view *v = &b->view[i];

	if (v->len >= CHANNEL_HEADER_LEN && v->slot != TURN_NONE &&
		turn_line_vouches(alloc_at(s, v->slot), v, v->leg, s->tick)) {
		route_usual(v, alloc_at(s, v->slot), &b->plan);
	} else if (v->leg == TURN_FROM_PEER) {
		route_peer(s, v, &b->plan, &b->side);
	} else {
		route_client(s, v, b->epoch, &b->plan, &b->side);
	}
#define X(judge) judge(s, v, &b->plan);
	TURN_PLANNED(X)
#undef X
	if (b->plan.verdict == TURN_RELAY || b->plan.verdict == TURN_SEND) {
		turn_line_add(alloc_at(s, v->slot), v->leg, b->plan.len);
		turn_line_added(s, alloc_at(s, v->slot), v->slot, v->leg);
	} else if (b->plan.verdict == TURN_DROP) {
		usage_refused(s, v->slot, b->plan.reason);
	}
}

static void path_to_client(struct turn_shard *s, uint32_t slot, struct turn_path *out)
{
	struct turn_line *l = alloc_at(s, slot);

	out->src = s->listener[line_listener(l)].endpoint;
	out->dst = (struct endpoint){l->end[TURN_FROM_CLIENT], line_port(l, TURN_FROM_CLIENT)};
	out->hop = turn_has_roamed(s, slot) ? NULL : &l->hop[TURN_FROM_CLIENT];
}

static void path_to_peer(struct turn_shard *s, uint32_t slot, struct turn_path *out)
{
	struct turn_line *l = alloc_at(s, slot);

	out->src = alloc_source(s, slot, &l->end[TURN_FROM_PEER]);
	out->dst = (struct endpoint){l->end[TURN_FROM_PEER], line_port(l, TURN_FROM_PEER)};
	out->hop = &l->hop[TURN_FROM_PEER];
}

static void path_of_channel(const struct turn_shard *s, uint32_t channel, struct turn_path *out)
{
	const struct turn_channel *c = &s->channel[channel];

	out->src = alloc_source(s, c->slot, &s->permission[c->permission].peer);
	out->dst = (struct endpoint){s->permission[c->permission].peer, c->port};
	out->hop = NULL;
}

void turn_route_path(struct turn_shard *s, uint32_t flow, struct turn_path *out)
{
	const uint32_t index = flow & ~FLOW_KIND;

	if ((flow & FLOW_KIND) == FLOW_CLIENT)
		path_to_client(s, index, out);
	else if ((flow & FLOW_KIND) == FLOW_PEER)
		path_to_peer(s, index, out);
	else
		path_of_channel(s, index, out);
}
