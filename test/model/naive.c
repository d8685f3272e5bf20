// SPDX-License-Identifier: BSD-3-Clause
// Requests and allocations: RFC 8489 sections 6.3 and 9.2.4, RFC 8656 sections 5 to 8.
#include "naive.h"
#include "shard_rows.h"

#include <netinet/in.h>
#include <stdio.h>

#define RESERVATION_MS 60000 // 7.2: "at least 30 seconds"; slipring's lasts 60

void naive_may(struct naive_set *s, unsigned int member)
{
	if (naive_has(s, member))
		return;
	assert_true(s->n < 8);
	s->member[s->n++] = member;
}

bool naive_has(const struct naive_set *s, unsigned int member)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (s->member[i] == member)
			return true;
	return false;
}

void naive_init(struct naive *n, const struct model_world *w, uint64_t now_ms, uint64_t wall_s)
{
	*n = (struct naive){.w = w, .config = &w->config, .now_ms = now_ms, .wall_s = wall_s};
}

void naive_clock(struct naive *n, uint64_t now_ms, uint64_t wall_s)
{
	n->now_ms = now_ms;
	n->wall_s = wall_s;
}

bool naive_live(const struct naive *n, const struct naive_hold *h)
{
	return h->used && n->now_ms < h->expires_ms;
}

struct naive_hold *naive_allocation(struct naive *n, unsigned int client)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (naive_live(n, &n->hold[i]) && !n->hold[i].reservation &&
			n->hold[i].client == client)
			return &n->hold[i];
	return NULL;
}

struct naive_hold *naive_of_family(struct naive *n, unsigned int client, bool is_v4)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (naive_live(n, &n->hold[i]) && !n->hold[i].reservation &&
			n->hold[i].client == client && addr_is_v4(&n->hold[i].relay.addr) == is_v4)
			return &n->hold[i];
	return NULL;
}

static struct naive_hold *reservation(struct naive *n, const uint8_t token[8])
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (naive_live(n, &n->hold[i]) && n->hold[i].reservation &&
			memcmp(n->hold[i].token, token, 8) == 0)
			return &n->hold[i];
	return NULL;
}

// --- Allocate, Refresh

uint32_t naive_lifetime(const struct naive *n, const struct op *op)
{
	const struct turn_limits *l = &n->config->limits;
	const uint32_t asked = !op->has_lifetime     ? 0
		: op->lifetime_s < l->lifetime_max_s ? op->lifetime_s
						     : l->lifetime_max_s;
	const uint32_t granted = naive_token_lifetime(n, op, asked);
	const uint64_t expires_s = n->w->user[op->user].expires_s;

	// an allocation that lasts no longer than the time in its user's name
	if (n->config->rest_expiry != TURN_REST_ENDS || expires_s == 0 ||
		expires_s - n->wall_s >= granted)
		return granted;
	return expires_s > n->wall_s ? (uint32_t)(expires_s - n->wall_s) : 1;
}

// The alternate server of the client's own address family; NULL if there is no such server.
static const struct addr *alternate_of(const struct naive *n, const struct op *op)
{
	const bool is_v4 = addr_is_v4(&n->w->client[op->client].endpoint.addr);

	for (unsigned int i = 0; i < n->nb_alternates; i++)
		if (addr_is_v4(&n->alternate[i]) == is_v4)
			return &n->alternate[i];
	return NULL;
}

// RFC 8489 10: first the alternate of the client's family, then that of the other family. Each has
// the port that the client came to.
static const char *judge_alternates(
	const struct naive *n, const struct op *op, const struct outcome *o)
{
	const struct addr *a = alternate_of(n, op);
	const uint16_t port = n->config->listeners[n->w->client[op->client].listener].endpoint.port;

	if (o->nb_alternates != n->nb_alternates)
		return "alternates that are not configured";
	for (unsigned int i = 0; i < o->nb_alternates; i++) {
		if (!addr_eq(&o->alternate[i].addr, a) || o->alternate[i].port != port)
			return "another alternate than the client's";
		a = a == n->alternate ? n->alternate + 1 : n->alternate;
	}
	return NULL;
}

// Returns 1 if an otherwise correct Allocate must surely be redirected, 0 if surely not, -1 if
// unsure.
static int is_sent(const struct naive *n, const struct op *op)
{
	uint32_t least = 0, most = 0;

	if (!n->sends || op->family > 2)
		return 0;
	if (n->drains)
		return 1;
	if (op->has_token || alternate_of(n, op) == NULL)
		return 0;
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		most += n->hold[i].used;
		least += n->hold[i].used && naive_live(n, &n->hold[i]);
	}
	return least >= n->threshold ? 1 : most >= n->threshold ? -1 : 0;
}

// Possible results for one of the two addresses that an Allocate asks for (7.2 (9)), with `beside`
// already counted for the other address.
struct half {
	bool may_have, may_miss;
	struct naive_set codes; // reasons why it is missing
};

static struct op op_for(const struct op *op, bool is_v4)
{
	struct op one = *op;

	one.family = is_v4 ? 1 : 2;
	return one;
}

static struct half half_of(struct naive *n, const struct op *op, bool is_v4, unsigned int beside)
{
	const struct op one = op_for(op, is_v4);
	struct half h = {.may_have = true};

	naive_port_codes(n, &one, &h.codes, &h.may_have);
	naive_quota_codes(n, &one, &(struct naive_count){NULL, beside}, &h.codes, &h.may_have);
	h.may_miss = h.codes.n > 0;
	return h;
}

// Success with one address is a success.
static void both_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	const struct half v4 = half_of(n, op, true, 0), v6 = half_of(n, op, false, 0);

	if (v4.may_miss && v6.may_miss)
		for (unsigned int i = 0; i < v4.codes.n; i++)
			naive_may(allowed, v4.codes.member[i]);
	if ((v4.may_have || v6.may_have) && op->malformed == WELL_FORMED)
		naive_may(allowed, 0);
}

// Error codes of Allocate in the order of RFC 8656 7.2. A malformed attribute may be found at any
// step.
static void allocate_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	const struct naive_hold *h = naive_allocation(n, op->client), *r = NULL;
	bool success = true;

	if (h != NULL)
		return naive_may(allowed, h->tid == op->tid && naive_is_same(n, h, op) ? 0 : 437);
	if (naive_by_token(n, op) && op->access == ACCESS_NONE) // RFC 7635: it carries a token
		return naive_may(allowed, 437);
	if (op->malformed != WELL_FORMED)
		naive_may(allowed, op->malformed == BAD_TOKEN ? 508 : 400), naive_may(allowed, 400);
	if (op->transport < 0 && op->malformed != BAD_TRANSPORT)
		return naive_may(allowed, 400);
	if (op->transport != IPPROTO_UDP && op->malformed != BAD_TRANSPORT)
		return naive_may(allowed, 442);
	if (!naive_ticket_codes(n, op, allowed))
		return;
	if (op->has_token && (op->even >= 0 || op->family != 0 || op->additional != 0))
		return naive_may(allowed, 400);
	if (op->additional != 0 && (op->additional != 2 || op->family != 0 || op->even == 1))
		return naive_may(allowed, 400);
	if (is_sent(n, op) != 0)
		naive_may(allowed, alternate_of(n, op) != NULL ? 300 : 508);
	if (is_sent(n, op) == 1)
		return;
	if (op->has_token) {
		r = reservation(n, op->token);
		if (r == NULL)
			return naive_may(allowed, 508);
	}
	if (op->family > 2 || (op->even == 1 && !MODEL_RESERVATIONS))
		return naive_may(allowed, op->family > 2 ? 440 : 508);
	if (op->additional == 2)
		return both_codes(n, op, allowed);
	if (r == NULL)
		naive_port_codes(n, op, allowed, &success);
	naive_quota_codes(n, op, &(struct naive_count){r, 0}, allowed, &success);
	if (success && op->malformed == WELL_FORMED)
		naive_may(allowed, 0);
}

static struct naive_hold *hold_new(
	struct naive *n, const struct op *op, const struct endpoint *relay)
{
	struct naive_hold *h = naive_holder(n, relay);

	if (h != NULL) // it has expired, and the server must have swept it
		naive_release(n, h);
	for (h = n->hold; h->used; h++)
		assert_true(h + 1 < n->hold + NAIVE_HOLDS);
	*h = (struct naive_hold){.used = true,
		.client = op->client,
		.user = op->user,
		.key = op->user,
		.source = n->w->client[op->client].endpoint.addr,
		.relay = *relay,
		.tid = op->tid};
	return h;
}

// The relayed transport address of a family in an answer; NULL if there is no such address.
static const struct endpoint *told(const struct outcome *o, bool is_v4)
{
	if (o->relayed2.port != 0 && !is_v4)
		return &o->relayed2;
	return addr_is_v4(&o->relayed.addr) == is_v4 ? &o->relayed : NULL;
}

// RFC 8656 7.2 (9): both families are available, so a missing one is 508.
static const char *judge_missing(const struct outcome *o)
{
	const bool missing_v4 = told(o, true) == NULL;

	if (o->address_error != 0 &&
		(o->address_error != 508 || o->error_family != (missing_v4 ? 1 : 2)))
		return "wrong ADDRESS-ERROR-CODE";
	return NULL;
}

// Judges the repeated Allocate of a client with an allocation.
static const char *judge_again(
	struct naive *n, const struct op *op, const struct naive_hold *h, const struct outcome *o)
{
	uint64_t left_ms = UINT64_MAX;
	const uint64_t said_ms = o->lifetime_s * UINT64_C(1000);

	for (int v4 = 0; v4 < 2; v4++) {
		const struct naive_hold *mine = naive_of_family(n, op->client, v4);
		const struct endpoint *e = told(o, v4);

		if ((mine != NULL) != (e != NULL) || (e != NULL && !endpoint_eq(e, &mine->relay)))
			return "retransmission got another relayed transport address";
		if (mine != NULL && mine->expires_ms - n->now_ms < left_ms) {
			left_ms = mine->expires_ms - n->now_ms;
			h = mine;
		}
	}
	if (o->has_token != h->has_token || memcmp(o->token, h->token, 8) != 0)
		return "retransmission got another RESERVATION-TOKEN";
	if (said_ms + 1000 <= left_ms ||
		(said_ms >= left_ms + 1000 && o->lifetime_s != h->granted_s))
		return "retransmission got another LIFETIME";
	return judge_missing(o);
}

// The allocations that a client had before have expired, and the server must know that by now.
static void release_old(struct naive *n, unsigned int client)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (n->hold[i].used && !n->hold[i].reservation && n->hold[i].client == client)
			naive_release(n, &n->hold[i]);
}

static struct naive_hold *hold_granted(
	struct naive *n, const struct op *op, const struct endpoint *relay, const struct outcome *o)
{
	struct naive_hold *h = hold_new(n, op, relay);

	h->granted_s = o->lifetime_s;
	h->expires_ms = n->now_ms + o->lifetime_s * UINT64_C(1000);
	return h;
}

// Judges an Allocate for both families and applies its result.
static const char *apply_both(struct naive *n, const struct op *op, const struct outcome *o)
{
	const bool has_both = o->relayed2.port != 0;
	const char *wrong = judge_missing(o);
	int early = 0;

	for (int v4 = 1; v4 >= 0 && wrong == NULL; v4--) {
		const struct endpoint *e = told(o, v4);
		const struct op one = op_for(op, v4);
		const struct half h = half_of(n, op, v4, !v4 && told(o, true) != NULL ? 1 : 0);

		if (e == NULL && !h.may_miss)
			return "a relayed transport address is missing without a reason";
		if (e == NULL)
			continue;
		if (!h.may_have)
			return "a relayed transport address past a limit";
		wrong = naive_judge_port(n, &one, e);
		if (n->early == 1 || early == 0)
			early = n->early;
	}
	n->early = early;
	if (wrong != NULL)
		return wrong;
	n->duals += has_both;
	release_old(n, op->client);
	for (int v4 = 0; v4 < 2; v4++)
		if (told(o, v4) != NULL)
			hold_granted(n, op, told(o, v4), o)->dual = has_both;
	return NULL;
}

static const char *apply_allocate(struct naive *n, const struct op *op, const struct outcome *o)
{
	const struct endpoint next = {o->relayed.addr, (uint16_t)(o->relayed.port + 1)};
	struct naive_hold *h = naive_allocation(n, op->client);
	struct naive_hold *r = op->has_token ? reservation(n, op->token) : NULL;
	const char *wrong = NULL;

	if (h != NULL)
		return judge_again(n, op, h, o);
	if (o->lifetime_s != naive_lifetime(n, op))
		return "wrong LIFETIME";
	if (o->has_token != (op->even == 1))
		return "RESERVATION-TOKEN missing or not requested";
	if (op->additional == 2)
		return apply_both(n, op, o);
	if (r == NULL)
		wrong = naive_judge_port(n, op, &o->relayed);
	else if (!endpoint_eq(&o->relayed, &r->relay))
		wrong = "not the relayed transport address that was reserved";
	if (wrong != NULL)
		return wrong;
	if (r != NULL)
		r->used = false;
	release_old(n, op->client);
	h = hold_granted(n, op, &o->relayed, o);
	h->has_token = o->has_token;
	memcpy(h->token, o->token, 8);
	if (op->even != 1)
		return NULL;
	r = hold_new(n, op, &next);
	r->reservation = true;
	r->expires_ms = n->now_ms + RESERVATION_MS;
	memcpy(r->token, o->token, 8);
	return NULL;
}

// RFC 8656 8.1, 8.2: a family that the client has; without a family it concerns all of its
// allocations.
static void refresh_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	const bool mine = op->family == 0 ||
		(op->family <= 2 && naive_of_family(n, op->client, op->family == 1) != NULL);

	naive_may(allowed, mine ? 0 : 443);
}

static const char *apply_refresh(struct naive *n, const struct op *op, const struct outcome *o)
{
	const bool end = op->has_lifetime && op->lifetime_s == 0;

	if (o->lifetime_s != (end ? 0 : naive_lifetime(n, op)))
		return "wrong LIFETIME";
	for (int v4 = 0; v4 < 2; v4++) {
		struct naive_hold *h = naive_of_family(n, op->client, v4);

		if (h == NULL || (op->family != 0 && op->family != (v4 ? 1 : 2)))
			continue;
		if (end) {
			naive_release(n, h);
			continue;
		}
		h->expires_ms = n->now_ms + o->lifetime_s * UINT64_C(1000);
		h->granted_s = o->lifetime_s;
	}
	naive_rekey(n, op, end);
	return NULL;
}

static bool nonce_good(const struct naive *n, const struct op *op)
{
	return !op->nonce.junk &&
		endpoint_eq(&op->nonce.client, &n->w->client[op->client].endpoint) &&
		n->wall_s <= op->nonce.wall_s + n->config->nonce_lifetime_s;
}

// RFC 8489 9.2.4, with the nonce checked first. Returns 0 when the user is authenticated.
unsigned int naive_stranger_code(const struct naive *n, const struct op *op)
{
	const struct model_user *u = &n->w->user[op->user];

	switch (op->sign) {
	case SIGN_NONE:
		return 401;
	case SIGN_NO_USER:
	case SIGN_NO_REALM:
	case SIGN_NO_NONCE:
		return 400;
	default:
		break;
	}
	if (!nonce_good(n, op))
		return 438;
	if (op->sign == SIGN_LIST_ONLY || op->sign == SIGN_CHOICE_ONLY ||
		op->sign == SIGN_LIST_OTHER)
		return 400;
	if (naive_by_token(n, op))
		return naive_token_reason(n, op) != TURN_GRANTED ? 401 : 0;
	if (op->sign != SIGN_GOOD || !u->known)
		return 401;
	// REST users can authenticate until they expire, and have no USERHASH.
	if (naive_rest_past(n, op) || (u->expires_s != 0 && op->style == STYLE_USERHASH))
		return 401;
	return 0;
}

static void request_codes(struct naive *n, const struct op *op, struct naive_set *allowed)
{
	struct naive_hold *h = naive_allocation(n, op->client);
	const unsigned int stranger = op->kind == OP_BINDING ? 0 : naive_stranger_code(n, op);

	if (stranger != 0)
		return naive_may(allowed, stranger);
	if (op->unknown)
		naive_may(allowed, 420);
	else if (op->kind == OP_BINDING)
		naive_may(allowed, 0);
	else if (op->kind == OP_ALLOCATE)
		allocate_codes(n, op, allowed);
	else if (op->kind == OP_REFRESH && op->ticket != TICKET_NONE)
		naive_move_codes(n, op, allowed);
	else if (h == NULL)
		naive_may(allowed, 437);
	else if (naive_is_other(n, h, op))
		naive_may(allowed, 441);
	else if (op->kind == OP_REFRESH)
		refresh_codes(n, op, allowed);
	else if (op->kind == OP_PERMIT)
		naive_permit_codes(n, op, allowed);
	else
		naive_bind_codes(n, op, allowed);
	if (naive_rest_unsure(n, op) && op->kind != OP_BINDING)
		naive_may(allowed, 401);
}

static const char *judge_request(struct naive *n, const struct op *op, const struct outcome *o)
{
	static char text[120];
	struct naive_set codes = {0};
	size_t used;

	if (o->verdict != TURN_REPLY)
		return "a request must be answered";
	request_codes(n, op, &codes);
	if (!naive_has(&codes, o->code)) {
		used = (size_t)snprintf(text, sizeof(text), "answer is %u, allowed:", o->code);
		for (unsigned int i = 0; i < codes.n && used < sizeof(text); i++)
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %u", codes.member[i]);
		return text;
	}
	n->errors[o->code]++;
	if (o->code == 300)
		return judge_alternates(n, op, o);
	if (o->code != 0 || op->kind == OP_BINDING)
		return NULL;
	n->successes++;
	if (op->kind == OP_ALLOCATE) {
		const char *wrong = apply_allocate(n, op, o);

		return wrong != NULL ? wrong : naive_judge_ticket(n, op, o);
	}
	if (op->kind == OP_REFRESH && op->ticket != TICKET_NONE)
		return naive_judge_move(n, op, o);
	if (op->kind == OP_REFRESH)
		return apply_refresh(n, op, o);
	if (op->kind == OP_PERMIT)
		naive_permit(n, op);
	else
		naive_bind(n, op);
	return NULL;
}

static const char *judge_garbage(struct naive *n, const struct op *op, const struct outcome *o)
{
	static const enum turn_drop reason[GARBAGE_KINDS] = {
		[GARBAGE_NOT_TURN] = TURN_DROP_NOT_TURN,
		[GARBAGE_STUN] = TURN_DROP_MALFORMED,
		[GARBAGE_LENGTH] = TURN_DROP_MALFORMED,
		[GARBAGE_COOKIE] = TURN_DROP_MALFORMED,
		[GARBAGE_METHOD] = TURN_DROP_METHOD,
		[GARBAGE_CLASS] = TURN_DROP_METHOD,
		[GARBAGE_FINGERPRINT] = TURN_DROP_FINGERPRINT,
		[GARBAGE_KEEPALIVE] = TURN_DROP_KEEPALIVE,
		[GARBAGE_EMPTY] = TURN_DROP_NOT_TURN,
	};

	if (o->verdict != TURN_DROP)
		return "garbage must be dropped";
	n->drops[o->reason]++;
	if (op->garbage != GARBAGE_KEEPALIVE) // it asks for nothing, so nothing is lost
		naive_lost(naive_allocation(n, op->client), o->reason);
	if (o->reason == reason[op->garbage])
		return NULL;
	// First bytes 80..127 were ChannelData once (RFC 5766 11.4), on channels that cannot be
	// bound now.
	if (op->garbage == GARBAGE_NOT_TURN &&
		(o->reason == TURN_DROP_NO_ALLOCATION || o->reason == TURN_DROP_CHANNEL_LENGTH ||
			o->reason == TURN_DROP_CHANNEL_UNBOUND))
		return NULL;
	return "garbage dropped for the wrong reason";
}

const char *naive_judge_own(struct naive *n, const struct op *op, const struct outcome *o)
{
	if (op->kind == OP_GARBAGE)
		return judge_garbage(n, op, o);
	return op->kind <= OP_BIND ? judge_request(n, op, o) : naive_judge_data(n, op, o);
}

// --- time and listings

// A reserved port of a realm that is not served any more: nobody can ask for it.
static bool is_of_gone_realm(const struct naive *n, const struct naive_hold *h)
{
	return h->reservation && h->user == MODEL_OTHER && turn_config_nb_realms(n->config) == 1;
}

unsigned int naive_restarted(struct naive *n, uint64_t now_ms, uint64_t wall_s, uint64_t adopted)
{
	unsigned int lost = 0;

	naive_clock(n, now_ms, wall_s);
	n->adopted = adopted;
	n->moves = 0; // counted from zero again
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		struct naive_hold *h = &n->hold[i];

		if (h->used && naive_live(n, h) && is_of_gone_realm(n, h)) {
			naive_release(n, h);
			lost++;
		} else if (h->used && !naive_live(n, h)) {
			naive_release(n, h);
		}
		if (!h->used || h->reservation)
			continue;
		h->mobile.has_path = false;
		h->mobile.before[0] = '\0';
		// A repeated Allocate is answered without its token. Only whole batches of 64
		// datagrams and of 64 KiB are known of the relayed traffic.
		h->has_token = false;
		memset(h->token, 0, sizeof(h->token));
		for (unsigned int leg = 0; leg < 2; leg++) {
			h->usage.leg[leg].datagrams &= ~UINT64_C(63);
			h->usage.leg[leg].bytes &= ~UINT64_C(0xffff);
		}
	}
	naive_rest_anew(n);
	return lost;
}

void naive_swept(struct naive *n)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		struct naive_hold *h = &n->hold[i];

		if (h->used && n->now_ms >= h->expires_ms + NAIVE_TICK_MS)
			naive_release(n, h);
		else if (h->used)
			naive_purge(n, h);
	}
}

static void sooner(const struct naive *n, uint64_t t, uint64_t *edge)
{
	if (t > n->now_ms && t < *edge)
		*edge = t;
}

uint64_t naive_edge(const struct naive *n)
{
	uint64_t edge = UINT64_MAX;

	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		const struct naive_hold *h = &n->hold[i];

		if (!h->used)
			continue;
		sooner(n, h->expires_ms, &edge);
		if (h->mobile.has_path)
			sooner(n, h->mobile.path_until_ms, &edge);
		for (unsigned int k = 0; k < h->nb_permissions; k++)
			sooner(n, h->permission[k].until_ms, &edge);
		for (unsigned int k = 0; k < h->nb_channels; k++)
			sooner(n, h->channel[k].until_ms, &edge);
	}
	return edge;
}

// Judges if a row of the listing matches the model's allocation.
static const char *judge_row(
	const struct naive *n, const struct naive_hold *h, const struct turn_info *row)
{
	const struct model_client *c = &n->w->client[h->client];
	const uint64_t left_ms = naive_live(n, h) ? h->expires_ms - n->now_ms : 0;
	unsigned int permissions = 0, channels = 0;

	for (unsigned int i = 0; i < h->nb_permissions; i++)
		permissions += n->now_ms < h->permission[i].until_ms;
	for (unsigned int i = 0; i < h->nb_channels; i++)
		channels += n->now_ms < h->channel[i].until_ms;
	if (!endpoint_eq(&row->client, &c->endpoint))
		return "listing: another client";
	if (row->realm != (h->user == MODEL_OTHER))
		return "listing: another realm";
	if (strncmp(row->user, n->w->user[h->key].name, TURN_NAME_LEN) != 0)
		return "listing: another user";
	if (row->expires_s != (left_ms + 999) / 1000 && row->expires_s != left_ms / 1000)
		return "listing: another expiry";
	for (unsigned int leg = 0; leg < 2; leg++)
		if (row->usage.leg[leg].datagrams != h->usage.leg[leg].datagrams ||
			row->usage.leg[leg].bytes != h->usage.leg[leg].bytes)
			return "listing: other counts of datagrams or bytes";
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		if (row->usage.lost[i] != h->usage.lost[i] && !h->dual)
			return "listing: other losses";
	if (naive_live(n, h) &&
		(row->permissions < permissions || row->permissions > h->nb_permissions ||
			row->channels < channels || row->channels > h->nb_channels))
		return "listing: other numbers of permissions or channels";
	return NULL;
}

static const char *judge_totals(const struct naive *n, const struct turn_shard *s, uint32_t quota)
{
	unsigned int allocations[2] = {0, 0}, holds[2] = {0, 0};
	struct turn_stats stats;

	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		const struct naive_hold *h = &n->hold[i];

		for (int most = naive_live(n, h) ? 0 : 1; most < 2; most++) {
			holds[most] += h->used;
			allocations[most] += h->used && !h->reservation;
		}
	}
	turn_shard_stats(s, &stats);
	if (stats.allocations < allocations[0] || stats.allocations > allocations[1])
		return "other number of allocations";
	if (quota < holds[0] || quota > holds[1])
		return "other number of allocations in the quota";
	return NULL;
}

const char *naive_judge_listing(struct naive *n, const struct turn_shard *s, uint32_t quota_total)
{
	struct turn_info row[NAIVE_HOLDS];
	const unsigned int rows = shard_rows(s, row, NAIVE_HOLDS);
	const char *wrong = judge_totals(n, s, quota_total);
	unsigned int found = 0, expected = 0;

	for (unsigned int i = 0; i < rows && wrong == NULL; i++) {
		const struct naive_hold *h = naive_holder(n, &row[i].relay);

		for (unsigned int k = 0; k < i; k++)
			if (row[k].id == row[i].id || endpoint_eq(&row[k].relay, &row[i].relay))
				return "listing: two rows of one allocation";
		if (h == NULL || h->reservation)
			return "listing: an allocation that does not exist";
		found += naive_live(n, h);
		wrong = judge_row(n, h, &row[i]);
	}
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		expected += naive_live(n, &n->hold[i]) && !n->hold[i].reservation;
	if (wrong == NULL && found != expected)
		return "listing: an allocation is missing";
	return wrong;
}
