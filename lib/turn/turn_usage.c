// SPDX-License-Identifier: BSD-3-Clause
// Counts of relayed and lost datagrams: the usage records behind the lines, and the classes of
// losses.
#include "turn_usage.h"
#include "shard.h"
#include "turn_drop.h"
#include "usage.h"

// --- classes -------------------------------------------------------------------------------------

static const char *const losses[] = {
#define X(id, name) [id] = name,
	TURN_LOSSES(X)
#undef X
};

const char *turn_loss_name(unsigned int loss)
{
	return loss < TURN_LOSS_END ? losses[loss] : NULL;
}

// Class + 1; 0 = belongs to no allocation, or is not data: a request, a keepalive, an ICMP error.
static const uint8_t loss_of[TURN_DROP_END] = {
	[TURN_DROP_NOT_TURN] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_MALFORMED] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_FINGERPRINT] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_METHOD] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_UNKNOWN_ATTRIBUTE] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_INDICATION] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_CHANNEL_LENGTH] = TURN_LOSS_OTHER + 1,
	[TURN_DROP_CHANNEL_UNBOUND] = TURN_LOSS_PERMISSION + 1,
	[TURN_DROP_NO_PERMISSION] = TURN_LOSS_PERMISSION + 1,
	[TURN_DROP_PEER_DENIED] = TURN_LOSS_PERMISSION + 1,
	[TURN_DROP_PEER_NO_PERMISSION] = TURN_LOSS_PERMISSION + 1,
	[TURN_DROP_PEER_OWN] = TURN_LOSS_PERMISSION + 1,
	[TURN_DROP_PEER_OTHER_POOL] = TURN_LOSS_PERMISSION + 1,
	[TURN_DROP_SHARED_COLLISION] = TURN_LOSS_LIMIT + 1,
	[TURN_DROP_SHARED_FULL] = TURN_LOSS_LIMIT + 1,
	[TURN_DROP_SHARED_SHARE] = TURN_LOSS_LIMIT + 1,
	[TURN_DROP_PEER_OVERSIZE] = TURN_LOSS_SIZE + 1,
	[TURN_DROP_HAIRPIN_NO_ALLOCATION] = TURN_LOSS_WAY + 1, // counts for the sender's allocation
	[TURN_DROP_ALLOCATION_RATE] = TURN_LOSS_ALLOCATION + 1,
	[TURN_DROP_USER_RATE] = TURN_LOSS_USER + 1,
	[TURN_DROP_REALM_RATE] = TURN_LOSS_REALM + 1,
};

unsigned int turn_loss_of(unsigned int drop)
{
	return drop < TURN_DROP_END && loss_of[drop] != 0 ? loss_of[drop] - 1u : TURN_LOSS_END;
}

// --- records -------------------------------------------------------------------------------------

static struct usage *usage_at(const struct turn_shard *s, uint32_t slot)
{
	return &s->usage[slot];
}

void usage_begin(struct turn_shard *s, uint32_t slot, uint32_t age_s)
{
	const uint32_t now_s = (uint32_t)(s->now_ms / 1000);

	*usage_at(s, slot) = (struct usage){.made_s = now_s - age_s, .told_s = (uint16_t)now_s};
}

void usage_of(const struct turn_shard *s, uint32_t slot, struct turn_usage *out)
{
	const struct turn_line *l = alloc_at(s, slot);
	const struct usage *u = usage_at(s, slot);

	for (unsigned int leg = 0; leg < 2; leg++) {
		const struct line_count c = line_count(l, leg);

		out->leg[leg].datagrams =
			u->datagrams[leg] * (uint64_t)TURN_SPILL_DATAGRAMS + c.datagrams;
		out->leg[leg].bytes = u->bytes[leg] * (uint64_t)TURN_SPILL_BYTES + c.bytes;
	}
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		out->lost[i] = i < TURN_LOSS_KEPT ? u->lost[i] : 0;
#define X(usage, info) usage(s, slot, out);
	TURN_SHOWN(X)
#undef X
}

static void count_loss(struct turn_shard *s, uint32_t slot, unsigned int loss)
{
	uint16_t *lost;

	sums_of(s, slot)->lost[loss]++;
	if (loss >= TURN_LOSS_KEPT) {
#define X(lost) lost(s, slot, loss);
		TURN_MORE_LOSSES(X)
#undef X
		return;
	}
	lost = &usage_at(s, slot)->lost[loss];
	*lost = (uint16_t)(*lost + (*lost != UINT16_MAX));
}

void usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop)
{
	const unsigned int loss = turn_loss_of(drop);

	if (loss != TURN_LOSS_END && slot < s->nb_slots &&
		line_state(alloc_at(s, slot)) == ALLOC_LIVE && alloc_left(s, slot) > 0)
		count_loss(s, slot, loss);
}

void turn_usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop)
{
	usage_refused(s, slot, drop);
}

uint32_t turn_usage_number(const struct turn_shard *s, uint32_t slot)
{
	return cold_at(s, slot)->made;
}

void turn_usage_lost(struct turn_shard *s, const struct turn_relayed *r, enum turn_loss loss)
{
	struct turn_line *l = alloc_at(s, r->slot);
	struct usage *u = usage_at(s, r->slot);
	struct line_count c = line_count(l, r->leg);

	// the last event of an ended allocation is already sent, and its realm is no longer known
	if (line_state(l) != ALLOC_LIVE)
		return;
	if (c.bytes < r->bytes) {
		u->bytes[r->leg]--;
		c.bytes += TURN_SPILL_BYTES;
		sums_ahead_of(s, r->slot)->bytes[r->leg] += TURN_SPILL_BYTES;
	}
	if (c.datagrams == 0) {
		u->datagrams[r->leg]--;
		c.datagrams = TURN_SPILL_DATAGRAMS;
		sums_ahead_of(s, r->slot)->datagrams[r->leg] += TURN_SPILL_DATAGRAMS;
	}
	c.bytes -= r->bytes;
	c.datagrams--;
	line_set_count(l, r->leg, c);
	count_loss(s, r->slot, loss);
}

void turn_usage_unplanned(struct turn_shard *s, const struct turn_view *v, enum turn_loss loss)
{
	const struct turn_line *l;

	if (v->slot >= s->nb_slots)
		return;
	l = alloc_at(s, v->slot);
	if (line_state(l) == ALLOC_LIVE && addr_eq(&l->end[TURN_FROM_CLIENT], &v->src) &&
		((l->mark[TURN_FROM_CLIENT] ^ v->mark) & TURN_MARK_CLIENT) == 0)
		count_loss(s, v->slot, loss);
}
