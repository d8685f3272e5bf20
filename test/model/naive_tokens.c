// SPDX-License-Identifier: BSD-3-Clause
// Grants and refusals of RFC 7635 for users with access tokens.
#include "naive.h"

bool naive_by_token(const struct naive *n, const struct op *op)
{
	return op->access != ACCESS_NONE || n->w->user[op->user].token;
}

// A request without a token is signed with the key of the allocation's token, and cannot prolong
// that token.
static enum turn_refusal without(const struct naive *n, const struct op *op)
{
	const struct model_user *u = &n->w->user[op->user];
	const struct naive_hold *h = naive_allocation((struct naive *)n, op->client);

	if (h == NULL)
		h = naive_path((struct naive *)n, op->client);
	if (h == NULL || !n->w->user[h->key].token || op->style == STYLE_USERHASH ||
		strcmp(n->w->user[h->key].name, u->name) != 0)
		return TURN_REFUSED_USER_UNKNOWN;
	if (h->key != op->user || op->sign != SIGN_GOOD)
		return TURN_REFUSED_ACCESS_SIGNATURE;
	if (op->kind == OP_REFRESH && !(op->has_lifetime && op->lifetime_s == 0))
		return TURN_REFUSED_ACCESS_MISSING;
	return TURN_GRANTED;
}

static enum turn_refusal reason(const struct naive *n, const struct op *op)
{
	const struct model_user *u = &n->w->user[op->user];

	if (op->access == ACCESS_NONE)
		return without(n, op);
	if (!u->token || !u->known || op->style == STYLE_USERHASH)
		return TURN_REFUSED_ACCESS_KEY;
	if (op->access == ACCESS_CUT)
		return TURN_REFUSED_ACCESS_MALFORMED;
	if (op->access == ACCESS_FORGED || op->access == ACCESS_NAME)
		return TURN_REFUSED_ACCESS_FORGED;
	if (op->sign != SIGN_GOOD)
		return TURN_REFUSED_ACCESS_SIGNATURE;
	if (op->access == ACCESS_FUTURE)
		return TURN_REFUSED_ACCESS_FUTURE;
	if (n->wall_s >= 5 + (op->access == ACCESS_EXPIRED ? FIXTURE_WALL_S : u->token_end_s))
		return TURN_REFUSED_ACCESS_EXPIRED;
	return TURN_GRANTED;
}

void naive_token_look(struct naive *n, const struct op *op)
{
	n->token_reason = reason(n, op);
}

enum turn_refusal naive_token_reason(const struct naive *n, const struct op *op)
{
	return n->token_reason;
}

void naive_rekey(struct naive *n, const struct op *op, bool end)
{
	for (int v4 = 0; v4 < 2 && !end; v4++) {
		struct naive_hold *h = naive_of_family(n, op->client, v4);

		if (h != NULL)
			h->key = op->user;
	}
}

uint32_t naive_token_lifetime(const struct naive *n, const struct op *op, uint32_t asked)
{
	const uint32_t least = n->config->limits.lifetime_default_s;
	const uint32_t granted = asked > least ? asked : least;
	const struct model_user *u = &n->w->user[op->user];
	const uint64_t end_s = op->access == ACCESS_EXPIRED ? FIXTURE_WALL_S : u->token_end_s;

	if (!u->token || end_s >= n->wall_s + granted)
		return granted;
	return end_s > n->wall_s ? (uint32_t)(end_s - n->wall_s) : 1;
}

bool naive_is_same(const struct naive *n, const struct naive_hold *h, const struct op *op)
{
	const struct model_user *a = &n->w->user[h->key], *b = &n->w->user[op->user];

	return a->token && b->token ? strcmp(a->name, b->name) == 0 : h->user == op->user;
}

bool naive_is_other(const struct naive *n, const struct naive_hold *h, const struct op *op)
{
	const bool token = n->w->user[op->user].token;

	return token != n->w->user[h->user].token || (!token && h->user != op->user);
}

// --- REST names

// True if it is uncertain that a REST name has expired: it expires in this very second; or the
// Allocate may be a retransmission, which the server recognizes by its signature.
bool naive_rest_unsure(const struct naive *n, const struct op *op)
{
	const struct model_user *u = &n->w->user[op->user];
	const struct naive_hold *h = naive_allocation((struct naive *)n, op->client);

	return u->expires_s == n->wall_s ||
		(u->expires_s != 0 && u->expires_s < n->wall_s && op->kind == OP_ALLOCATE &&
			n->config->rest_expiry == TURN_REST_IGNORED && h != NULL &&
			!(h->mobile.has_path && n->now_ms < h->mobile.path_until_ms) &&
			h->user == op->user);
}

// True if an op is refused because the time in its REST name has passed.
bool naive_rest_past(const struct naive *n, const struct op *op)
{
	const uint64_t expires_s = n->w->user[op->user].expires_s;

	return expires_s != 0 && expires_s < n->wall_s && !naive_rest_unsure(n, op) &&
		(op->kind == OP_ALLOCATE || n->config->rest_expiry != TURN_REST_IGNORED);
}
