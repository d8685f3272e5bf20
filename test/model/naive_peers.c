// SPDX-License-Identifier: BSD-3-Clause
// Permissions, channels and what passes through them: RFC 8656 sections 9 to 12.
#include "naive.h"

#include <stdio.h>

static bool live(const struct naive *n, uint64_t until_ms)
{
	return n->now_ms < until_ms;
}

static struct naive_permission *permission_of(
	const struct naive *n, struct naive_hold *h, const struct addr *peer)
{
	for (unsigned int i = 0; i < h->nb_permissions; i++)
		if (addr_eq(&h->permission[i].peer, peer))
			return &h->permission[i];
	return NULL;
}

bool naive_permitted(const struct naive *n, const struct naive_hold *h, const struct addr *peer)
{
	for (unsigned int i = 0; i < h->nb_permissions; i++)
		if (addr_eq(&h->permission[i].peer, peer) && live(n, h->permission[i].until_ms))
			return true;
	return false;
}

static const struct naive_channel *channel_to(
	const struct naive *n, const struct naive_hold *h, const struct endpoint *peer)
{
	for (unsigned int i = 0; i < h->nb_channels; i++)
		if (endpoint_eq(&h->channel[i].peer, peer) && live(n, h->channel[i].until_ms))
			return &h->channel[i];
	return NULL;
}

static const struct naive_channel *channel_numbered(
	const struct naive *n, const struct naive_hold *h, uint16_t number)
{
	for (unsigned int i = 0; i < h->nb_channels; i++)
		if (h->channel[i].number == number && live(n, h->channel[i].until_ms))
			return &h->channel[i];
	return NULL;
}

// The client's allocation with a relayed transport address of a peer's family; NULL = none.
static struct naive_hold *hold_for(struct naive *n, const struct op *op, const struct addr *a)
{
	return naive_of_family(n, op->client, addr_is_v4(a));
}

static bool out_of_reach(const struct naive *n, const struct model_peer *p)
{
	return p->class == PEER_FAR && n->config->nb_routes > 0;
}

// True if peer i of a request is named by an address that other hosts have, too.
static bool is_common(const struct naive *n, const struct op *op, unsigned int i)
{
	const struct model_peer *p = &n->w->peer[op->peer[i]];

	return n->w->common &&
		(p->class == PEER_BESIDE ||
			(addr_is_v4(&p->canonical) && model_peer_public(n->w, op, i)));
}

// The addresses that permit peer i of a request: for a common address also its relay addresses.
static unsigned int permitted_by(
	const struct naive *n, const struct op *op, unsigned int i, struct addr out[2])
{
	unsigned int nb = 0;

	if (!is_common(n, op, i)) {
		out[nb++] = n->w->peer[op->peer[i]].canonical;
		return nb;
	}
	if (n->config->hairpin)
		out[nb++] = n->w->local[0].addr;
	out[nb++] = n->w->local[0].external;
	return nb;
}

// Permissions cover all ports of an address; other hosts have some of these ports if it is common.
static bool is_refused(const struct naive *n, const struct op *op, unsigned int i)
{
	const struct model_peer *p = &n->w->peer[op->peer[i]];
	const bool others = op->kind == OP_PERMIT && is_common(n, op, i);

	return p->class == PEER_FORBIDDEN || out_of_reach(n, p) ||
		(p->class == PEER_OWN && !n->config->hairpin && !others);
}

// Adds the codes that refuse peer i of a request, for any method. An IPv4 address written as an
// IPv6 address may be accepted for its meaning or refused for its form.
static void peer_codes(
	struct naive *n, const struct op *op, unsigned int i, struct naive_set *allowed)
{
	const struct model_peer *p = &n->w->peer[op->peer[i]];

	if (op->peer_malformed[i]) {
		naive_may(allowed, 400);
		return;
	}
	if (hold_for(n, op, &p->canonical) == NULL || p->encoded)
		naive_may(allowed, 443);
	if (is_refused(n, op, i))
		naive_may(allowed, 403);
}

static bool encoded_only(struct naive *n, const struct op *op)
{
	bool any = false;

	for (unsigned int i = 0; i < op->nb_peers; i++) {
		const struct model_peer *p = &n->w->peer[op->peer[i]];

		if (op->peer_malformed[i] || hold_for(n, op, &p->canonical) == NULL ||
			is_refused(n, op, i))
			return false;
		any = any || p->encoded;
	}
	return any;
}

// Number of existing permissions and of those that a request adds, as minimum and maximum: expired
// ones may not have been swept.
struct room {
	unsigned int sure, most;
};

static struct room permissions_after(
	const struct naive *n, const struct naive_hold *h, const struct op *op)
{
	struct room r = {0, h->nb_permissions};
	struct addr all[2 * MODEL_OP_PEERS];
	unsigned int nb = 0;

	for (unsigned int i = 0; i < h->nb_permissions; i++)
		r.sure += live(n, h->permission[i].until_ms);
	for (unsigned int i = 0; i < op->nb_peers; i++)
		nb += permitted_by(n, op, i, &all[nb]);
	for (unsigned int i = 0; i < nb; i++) {
		const struct addr *a = &all[i];
		bool again = addr_is_v4(a) != addr_is_v4(&h->relay.addr), kept = false;

		for (unsigned int k = 0; k < i; k++)
			again = again || addr_eq(a, &all[k]);
		for (unsigned int k = 0; k < h->nb_permissions; k++)
			kept = kept || addr_eq(a, &h->permission[k].peer);
		if (!again) {
			r.sure += !naive_permitted(n, h, a);
			r.most += !kept;
		}
	}
	return r;
}

// True if a pool may refuse. Fairness: no allocation is refused its guaranteed records, whatever
// others have taken; beyond that a pool may be used up.
static bool pool_may_refuse(const struct naive *n, struct room r, unsigned int sure)
{
	return n->config->pools.permissions != MODEL_POOL_AMPLE && r.most > sure;
}

// All or nothing: both halves of a dual allocation must have room.
static void permission_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	const unsigned int limit = n->config->limits.permissions;
	bool fits = true;

	for (int v4 = 0; v4 < 2; v4++) {
		const struct naive_hold *h = naive_of_family(n, op->client, v4);
		const struct room r = h != NULL ? permissions_after(n, h, op) : (struct room){0, 0};

		if (r.most > limit || pool_may_refuse(n, r, n->config->pools.sure_permissions))
			naive_may(allowed, 508);
		fits = fits && r.sure <= limit;
	}
	if (fits)
		naive_may(allowed, 0);
}

void naive_permit_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	if (op->nb_peers == 0)
		naive_may(allowed, 400); // 10.2: "at least one"
	for (unsigned int i = 0; i < op->nb_peers; i++)
		peer_codes(n, op, i, allowed);
	if (allowed->n == 0 || encoded_only(n, op))
		permission_codes(n, op, allowed);
}

// RFC 8656 12: channels are 0x4000 to 0x4FFF. If the configuration says so, clients of RFC 5766,
// which send no PASSWORD-ALGORITHMS back, may use up to 0x7FFF.
static bool number_valid(const struct naive *n, const struct op *op)
{
	const bool old = n->config->rfc5766_channels && op->style == STYLE_PLAIN;

	return op->has_channel && op->channel >= 0x4000 && op->channel <= (old ? 0x7fff : 0x4fff);
}

// RFC 8656 12.2: the number is not bound to another peer, nor the peer to another number. A client
// that bound the peer by its other address did not ask for that, and gets "some capacity limit or
// similar".
static void clash_codes(struct naive *n, const struct op *op, const struct endpoint *peer,
	struct naive_set *allowed)
{
	const struct naive_hold *h = hold_for(n, op, &peer->addr);
	const struct naive_hold *sibling = naive_of_family(n, op->client, !addr_is_v4(&peer->addr));
	const struct naive_channel *by_number, *by_peer;

	if (op->peer_malformed[0] || h == NULL)
		return;
	if (sibling != NULL && channel_numbered(n, sibling, op->channel) != NULL)
		return naive_may(allowed, 400);
	by_number = channel_numbered(n, h, op->channel);
	by_peer = channel_to(n, h, peer);
	if (by_number == by_peer)
		return;
	if (by_number == NULL && by_peer->public != model_peer_public(n->w, op, 0))
		naive_may(allowed, 508);
	else
		naive_may(allowed, 400);
}

void naive_bind_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	const struct model_peer *p = &n->w->peer[op->peer[0]];
	const struct endpoint peer = {p->canonical, p->wire.port};
	const struct naive_hold *h = hold_for(n, op, &peer.addr);
	struct room channels = {1, h != NULL ? h->nb_channels + 1 : 1};

	if (op->nb_peers == 0 || !number_valid(n, op))
		naive_may(allowed, 400);
	if (op->nb_peers == 0)
		return;
	peer_codes(n, op, 0, allowed);
	if (p->wire.port == 0)
		naive_may(allowed, 403);
	clash_codes(n, op, &peer, allowed);
	// Correct, except for the form of an IPv6 address: may be refused for that.
	if (allowed->n != 0 && !(allowed->n == 1 && naive_has(allowed, 443) && encoded_only(n, op)))
		return;
	for (unsigned int i = 0; i < h->nb_channels; i++)
		channels.sure += live(n, h->channel[i].until_ms);
	if (channel_numbered(n, h, op->channel) != NULL)
		channels = (struct room){0, 0};
	if (channels.most > n->config->limits.channels ||
		pool_may_refuse(n, channels, n->config->pools.sure_channels))
		naive_may(allowed, 508);
	if (channels.sure <= n->config->limits.channels)
		permission_codes(n, op, allowed);
}

// Permits an address for at least lifetime_s.
static void permit_one(
	struct naive *n, struct naive_hold *h, const struct addr *peer, uint32_t lifetime_s)
{
	struct naive_permission *p = permission_of(n, h, peer);
	const uint64_t until_ms = n->now_ms + lifetime_s * UINT64_C(1000);

	if (p == NULL) {
		assert_true(h->nb_permissions < NAIVE_RECORDS);
		p = &h->permission[h->nb_permissions++];
		*p = (struct naive_permission){.peer = *peer};
	}
	if (p->until_ms < until_ms)
		p->until_ms = until_ms;
}

static void permit(struct naive *n, const struct op *op, unsigned int i, uint32_t lifetime_s)
{
	struct addr a[2];
	const unsigned int nb = permitted_by(n, op, i, a);

	for (unsigned int k = 0; k < nb; k++)
		permit_one(n, hold_for(n, op, &a[k]), &a[k], lifetime_s);
}

void naive_permit(struct naive *n, const struct op *op)
{
	for (unsigned int i = 0; i < op->nb_peers; i++)
		permit(n, op, i, n->config->limits.permission_s);
}

void naive_bind(struct naive *n, const struct op *op)
{
	const struct model_peer *p = &n->w->peer[op->peer[0]];
	const struct endpoint peer = {p->canonical, p->wire.port};
	struct naive_hold *h = hold_for(n, op, &peer.addr);
	unsigned int kept = 0;

	// It replaces itself, and expired channels with its number or to its peer.
	for (unsigned int i = 0; i < h->nb_channels; i++)
		if (h->channel[i].number != op->channel && !endpoint_eq(&h->channel[i].peer, &peer))
			h->channel[kept++] = h->channel[i];
	assert_true(kept < NAIVE_RECORDS);
	h->channel[kept++] = (struct naive_channel){op->channel, peer,
		n->now_ms + n->config->limits.channel_s * UINT64_C(1000),
		model_peer_public(n->w, op, 0)};
	h->nb_channels = kept;
	permit(n, op, 0, n->config->limits.permission_s);
	permit(n, op, 0, n->config->limits.channel_s); // a deviation, doc/protocol.md
}

void naive_purge(const struct naive *n, struct naive_hold *h)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < h->nb_channels; i++)
		if (n->now_ms < h->channel[i].until_ms + NAIVE_TICK_MS)
			h->channel[kept++] = h->channel[i];
	h->nb_channels = kept;
	kept = 0;
	for (unsigned int i = 0; i < h->nb_permissions; i++)
		if (n->now_ms < h->permission[i].until_ms + NAIVE_TICK_MS)
			h->permission[kept++] = h->permission[i];
	h->nb_permissions = kept;
}

// --- data

static const char *check_payload(const struct op *op, const struct outcome *o)
{
	if (o->len != op->len)
		return "payload of another length";
	for (uint16_t i = 0; i < o->len; i++)
		if (o->payload[i] != model_data(op, i))
			return "payload is not the data";
	return NULL;
}

static const char *not_relayed(const struct outcome *o, const char *target)
{
	static char text[80];

	snprintf(text, sizeof(text), "must go to the %s (verdict %d, drop %s)", target, o->verdict,
		o->reason != TURN_OK ? turn_drop_name(o->reason) : "none");
	return text;
}

// RFC 8656 14: DONT-FRAGMENT sets DF where both sides are IPv4. (Copying it is the data path's.)
static bool df_right(
	const struct naive *n, const struct naive_hold *h, const struct op *op, bool df)
{
	if (!addr_is_v4(&h->relay.addr) || !addr_is_v4(&n->w->client[h->client].endpoint.addr))
		return true;
	return df == (op->kind == OP_SEND && op->df_attribute);
}

static const char *judge_to_peer(struct naive *n, struct naive_hold *h, const struct op *op,
	const struct outcome *o, const struct endpoint *peer)
{
	if (o->verdict != TURN_RELAY && o->verdict != TURN_SEND)
		return not_relayed(o, "peer");
	if (!endpoint_eq(&o->src, &h->relay))
		return "does not leave from the relayed transport address";
	if (!endpoint_eq(&o->dst, peer))
		return "goes to another peer";
	if (!df_right(n, h, op, o->df))
		return "wrong DF";
	h->usage.leg[TURN_FROM_CLIENT].datagrams++;
	h->usage.leg[TURN_FROM_CLIENT].bytes += op->len;
	n->relayed++;
	return check_payload(op, o);
}

// Counts a drop of a client's or peer's datagram for its allocation, by class; h is NULL without an
// allocation.
void naive_lost(struct naive_hold *h, unsigned int reason)
{
	const bool refused = reason == TURN_DROP_NO_PERMISSION ||
		reason == TURN_DROP_PEER_NO_PERMISSION || reason == TURN_DROP_PEER_DENIED ||
		reason == TURN_DROP_CHANNEL_UNBOUND;

	if (h != NULL)
		h->usage.lost[refused ? TURN_LOSS_PERMISSION : TURN_LOSS_OTHER]++;
}

static const char *judge_drop(struct naive *n, struct naive_hold *h,
	const struct naive_set *allowed, const struct outcome *o)
{
	static char text[80];

	if (o->verdict != TURN_DROP)
		return "must be dropped";
	if (!naive_has(allowed, o->reason)) {
		snprintf(text, sizeof(text), "dropped for the wrong reason: %s, not %s",
			turn_drop_name(o->reason), turn_drop_name(allowed->member[0]));
		return text;
	}
	n->drops[o->reason]++;
	naive_lost(h, o->reason);
	return NULL;
}

static const char *judge_send(struct naive *n, const struct op *op, const struct outcome *o)
{
	struct naive_hold *any = naive_allocation(n, op->client);
	const struct model_peer *p = &n->w->peer[op->peer[0]];
	const struct endpoint peer = {p->canonical, p->wire.port};
	struct naive_hold *h = hold_for(n, op, &peer.addr);
	const bool complete = op->nb_peers > 0 && op->has_data && !op->peer_malformed[0];
	struct naive_set allowed = {0};

	if (op->unknown)
		naive_may(&allowed, TURN_DROP_UNKNOWN_ATTRIBUTE);
	if (any == NULL)
		naive_may(&allowed, TURN_DROP_NO_ALLOCATION);
	if (!complete)
		naive_may(&allowed, TURN_DROP_INDICATION);
	if (complete && any != NULL) {
		if (h != NULL && !naive_permitted(n, h, &peer.addr))
			naive_may(&allowed, TURN_DROP_NO_PERMISSION);
		if (p->class == PEER_FORBIDDEN || p->wire.port == 0 ||
			(p->class == PEER_OWN && !n->config->hairpin))
			naive_may(&allowed, TURN_DROP_PEER_DENIED);
		if (h == NULL || (p->encoded && allowed.n > 0)) {
			naive_may(&allowed, TURN_DROP_INDICATION);
			naive_may(&allowed, TURN_DROP_PEER_DENIED);
		}
		// Correct, except for the form of an IPv6 address: may be refused for that. With an
		// IPv6 allocation of the client, no permission there comes from an IPv4 address.
		if (p->encoded && allowed.n == 0 && o->verdict == TURN_DROP)
			naive_may(&allowed, TURN_DROP_PEER_DENIED);
		if (p->encoded && allowed.n > 0)
			naive_may(&allowed, TURN_DROP_NO_PERMISSION);
	}
	if (allowed.n > 0)
		return judge_drop(n, h != NULL ? h : any, &allowed, o);
	return judge_to_peer(n, h, op, o, &peer);
}

static const char *judge_channel_data(struct naive *n, const struct op *op, const struct outcome *o)
{
	struct naive_hold *h = naive_allocation(n, op->client);
	const struct naive_channel *c = NULL;
	struct naive_set allowed = {0};

	for (int v4 = 0; v4 < 2 && c == NULL; v4++) {
		struct naive_hold *half = naive_of_family(n, op->client, v4);

		c = half != NULL ? channel_numbered(n, half, op->channel) : NULL;
		h = c != NULL ? half : h;
	}
	if (c == NULL && op->channel > 0x4fff) { // 12.6: reserved; RFC 7983: not even TURN
		naive_may(&allowed, TURN_DROP_NOT_TURN);
		naive_may(&allowed, TURN_DROP_CHANNEL_UNBOUND);
	}
	if (op->slack < 0)
		naive_may(&allowed, TURN_DROP_CHANNEL_LENGTH);
	if (h == NULL)
		naive_may(&allowed, TURN_DROP_NO_ALLOCATION);
	else if (c == NULL)
		naive_may(&allowed, TURN_DROP_CHANNEL_UNBOUND);
	if (allowed.n > 0)
		return judge_drop(n, h, &allowed, o);
	return judge_to_peer(n, h, op, o, &c->peer);
}

static struct naive_hold *allocation_at(struct naive *n, const struct endpoint *relay)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (n->hold[i].used && !n->hold[i].reservation && live(n, n->hold[i].expires_ms) &&
			endpoint_eq(&n->hold[i].relay, relay))
			return &n->hold[i];
	return NULL;
}

static const char *judge_to_client(struct naive *n, struct naive_hold *h, const struct op *op,
	const struct outcome *o, const struct endpoint *peer)
{
	const struct model_client *client = &n->w->client[h->client];
	const struct naive_channel *c = channel_to(n, h, peer);

	if (o->verdict != TURN_RELAY && o->verdict != TURN_SEND)
		return not_relayed(o, "client");
	if (!endpoint_eq(&o->src, &n->config->listeners[client->listener].endpoint) ||
		!endpoint_eq(&o->dst, &client->endpoint))
		return "does not go back on the 5-tuple of the allocation";
	if (!df_right(n, h, op, o->df))
		return "wrong DF";
	if (c != NULL && o->channel != c->number) // 12.5: "MUST use the ChannelData message"
		return "must use its channel";
	if (c == NULL && (!o->data_indication || !endpoint_eq(&o->peer, peer)))
		return "must use a Data indication that names the peer";
	h->usage.leg[TURN_FROM_PEER].datagrams++;
	h->usage.leg[TURN_FROM_PEER].bytes += op->len;
	n->relayed++;
	n->indications += c == NULL;
	return check_payload(op, o);
}

static const char *judge_peer(struct naive *n, const struct op *op, const struct outcome *o)
{
	const struct model_peer *p = &n->w->peer[op->peer[0]];
	struct naive_hold *h = allocation_at(n, &op->relay);
	struct naive_set allowed = {0};

	if (h == NULL)
		naive_may(&allowed,
			op->hairpin ? TURN_DROP_HAIRPIN_NO_ALLOCATION
				    : TURN_DROP_PEER_NO_ALLOCATION);
	else if (!naive_permitted(n, h, &p->wire.addr))
		naive_may(&allowed, TURN_DROP_PEER_NO_PERMISSION);
	if (allowed.n > 0)
		return judge_drop(n, h, &allowed, o);
	return judge_to_client(n, h, op, o, &p->wire);
}

const char *naive_judge_data(struct naive *n, const struct op *op, const struct outcome *o)
{
	if (op->kind == OP_SEND)
		return judge_send(n, op, o);
	return op->kind == OP_PEER ? judge_peer(n, op, o) : judge_channel_data(n, op, o);
}
