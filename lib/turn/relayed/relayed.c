// SPDX-License-Identifier: BSD-3-Clause
// Allocates and frees relayed transport addresses: one for each allocation (relay_ports.c), or some
// that allocations share (TURN_RELAYED).
#include "relayed/relayed.h"
#include "invariant.h"
#include "relayed/relay_map.h"
#include "relayed/relay_ports.h"
#include "shard.h"

#define TRIES 64
#define SHARE_LEAST 2 // always granted, whatever the share: a pair

bool relayed_has_family(const struct turn_shard *s, bool is_v4)
{
#define X(has_family, vacant, take, take_at, give, locate) \
	if (shard_shares_ports(s))                         \
		return has_family(s, is_v4);
	TURN_RELAYED(X)
#undef X
	return relay_map_ports(s->map, is_v4) > 0;
}

// --- shares and vacancies -----------------------------------------------------------------------

// All slots of shared ports count in one share.
static struct share *share_at(struct turn_shard *s, bool is_v4)
{
	return &s->port_share[!shard_shares_ports(s) && is_v4];
}

static bool slot_is_v4(const struct turn_shard *s, uint32_t slot)
{
	return slot < relay_map_slots_v4(s->map, s->worker);
}

// True if a user may have nb more ports of this worker. The share is the greater of two parts: the
// user's limit relative to all ports, and the percentage for pools. So a few allocations find room
// at every worker, and no user can fill a worker by finding out which clients belong to it.
static bool share_allows_ports(struct turn_shard *s, const struct relayed_want *want, uint32_t nb)
{
	struct share *h = share_at(s, want->is_v4);
	const bool shares = shard_shares_ports(s);
	const uint64_t mine = shares ? s->nb_slots : relay_ports_all(s->ports, want->is_v4);
	const uint64_t all = shares ? mine * s->workers : relay_map_ports(s->map, want->is_v4);
	const uint64_t part = (want->per_user * mine + all - 1) / all;
	const uint64_t least = mine * s->percent / 100;

	if (want->per_user == 0)
		return true;
	h->most = (uint32_t)(part > least ? part : least);
	h->most = h->most > SHARE_LEAST ? h->most : SHARE_LEAST;
	return share_fits(h, want->user, 0, nb);
}

static void tell_family(struct turn_shard *s, bool is_v4)
{
	struct vacancy_family f = {0};

#define X(has_family, vacant, take, take_at, give, locate) \
	if (shard_shares_ports(s))                         \
		vacant(s, &f);
	TURN_RELAYED(X)
#undef X
	if (!shard_shares_ports(s))
		relay_ports_vacant(s->ports, is_v4, &f);
	vacancy_tell(&relay_map_vacancies(s->map)[s->worker], is_v4, &f);
}

void relayed_tell(struct turn_shard *s)
{
	tell_family(s, false);
	tell_family(s, true);
}

// Publishes the vacancies after a slot was allocated or freed; a slot of shared ports counts in
// both families.
static void tell_of(struct turn_shard *s, bool is_v4)
{
	tell_family(s, is_v4);
	if (shard_shares_ports(s))
		tell_family(s, !is_v4);
}

static void count_taken(struct turn_shard *s, uint32_t slot, uint64_t user)
{
	const bool is_v4 = slot_is_v4(s, slot);

	share_take(share_at(s, is_v4), user, 0);
	tell_of(s, is_v4);
}

static void count_given(struct turn_shard *s, uint32_t slot, uint64_t user)
{
	const bool is_v4 = slot_is_v4(s, slot);
	struct share *h = share_at(s, is_v4);

	share_give(h, user, 1);
	share_round(h); // the share does not decide when a port may be allocated again
	tell_of(s, is_v4);
}

void relayed_pass(struct turn_shard *s, uint32_t slot, uint64_t old_user, uint64_t new_user)
{
	count_given(s, slot, old_user);
	count_taken(s, slot, new_user);
}

// --- taking and giving --------------------------------------------------------------------------

// Allocates a port of an address that this box still has. The choice is among all ports: if one of
// two addresses is lost, all tries fail once in 2^TRIES.
static enum turn_refusal take_unique(
	struct turn_shard *s, const struct relay_ports_want *want, uint32_t *slot)
{
	for (unsigned int i = 0; i < TRIES; i++) {
		uint16_t port;

		if (!relay_ports_take(s->ports, want, slot, &s->stats.port_reused_early))
			return TURN_REFUSED_NO_PORT;
		if (!turn_relay_map_lost(
			    s->map, turn_relay_map_locate(s->map, s->worker, *slot, &port)))
			return TURN_GRANTED;
		relay_ports_give_unused(s->ports, *slot);
		if (want->kind == RELAY_PORTS_PAIR)
			relay_ports_give_unused(s->ports, *slot + 1);
	}
	return TURN_REFUSED_RELAY_LOST;
}

// relayed_take() without shares.
static enum turn_refusal take_address(
	struct turn_shard *s, const struct relayed_want *want, uint32_t *slot)
{
	const struct relay_ports_want ports = {.is_v4 = want->is_v4,
		.kind = want->kind,
		.quarantine_s = s->policy->quarantine_s,
		.now_ms = s->now_ms};

#define X(has_family, vacant, take, take_at, give, locate) \
	if (shard_shares_ports(s))                         \
		return take(s, want->is_v4, slot);
	TURN_RELAYED(X)
#undef X
	return take_unique(s, &ports, slot);
}

enum turn_refusal relayed_take(
	struct turn_shard *s, const struct relayed_want *want, uint32_t *slot)
{
	const uint32_t nb = want->kind == RELAY_PORTS_PAIR ? 2 : 1;
	enum turn_refusal refusal;

	if (!share_allows_ports(s, want, nb))
		return TURN_REFUSED_PORT_SHARE;
	refusal = take_address(s, want, slot);
	for (uint32_t i = 0; i < nb && refusal == TURN_GRANTED; i++)
		count_taken(s, *slot + i, want->user);
	return refusal;
}

// relayed_take_at() without counting.
static enum turn_refusal take_at(struct turn_shard *s, uint32_t index, uint32_t *slot)
{
	uint16_t port;

#define X(has_family, vacant, take, take_at, give, locate) \
	if (shard_shares_ports(s))                         \
		return take_at(s, index, slot);
	TURN_RELAYED(X)
#undef X
	if (turn_relay_map_lost(s->map, turn_relay_map_locate(s->map, s->worker, index, &port)))
		return TURN_REFUSED_RELAY_LOST;
	*slot = index;
	return relay_ports_take_slot(s->ports, index) ? TURN_GRANTED : TURN_REFUSED_NO_PORT;
}

enum turn_refusal relayed_take_at(
	struct turn_shard *s, uint32_t index, uint64_t user, uint32_t *slot)
{
	const enum turn_refusal refusal = take_at(s, index, slot);

	if (refusal == TURN_GRANTED)
		count_taken(s, *slot, user);
	return refusal;
}

static void give_shared(struct turn_shard *s, uint32_t slot)
{
#define X(has_family, vacant, take, take_at, give, locate) give(s, slot);
	TURN_RELAYED(X)
#undef X
}

void relayed_give(struct turn_shard *s, uint32_t slot, uint64_t user)
{
	if (shard_shares_ports(s))
		give_shared(s, slot);
	else
		relay_ports_give(s->ports, slot, s->now_ms);
	count_given(s, slot, user);
}

void relayed_give_unused(struct turn_shard *s, uint32_t slot, uint64_t user)
{
	if (shard_shares_ports(s))
		give_shared(s, slot);
	else
		relay_ports_give_unused(s->ports, slot);
	count_given(s, slot, user);
}

uint32_t relayed_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port)
{
#define X(has_family, vacant, take, take_at, give, locate) \
	if (shard_shares_ports(s))                         \
		return locate(s, slot, port);
	TURN_RELAYED(X)
#undef X
	return turn_relay_map_locate(s->map, s->worker, slot, port);
}
