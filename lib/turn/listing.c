// SPDX-License-Identifier: BSD-3-Clause
// The allocations of a shard as an operator sees them: filters, pages, sort keys, details, and
// ending some. A walk goes by slot, so allocations that begin or end meanwhile do not shift its
// position.
#include "turn_listing.h"
#include "limits/quota.h"
#include "relayed/external.h"
#include "shard.h"

#define COSTLY 8 // budget of a peer look-up, and the minimum for ending an allocation

// --- filters -------------------------------------------------------------------------------------

// The ID that follows the expiry of a REST name, or NULL.
static const char *rest_id(const char *name)
{
	const size_t digits = strspn(name, "0123456789");

	return digits > 0 && name[digits] == ':' && name[digits + 1] != '\0' ? name + digits + 1
									     : NULL;
}

static bool user_of(const struct turn_quota *q, struct stun_crypto *c,
	const struct turn_listing_name *name, uint64_t *out)
{
	uint8_t userhash[32];

	if (!stun_userhash(c, name->user, strlen(name->user), name->realm, userhash))
		return false;
	*out = quota_user(q, name->number, userhash);
	return true;
}

static bool ident_of(
	struct turn_filter *f, struct stun_crypto *c, const struct turn_listing_name *name)
{
	uint8_t userhash[32];

	if (!stun_userhash(c, name->user, strlen(name->user), name->realm, userhash))
		return false;
	memcpy(f->ident, userhash, sizeof(f->ident));
	return true;
}

bool turn_listing_user(struct turn_filter *f, const struct turn_quota *q, struct stun_crypto *c,
	const struct turn_listing_name *name)
{
	const char *id = rest_id(name->user);
	struct turn_listing_name short_name = *name;

	if (id != NULL)
		short_name.user = id;
	f->wants |= TURN_FILTER_USER;
	// a configured user may have a name of that form: then the whole name counts
	return user_of(q, c, name, &f->user[0]) && user_of(q, c, &short_name, &f->user[1]) &&
		ident_of(f, c, name);
}

// Permissions have no port (RFC 8656 9); a channel has one.
static bool has_peer(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	return (peer->port == 0 ? peers_permission_find(s, slot, &peer->addr)
				: peers_channel_by_peer(s, slot, peer)) != TURN_NONE;
}

static bool has_user(const struct turn_shard *s, const struct turn_filter *f, uint32_t slot)
{
	const uint64_t user = cold_at(s, slot)->quota_user;

	if (alloc_by_token(s, slot))
		return alloc_client_who(s, slot) == alloc_who(s, f->ident);
	return user == f->user[0] || user == f->user[1];
}

static bool matches_filter(const struct turn_shard *s, const struct turn_filter *f, uint32_t slot)
{
	const uint64_t user = cold_at(s, slot)->quota_user;

	if ((f->wants & TURN_FILTER_ID) != 0 && alloc_id(s, slot) != f->id)
		return false;
	if ((f->wants & TURN_FILTER_REALM) != 0 && quota_realm(user) != f->realm)
		return false;
	if ((f->wants & TURN_FILTER_USER) != 0 && !has_user(s, f, slot))
		return false;
	if ((f->wants & TURN_FILTER_CLIENT) != 0 &&
		!addr_prefix_contains(&f->client, &alloc_at(s, slot)->end[TURN_FROM_CLIENT]))
		return false;
	if ((f->wants & TURN_FILTER_TRANSPORT) != 0 && alloc_transport(s, slot) != f->transport)
		return false;
	return (f->wants & TURN_FILTER_PEER) == 0 || has_peer(s, slot, &f->peer);
}

// --- the walk ------------------------------------------------------------------------------------

// Jumps to a position from which few allocations must be skipped one by one.
static void walk_jump(const struct turn_shard *s, const struct turn_filter *f, struct turn_walk *w)
{
	if ((f->wants & TURN_FILTER_ID) != 0 && w->slot == 0) {
		w->slot = (uint32_t)(f->id >> 32) & ((UINT32_C(1) << 26) - 1);
	} else if (f->wants == 0 && w->slot == 0 && w->skip > 0) {
		const uint32_t skipped = w->skip < s->live.used ? w->skip : s->live.used;

		w->skip -= skipped;
		w->slot = skipped < s->live.used ? bitset_nth(&s->live, skipped) : s->nb_slots;
	}
}

// The next allocation that matches the filter; TURN_NONE at the end, or if the budget is used up.
static uint32_t walk_next(const struct turn_shard *s, const struct turn_filter *f,
	struct turn_walk *w, unsigned int *budget)
{
	const unsigned int cost = (f->wants & TURN_FILTER_PEER) != 0 ? COSTLY : 1;

	walk_jump(s, f, w);
	while (*budget >= cost) {
		const uint32_t slot = bitset_next(&s->live, w->slot, s->nb_slots);

		if (slot == s->nb_slots || w->end) {
			w->end = true;
			break;
		}
		*budget -= cost;
		w->slot = slot + 1;
		w->end = (f->wants & TURN_FILTER_ID) != 0;
		if (!matches_filter(s, f, slot))
			continue;
		if (w->skip == 0)
			return slot;
		w->skip--;
	}
	return TURN_NONE;
}

// --- rows ----------------------------------------------------------------------------------------

static void info_fill(const struct turn_shard *s, uint32_t slot, struct turn_info *out)
{
	const struct turn_line *l = alloc_at(s, slot);
	const struct turn_cold *c = cold_at(s, slot);
	const uint32_t sibling = alloc_sibling(s, slot);

	*out = (struct turn_info){.id = alloc_id(s, slot),
		.sibling = sibling != TURN_NONE ? alloc_id(s, sibling) : 0,
		.client = {l->end[TURN_FROM_CLIENT], line_port(l, TURN_FROM_CLIENT)},
		.relay = alloc_relay(s, slot),
		.expires_s = (alloc_left(s, slot) + 999) / 1000,
		.permissions = c->nb_permissions,
		.channels = c->nb_channels,
		.quota_user = c->quota_user,
		.age_s = (uint32_t)(s->now_ms / 1000) - s->usage[slot].made_s,
		.listener = line_listener(l),
		.transport = alloc_transport(s, slot),
		.rest = c->rest,
		.realm = alloc_realm(s, slot),
		.is_tcp = alloc_is_tcp(s, slot)};
#define X(usage, info) info(s, slot, out);
	TURN_SHOWN(X)
#undef X
	usage_of(s, slot, &out->usage);
	out->told = out->relay;
	out->told.addr = external_told(&s->policy->external, &out->relay.addr);
	memcpy(out->user, c->name, c->name_len);
}

unsigned int turn_listing_rows(const struct turn_shard *s, const struct turn_filter *f,
	struct turn_walk *w, struct turn_info *out, unsigned int max)
{
	unsigned int budget = TURN_WALK_BUDGET, n = 0;
	uint32_t slot;

	while (n < max && (slot = walk_next(s, f, w, &budget)) != TURN_NONE)
		info_fill(s, slot, &out[n++]);
	return n;
}

static uint64_t sort_value(const struct turn_shard *s, uint32_t slot, enum turn_sort sort)
{
	struct turn_usage u;

	if (sort == TURN_SORT_AGE)
		return (uint32_t)(s->now_ms / 1000) - s->usage[slot].made_s;
	usage_of(s, slot, &u);
	return sort == TURN_SORT_BYTES ? u.leg[0].bytes + u.leg[1].bytes
				       : u.leg[0].datagrams + u.leg[1].datagrams;
}

unsigned int turn_listing_keys(const struct turn_shard *s, const struct turn_filter *f,
	struct turn_walk *w, const struct turn_listing_keys *keys)
{
	unsigned int budget = TURN_WALK_BUDGET, n = 0;
	uint32_t slot;

	while (n < keys->max && (slot = walk_next(s, f, w, &budget)) != TURN_NONE)
		keys->out[n++] = (struct turn_key){alloc_id(s, slot),
			sort_value(s, slot, keys->sort), cold_at(s, slot)->quota_user};
	return n;
}

unsigned int turn_listing_kill(
	struct turn_shard *s, const struct turn_filter *f, struct turn_walk *w, unsigned int max)
{
	unsigned int budget = TURN_WALK_BUDGET, n = 0, cost;
	uint32_t slot;

	while (budget >= COSTLY && n < max && shard_has_notes(s) &&
		(slot = walk_next(s, f, w, &budget)) != TURN_NONE) {
		const uint32_t sibling = alloc_sibling(s, slot);

		if (sibling != TURN_NONE && n + 2 > max) { // both in this call, or neither
			w->slot = slot;
			w->end = false;
			break;
		}
		cost = alloc_end_cost(s, slot) +
			(sibling != TURN_NONE ? alloc_end_cost(s, sibling) : 0);
		n += sibling != TURN_NONE ? 2 : 1;
		alloc_end_client(s, slot, TURN_END_KILLED);
		budget -= budget < cost ? budget : cost;
	}
	return n;
}

// --- details of one allocation -------------------------------------------------------------------

// The number of rows still to skip, and the output.
struct part {
	const struct turn_shard *s;
	struct turn_detail *out;
	unsigned int skip_permissions, skip_channels;
};

static uint32_t left_s(const struct turn_shard *s, uint32_t until)
{
	return (ms_left(until, s->now_ms) + 999) / 1000;
}

static void permissions_fill(struct part *p, uint32_t i)
{
	struct turn_detail *d = p->out;
	const struct turn_permission *m;

	if (i == TURN_NONE || d->nb_permissions == TURN_DETAIL_ROWS)
		return;
	m = &p->s->permission[i];
	if (p->skip_permissions > 0)
		p->skip_permissions--;
	else
		d->permission[d->nb_permissions++] =
			(struct turn_permission_info){m->peer, left_s(p->s, m->until)};
	permissions_fill(p, m->links.child[0]);
	permissions_fill(p, m->links.child[1]);
}

static void channels_fill(struct part *p, uint32_t i)
{
	struct turn_detail *d = p->out;
	const struct turn_channel *c;

	if (i == TURN_NONE || d->nb_channels == TURN_DETAIL_ROWS)
		return;
	c = &p->s->channel[i];
	if (p->skip_channels > 0)
		p->skip_channels--;
	else
		d->channel[d->nb_channels++] =
			(struct turn_channel_info){{p->s->permission[c->permission].peer, c->port},
				left_s(p->s, c->until), c->number};
	channels_fill(p, c->by_number.child[0]);
	channels_fill(p, c->by_number.child[1]);
}

bool turn_listing_show(
	const struct turn_shard *s, uint64_t id, unsigned int skip, struct turn_detail *out)
{
	const uint32_t slot = (uint32_t)(id >> 32) & ((UINT32_C(1) << 26) - 1);
	struct part p = {s, out, skip, skip};
	const struct turn_line *l;
	const struct turn_cold *c;

	if (slot >= s->nb_slots || !bitset_has(&s->live, slot) || alloc_id(s, slot) != id)
		return false;
	l = alloc_at(s, slot);
	c = cold_at(s, slot);
	*out = (struct turn_detail){.via = c->via,
		.algorithm = c->alg == CRED_KEY ? STUN_ALG_MD5 : c->alg,
		.rfc8489 = c->rfc8489,
		.token = c->has_token};
	info_fill(s, slot, &out->info);
	if (line_copies(l, s->tick)) {
		out->copy = (struct endpoint){l->end[TURN_FROM_PEER], line_port(l, TURN_FROM_PEER)};
		out->copy_channel = __builtin_bswap16(l->channel);
	}
	permissions_fill(&p, c->permissions);
	channels_fill(&p, c->channels);
	return true;
}
