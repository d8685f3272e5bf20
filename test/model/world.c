// SPDX-License-Identifier: BSD-3-Clause
// The actors of the model tests and the ops they invent. Most ops are sensible, so that the shard
// has much to do; all mistakes that a client can make are mixed in.
#include "model.h"

#include <netinet/in.h>
#include <stdio.h>

static const struct {
	const char *addr;
	uint16_t port;
	enum peer_class class;
	bool encoded;
} peers[MODEL_PEERS] = {
	{"10.98.0.1", 7000, PEER_OPEN, false}, {"10.98.0.1", 7001, PEER_OPEN, false},
	{"10.98.0.2", 7000, PEER_OPEN, false}, {"10.98.0.3", 7000, PEER_OPEN, false},
	{"10.98.0.4", 7000, PEER_FAR, false}, {"10.98.0.5", 65535, PEER_FAR, false},
	{"fd99::10", 7000, PEER_OPEN, false}, {"fd99::10", 7001, PEER_OPEN, false},
	{"fd99::11", 7000, PEER_OPEN, false}, {"fd99::12", 1, PEER_FAR, false},
	{"10.99.0.1", 50002, PEER_OWN, false}, {"fd99::1", 50002, PEER_OWN, false},
	{"192.168.1.1", 7000, PEER_FORBIDDEN, false}, {"127.0.0.1", 7000, PEER_FORBIDDEN, false},
	{"fc00::1", 7000, PEER_FORBIDDEN, false},
	{"10.98.0.1", 0, PEER_OPEN, false}, // port 0: only good for a permission
	{"10.98.0.1", 7000, PEER_OPEN, true}, // ::ffff:10.98.0.1
	{"64:ff9b::127.0.0.1", 7000, PEER_FORBIDDEN, true},
	{"10.98.0.6", 7000, PEER_FAR, false}, // or MODEL_BESIDE
};

static uint32_t below(struct model_world *w, uint32_t bound)
{
	return test_rand_below(&w->rand, bound);
}

static bool percent(struct model_world *w, uint32_t p)
{
	return below(w, 100) < p;
}

#define ONE_OF(w, ...)                          \
	((const uint32_t[]){__VA_ARGS__}[below( \
		w, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))])

// In half of the worlds the network has no more than 10.98.0.0/30 and fd99::10/127.
static void routes_init(struct model_world *w)
{
	static const char *const prefixes[2] = {"10.98.0.0/30", "fd99::10/127"};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(addr_prefix_parse(prefixes[i], &w->route[i].dst), 0);
		w->route[i].direct = true;
	}
	routes_sort(w->route, 2);
	w->config.routes = percent(w, 50) ? w->route : NULL;
	w->config.nb_routes = w->config.routes != NULL ? 2 : 0;
}

// In some worlds other hosts have the external address, too: a peer at a port that is not the
// box's.
static void common_init(struct model_world *w)
{
	struct turn_config *c = &w->config;

	memcpy(w->allow, c->allow, c->nb_allow * sizeof(*c->allow));
	w->allow[c->nb_allow] = (struct prefix){.addr = w->local[0].external, .len = 128};
	c->allow = w->allow;
	c->nb_allow++;
	c->routes = NULL;
	c->nb_routes = 0;
	w->common = true;
}

// The secret is common, so that nonces of one realm are valid in the other.
static void realms_init(struct turn_config *c, uint32_t allocations)
{
#ifdef FEATURE_REALMS
	static struct turn_user users[1];
	static struct turn_realm realms[1];

	users[0] = (struct turn_user){.name = (char *)"ivan", .password = (char *)"pw-b"};
	realms[0] = (struct turn_realm){.name = (char *)MODEL_REALM,
		.users = users,
		.nb_users = 1,
		.secrets = c->first.secrets,
		.nb_secrets = c->first.nb_secrets,
		.number = 1};
	realms[0].allocations = allocations;
	c->realms = realms;
	c->nb_realms = 1;
#endif
}

static void config_init(struct model_world *w)
{
	struct turn_config *c = &w->config;

	*c = fixture_config();
	w->listener[0] = c->listeners[0];
	w->listener[1] = c->listeners[1];
	// Its port is in the middle of the relay ports, so one of them is taken.
	w->listener[2] =
		(struct turn_listener){fixture_endpoint("10.99.0.1", 50004), TURN_OVER_UDP};
	c->listeners = w->listener;
	c->nb_listeners = 3;
	w->local[0].addr = fixture_endpoint("10.99.0.1", 0).addr;
	w->local[1].addr = fixture_endpoint("fd99::1", 0).addr;
	if (percent(w, 50)) {
		w->local[0].external = fixture_endpoint("203.0.113.1", 0).addr;
		w->local[1].external = fixture_endpoint("2001:db8:5::1", 0).addr;
	}
	for (int i = 0; i < 2; i++)
		w->local[i].subnet = (struct prefix){.addr = w->local[i].addr, .len = 128};
	c->local = w->local;
	c->nb_local = 2;
	routes_init(w);
	if (w->local[0].external.d[1] != 0 && percent(w, 50))
		common_init(w);
	realms_init(c, ONE_OF(w, 0, 2, 3));
	c->port_lo = (uint16_t)(50000 + below(w, 3));
	c->port_hi = (uint16_t)(c->port_lo + ONE_OF(w, 8, 15, 16, MODEL_PORTS - 1));
	c->default_family = (uint8_t)ONE_OF(
		w, TURN_FAMILY_IPV4, TURN_FAMILY_IPV4, TURN_FAMILY_IPV6, TURN_FAMILY_CLIENT);
	c->quarantine_s = ONE_OF(w, 0, 2, 30, 300);
	c->hairpin = percent(w, 75);
	c->rfc5766_channels = percent(w, 50);
	c->limits.allocations = ONE_OF(w, 0, 0, 14);
	c->limits.per_user = ONE_OF(w, 0, 4, 9);
	c->limits.per_source = ONE_OF(w, 0, 5);
	c->limits.permissions = ONE_OF(w, 3, 4, 16);
	c->limits.channels = ONE_OF(w, 2, 3, 8);
	// pools too small for all, or with room for everything that the allocations may have
	c->pools.sure_permissions = ONE_OF(w, 1, 2, 3);
	c->pools.sure_channels = ONE_OF(w, 1, 1, 2);
	c->pools.permissions = c->pools.channels = ONE_OF(w, MODEL_POOL_AMPLE, 1, 5);
	c->pools.per_user = ONE_OF(w, 20, 50, 100);
	if (c->pools.permissions == MODEL_POOL_AMPLE)
		c->pools.per_user = 100;
	c->limits.lifetime_default_s = ONE_OF(w, 30, 600, 600);
	c->limits.lifetime_max_s = ONE_OF(w, 900, 3600);
#ifdef FEATURE_MOBILITY
	c->mobility.enabled = percent(w, 70);
	c->mobility.grace_s = 60;
	c->mobility.moves = ONE_OF(w, MODEL_POOL_AMPLE, 2);
#endif
	c->rest_expiry =
		(uint8_t)ONE_OF(w, TURN_REST_IGNORED, TURN_REST_REFRESH_REFUSED, TURN_REST_ENDS);
	c->limits.permission_s = ONE_OF(w, 300, 300, 120);
	c->limits.channel_s = ONE_OF(w, 600, 600, 200);
	c->nonce_lifetime_s = ONE_OF(w, 300, 600, 3600);
	c->nonce_secret = (char *)"the same for all policies"; // number that a world gets
}

static void rest_user(struct model_user *u, uint64_t expires_s, const char *id)
{
	struct stun_crypto *crypto = stun_crypto_create();

	assert_non_null(crypto);
	*u = (struct model_user){.known = true, .expires_s = expires_s};
	snprintf(u->name, sizeof(u->name), "%llu:%s", (unsigned long long)expires_s, id);
	assert_true(stun_rest_password(crypto, "s3cret", u->name, strlen(u->name), u->password));
	stun_crypto_free(crypto);
}

static void users_init(struct model_world *w)
{
	w->user[0] = (struct model_user){.name = "ivan", .password = "pw", .known = true};
	w->user[1] = (struct model_user){.name = "eve", .password = "evil", .known = true};
	rest_user(&w->user[2], FIXTURE_WALL_S + 2400, "bob");
	rest_user(&w->user[3], FIXTURE_WALL_S + 100000000, "ann");
	w->user[4] = (struct model_user){.name = "mallory", .password = "pw"};
	w->user[MODEL_OTHER] =
		(struct model_user){.name = "ivan", .password = "pw-b", .known = MODEL_REALMS};
	for (unsigned int i = 0; i < MODEL_TOKENS; i++)
		w->user[i].realm = i == MODEL_OTHER ? MODEL_REALM : FIXTURE_REALM;
}

// Each has its own /64, most of them in one /48.
static void site_client(struct model_client *c, unsigned int i)
{
	c->endpoint = fixture_endpoint("2001:db8:1::1", (uint16_t)(5000 + i));
	c->endpoint.addr.b[7] = (uint8_t)i;
	if (i % 4 == 3)
		c->endpoint.addr.b[5] = 2;
	c->listener = 1;
}

// In some worlds a site with IPv6, limited by its /48. Otherwise few sources with several ports
// each, on every listener. IPv4 clients 2n and 2n + 1 differ only in the listener.
static void clients_init(struct model_world *w)
{
	static const char *const v4[] = {"198.51.100.1", "198.51.100.2", "203.0.113.9"};
	static const char *const v6[] = {"2001:db8:1::1", "2001:db8:1::2", "2001:db8:2::1"};
	const bool is_site = percent(w, 10);

	if (is_site)
		w->config.limits.per_source = 1;
	for (unsigned int i = 0; i < MODEL_CLIENTS; i++) {
		struct model_client *c = &w->client[i];
		const bool is_v4 = i % 8 < 6;
		const uint16_t port = (uint16_t)(5000 + i / 2);

		c->endpoint = fixture_endpoint((is_v4 ? v4 : v6)[i / 2 % 3], port);
		c->listener = is_v4 ? (i % 2 == 0 ? 0 : 2) : 1;
		if (!is_v4)
			c->endpoint.port = (uint16_t)(5000 + i);
		if (is_site)
			site_client(c, i);
		c->user = below(w, 20) == 0 ? 4 : i % 4;
		if (below(w, 6) == 0)
			c->user = MODEL_OTHER;
		if (below(w, 5) == 0)
			c->user = MODEL_TOKENS + below(w, MODEL_USERS - MODEL_TOKENS);
	}
}

void model_world_init(struct model_world *w, uint64_t seed)
{
	*w = (struct model_world){.rand = {seed}};
	config_init(w);
	users_init(w);
	model_tokens_init(w);
	clients_init(w);
	for (unsigned int i = 0; i < MODEL_PEERS; i++) {
		struct model_peer *p = &w->peer[i];

		p->wire = fixture_endpoint(peers[i].addr, peers[i].port);
		p->canonical = addr_canonical(p->wire.addr);
		p->class = peers[i].class;
		p->encoded = peers[i].encoded;
	}
	if (w->common)
		w->peer[MODEL_BESIDE] = (struct model_peer){.wire = {w->local[0].external, 7000},
			.canonical = w->local[0].external,
			.class = PEER_BESIDE};
}

static void pick_auth(struct model_world *w, struct op *op)
{
	const struct model_client *c = &w->client[op->client];

	op->user = percent(w, 96) ? c->user : below(w, MODEL_USERS);
	model_tokens_pick(w, op);
	op->style = below(w, STYLE_KINDS);
	op->sign = percent(w, 92) ? SIGN_GOOD : below(w, SIGN_KINDS);
	op->nonce = c->nonce;
	if (!c->has_nonce)
		op->sign = SIGN_NONE;
	if (percent(w, 1))
		op->nonce = c->old_nonce;
	if (percent(w, 1))
		op->nonce = w->client[below(w, MODEL_CLIENTS)].nonce;
	if (percent(w, 1)) {
		op->nonce.junk = true;
		op->nonce.text[below(w, MODEL_NONCE_LEN)] ^= (uint8_t)(1 + below(w, 255));
	}
}

static void pick_lifetime(struct model_world *w, struct op *op)
{
	op->has_lifetime = percent(w, 60);
	op->lifetime_s = ONE_OF(w, 1, 29, 31, 599, 600, 601, 899, 901, 3599, 3601, UINT32_MAX);
	if (op->kind == OP_REFRESH ? percent(w, 25) : percent(w, 2))
		op->lifetime_s = 0;
}

static int pick_family(struct model_world *w)
{
	if (percent(w, 40))
		return 0;
	return percent(w, 96) ? 1 + (int)below(w, 2) : (int)ONE_OF(w, 3, 255);
}

static void pick_allocate(struct model_world *w, struct op *op)
{
	op->transport = percent(w, 96) ? IPPROTO_UDP : (int)ONE_OF(w, 6, 0, UINT32_MAX);
	op->family = pick_family(w);
	if (percent(w, 25))
		op->additional = percent(w, 95) ? 2 : (int)ONE_OF(w, 1, 3, 255);
	if (op->additional != 0 && percent(w, 95))
		op->family = 0;
	op->even = percent(w, 75) ? -1 : (int)below(w, 2);
	op->has_token = MODEL_RESERVATIONS && percent(w, w->has_token ? 10 : 1);
	memcpy(op->token, w->token, sizeof(op->token));
	if (percent(w, 3))
		op->token[below(w, 8)] ^= (uint8_t)(1 + below(w, 255));
	if (op->has_token && percent(w, 90)) {
		op->family = 0;
		op->even = -1;
		op->additional = percent(w, 95) ? 0 : op->additional;
	}
	if (op->additional != 0 && op->even == 1 && percent(w, 80))
		op->even = 0;
	pick_lifetime(w, op);
	if (MODEL_MOBILITY && percent(w, model_may_move(&w->config) ? 60 : 5))
		op->ticket = percent(w, 98) ? TICKET_EMPTY : TICKET_WRONG;
	if (percent(w, 2))
		op->malformed = 1 + below(w, BAD_KINDS - 1);
	if (op->malformed == BAD_TOKEN && !MODEL_RESERVATIONS)
		op->malformed = WELL_FORMED;
}

// A Refresh with an earlier ticket, mostly the client's own, and from any client's 5-tuple.
static void pick_ticket(struct model_world *w, struct op *op)
{
	const uint32_t back = below(w, percent(w, 80) ? 3 : MODEL_TICKETS);
	const struct model_ticket *t;

	op->ticket = TICKET_EMPTY;
	if (w->nb_tickets <= back || percent(w, 2))
		return;
	t = &w->ticket[(w->nb_tickets - 1 - back) % MODEL_TICKETS];
	op->ticket = percent(w, 97) ? TICKET_TEXT : TICKET_WRONG;
	memcpy(op->ticket_text, t->text, sizeof(op->ticket_text));
	if (percent(w, 3))
		op->ticket_text[below(w, MODEL_TICKET)] ^= (char)(1 + below(w, 127));
	if (percent(w, 93)) {
		op->user = t->user;
		op->access = w->user[t->user].token ? ACCESS_GOOD : ACCESS_NONE;
	}
}

// Picks a peer, mostly of the family of the client's relayed transport address.
static unsigned int pick_peer(struct model_world *w, const struct op *op, bool on_wire)
{
	const struct model_client *c = &w->client[op->client];
	const struct endpoint *relay = on_wire ? &op->relay : &c->relay[below(w, 2)];
	unsigned int i;

	do {
		i = below(w, MODEL_PEERS);
		if (!on_wire && percent(w, 4))
			return i;
	} while (((on_wire || c->has_relay) &&
			 addr_is_v4(&w->peer[i].wire.addr) != addr_is_v4(&relay->addr)) ||
		w->peer[i].encoded || w->peer[i].wire.port == 0 ||
		(w->peer[i].class == PEER_FORBIDDEN && !percent(w, 20)));
	return i;
}

static void pick_peers(struct model_world *w, struct op *op, unsigned int nb)
{
	op->nb_peers = nb;
	for (unsigned int i = 0; i < nb; i++) {
		op->peer[i] = pick_peer(w, op, false);
		op->peer_malformed[i] = percent(w, 1);
	}
}

static uint16_t pick_len(struct model_world *w)
{
	return (uint16_t)(percent(w, 10) ? 0 : below(w, 200));
}

// Picks a relayed transport address that a client has or had, or another one of the server.
static struct endpoint pick_relay(struct model_world *w)
{
	const struct model_client *c = &w->client[below(w, MODEL_CLIENTS)];
	struct endpoint e;

	if (c->has_relay && percent(w, 95))
		return c->relay[below(w, 2)];
	do {
		e.addr = w->config.relay[below(w, 2)];
		e.port = (uint16_t)(w->config.port_lo +
			below(w, w->config.port_hi - w->config.port_lo + 1u));
	} while (endpoint_eq(&e, &w->listener[2].endpoint));
	return e;
}

static void pick_data(struct model_world *w, struct op *op)
{
	op->channel = (uint16_t)(0x4000 + below(w, 4));
	op->has_channel = op->has_data = true;
	op->len = pick_len(w);
	switch (op->kind) {
	case OP_SEND:
		op->has_data = percent(w, 98);
		op->df_attribute = percent(w, 20);
		pick_peers(w, op, percent(w, 98) ? 1 : 0);
		break;
	case OP_CHANNEL_DATA:
		if (percent(w, 2))
			op->channel = (uint16_t)ONE_OF(w, 0x4fff, 0x5000, 0x7ffe, 0x7fff);
		if (percent(w, 30))
			op->slack = (int)below(w, 4);
		else if (percent(w, 3))
			op->slack = -1 - (int)below(w, op->len + 3u); // down to a single byte
		break;
	default:
		op->relay = pick_relay(w);
		op->peer[0] = pick_peer(w, op, true);
		op->hairpin = w->peer[op->peer[0]].class == PEER_OWN;
		break;
	}
}

static void pick_channel(struct model_world *w, struct op *op)
{
	op->has_channel = percent(w, 98);
	op->channel = (uint16_t)(0x4000 + below(w, 4));
	if (percent(w, 3))
		op->channel =
			(uint16_t)ONE_OF(w, 0, 0x3fff, 0x4fff, 0x5000, 0x7ffe, 0x8000, 0xffff);
	pick_peers(w, op, percent(w, 98) ? 1 : 0);
}

static enum op_kind pick_kind(struct model_world *w)
{
	static const uint8_t weight[OP_KINDS] = {[OP_BINDING] = 3,
		[OP_ALLOCATE] = 14,
		[OP_REFRESH] = 10,
		[OP_PERMIT] = 12,
		[OP_BIND] = 14,
		[OP_SEND] = 13,
		[OP_CHANNEL_DATA] = 13,
		[OP_PEER] = 18,
		[OP_GARBAGE] = 3};
	uint32_t rest = below(w, 100);
	unsigned int kind = 0;

	while (rest >= weight[kind])
		rest -= weight[kind++];
	return kind;
}

// Repeats the last request (RFC 8489 6.2.1), rarely with another user's signature.
static struct op again(struct model_world *w, const struct model_client *c)
{
	struct op op = c->last;

	if (percent(w, 5))
		op.user = below(w, MODEL_USERS);
	if (op.user == MODEL_OTHER) // its realm knows no tokens
		op.access = ACCESS_NONE;
	return op;
}

struct op model_op(struct model_world *w)
{
	struct op op = {.kind = pick_kind(w), .client = below(w, MODEL_CLIENTS)};
	struct model_client *c = &w->client[op.client];

	if (c->has_last && op.kind == c->last.kind && percent(w, 12))
		return again(w, c);
	op.tid = ++w->tids;
	op.unknown = percent(w, 1);
	op.optional = percent(w, 10) && op.kind != OP_ALLOCATE && op.kind != OP_REFRESH;
	op.fingerprint = percent(w, 20);
	op.padding_dirty = percent(w, 5);
	op.garbage = below(w, GARBAGE_KINDS);
	pick_auth(w, &op);
	if (op.kind == OP_ALLOCATE)
		pick_allocate(w, &op);
	else if (op.kind == OP_PERMIT)
		pick_peers(w, &op, percent(w, 98) ? 1 + below(w, MODEL_OP_PEERS) : 0);
	else if (op.kind == OP_BIND)
		pick_channel(w, &op);
	else if (op.kind >= OP_SEND && op.kind <= OP_PEER)
		pick_data(w, &op);
	if (op.kind == OP_REFRESH) {
		op.family = percent(w, 70) ? 0 : pick_family(w);
		pick_lifetime(w, &op);
		if (MODEL_MOBILITY && percent(w, model_may_move(&w->config) ? 50 : 5))
			pick_ticket(w, &op);
	}
	if (op.kind >= OP_ALLOCATE && op.kind <= OP_BIND) {
		c->last = op;
		c->has_last = true;
	}
	return op;
}

static void learn_ticket(struct model_world *w, const struct op *op, const struct outcome *o)
{
	struct model_ticket *t = &w->ticket[w->nb_tickets % MODEL_TICKETS];

	w->nb_tickets++;
	memcpy(t->text, o->ticket, sizeof(t->text));
	t->user = op->user;
}

void model_learn(struct model_world *w, const struct op *op, const struct outcome *o)
{
	struct model_client *c = &w->client[op->client];

	if (o->verdict == TURN_REPLY && o->code == 0 && o->ticket[0] != '\0')
		learn_ticket(w, op, o);
	if (o->verdict != TURN_REPLY || op->kind != OP_ALLOCATE || o->code != 0)
		return;
	c->relay[0] = c->relay[1] = o->relayed;
	if (o->relayed2.port != 0)
		c->relay[1] = o->relayed2;
	c->has_relay = true;
	if (o->has_token) {
		memcpy(w->token, o->token, sizeof(w->token));
		w->has_token = true;
	}
}

void model_learn_nonce(
	struct model_world *w, const struct op *op, const uint8_t *nonce, uint64_t wall_s)
{
	struct model_client *c = &w->client[op->client];

	c->old_nonce = c->nonce;
	if (!c->has_nonce)
		c->old_nonce.junk = true;
	c->nonce = (struct op_nonce){.client = c->endpoint, .wall_s = wall_s};
	memcpy(c->nonce.text, nonce, MODEL_NONCE_LEN);
	c->has_nonce = true;
}

void model_print(const struct model_world *w, const struct op *op)
{
	static const char *const kinds[OP_KINDS] = {"Binding", "Allocate", "Refresh",
		"CreatePermission", "ChannelBind", "Send", "ChannelData", "peer datagram",
		"garbage"};
	const struct model_client *c = &w->client[op->client];
	char text[ADDR_TEXT_LEN + 8];

	printf("op: %s, client %u %s listener %u, tid %u, user %s, sign %d, style %d, nonce of "
	       "wall clock %llu%s\n",
		kinds[op->kind], op->client, addr_format_endpoint(&c->endpoint, text, sizeof(text)),
		c->listener, op->tid, w->user[op->user].name, op->sign, op->style,
		(unsigned long long)op->nonce.wall_s, op->nonce.junk ? " (junk)" : "");
	printf("    transport %d, family %d, additional %d, even %d, lifetime %u%s, token %d, "
	       "malformed %d, unknown %d, garbage %d, ticket %d %s\n",
		op->transport, op->family, op->additional, op->even, op->lifetime_s,
		op->has_lifetime ? "" : " (not said)", op->has_token, op->malformed, op->unknown,
		op->garbage, op->ticket, op->ticket_text);
	printf("    channel 0x%x, length %u, slack %d, DONT-FRAGMENT %d, relay %s\n", op->channel,
		op->len, op->slack, op->df_attribute,
		addr_format_endpoint(&op->relay, text, sizeof(text)));
	for (unsigned int i = 0; i < op->nb_peers || (i == 0 && op->kind == OP_PEER); i++)
		printf("    peer %s%s%s\n",
			addr_format_endpoint(&w->peer[op->peer[i]].wire, text, sizeof(text)),
			w->peer[op->peer[i]].encoded ? " (as IPv6)" : "",
			op->peer_malformed[i] ? " (malformed)" : "");
}
