// SPDX-License-Identifier: BSD-3-Clause
// Counters and events: each refused request has one reason, which fits its answer and the model's
// knowledge of the request, and the events of allocations add up to the existing allocations.
#include "naive.h"

#include <stdio.h>

// The reason to refuse an unauthenticated user (RFC 8489 9.2.4), TURN_GRANTED if the model knows no
// reason.
static enum turn_refusal stranger_reason(const struct naive *n, const struct op *op)
{
	const struct model_user *u = &n->w->user[op->user];
	const bool ours = !op->nonce.junk &&
		endpoint_eq(&op->nonce.client, &n->w->client[op->client].endpoint);

	switch (op->sign) {
	case SIGN_NONE:
		return TURN_REFUSED_CHALLENGE;
	case SIGN_NO_USER:
	case SIGN_NO_REALM:
	case SIGN_NO_NONCE:
		return TURN_REFUSED_INCOMPLETE;
	default:
		break;
	}
	if (!ours)
		return TURN_REFUSED_NONCE_FOREIGN;
	if (n->wall_s > op->nonce.wall_s + n->config->nonce_lifetime_s)
		return TURN_REFUSED_NONCE_STALE;
	if (op->sign == SIGN_LIST_ONLY || op->sign == SIGN_CHOICE_ONLY ||
		op->sign == SIGN_LIST_OTHER)
		return TURN_REFUSED_ALGORITHMS;
	if (!u->known && op->user == MODEL_OTHER) // and its realm is not known, either
		return TURN_REFUSED_REALM;
	if (naive_by_token(n, op))
		return naive_token_reason(n, op);
	if (!u->known || (u->expires_s != 0 && op->style == STYLE_USERHASH))
		return TURN_REFUSED_USER_UNKNOWN;
	if (naive_rest_past(n, op))
		return TURN_REFUSED_REST_EXPIRED;
	if (op->sign != SIGN_GOOD)
		return u->expires_s != 0 ? TURN_REFUSED_REST_PASSWORD : TURN_REFUSED_PASSWORD;
	return TURN_GRANTED;
}

// True if the model can accept a reason. It knows the reasons for unauthenticated users exactly,
// except in the second in which a REST name expires.
static bool reason_fits(const struct naive *n, const struct op *op, enum turn_refusal refusal)
{
	const enum turn_refusal stranger =
		op->kind == OP_BINDING ? TURN_GRANTED : stranger_reason(n, op);

	if (naive_rest_unsure(n, op))
		return true;
	if (stranger != TURN_GRANTED)
		return refusal == stranger;
	return refusal >= TURN_REFUSED_ATTRIBUTE && refusal != TURN_REFUSED_INTERNAL;
}

// The one reason that was counted; TURN_GRANTED if none was, TURN_REFUSAL_END if several were.
static enum turn_refusal counted(const struct turn_stats *before, const struct turn_stats *after)
{
	enum turn_refusal refusal = TURN_GRANTED;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < TURN_REFUSAL_END; i++) {
		sum += after->refused[i] - before->refused[i];
		if (after->refused[i] != before->refused[i])
			refusal = i;
	}
	return sum <= 1 ? refusal : TURN_REFUSAL_END;
}

static bool is_auth_failure(enum turn_refusal refusal)
{
	return turn_refusal_info(refusal)->code == 401 && refusal != TURN_REFUSED_CHALLENGE;
}

static const char *judge_refusal(struct naive *n, const struct op *op, const struct outcome *o,
	const struct turn_stats *before, const struct turn_stats *after)
{
	const enum turn_refusal refusal = counted(before, after);
	const uint64_t failures = after->auth_failures - before->auth_failures;
	const bool refused = o->verdict == TURN_REPLY && o->code != 0;
	const bool half = o->verdict == TURN_REPLY && o->address_error != 0;
	static char text[80];
	// a bit changed after signing may be in the transaction id, which then is an old one
	const bool fresh = op->tid > n->last_tid && op->sign != SIGN_TAMPERED;

	if (after->half_family != 0 ||
		after->half_capacity - before->half_capacity !=
			(half && after->allocations_total != before->allocations_total))
		return "half an Allocate counted wrongly";
	n->halves += after->half_capacity - before->half_capacity;
	if (!refused)
		return refusal == TURN_GRANTED && failures == 0 ? NULL
								: "a refusal that did not happen";
	if (refusal == TURN_GRANTED || refusal == TURN_REFUSAL_END)
		return "a refusal without one reason";
	snprintf(text, sizeof(text), "refused as %s", turn_refusal_info(refusal)->name);
	if (turn_refusal_info(refusal)->code != o->code || !reason_fits(n, op, refusal))
		return text;
	if (failures > is_auth_failure(refusal) || (fresh && failures != is_auth_failure(refusal)))
		return "auth_failures counts wrong";
	n->refused[refusal]++;
	n->fresh[refusal] += fresh;
	return NULL;
}

static const char *judge_made(const struct naive *n, const struct op *op, const struct outcome *o,
	const struct fixture_told *told)
{
	const struct turn_event *e = &told->event[(told->nb - 1) % FIXTURE_EVENTS];

	if (o->verdict != TURN_REPLY || op->kind != OP_ALLOCATE || o->code != 0)
		return "an event of an allocation that does not exist";
	if (e->kind != TURN_EVENT_MADE ||
		!endpoint_eq(&e->client, &n->w->client[op->client].endpoint) ||
		e->relay.port != o->relayed.port || e->lifetime_s != o->lifetime_s)
		return "a wrong event of an allocation";
	return NULL;
}

const char *naive_judge_told(struct naive *n, const struct op *op, const struct outcome *o,
	const struct turn_stats *before, const struct fixture *f)
{
	const struct turn_stats after = fixture_stats(f);
	const struct fixture_told *t = &f->told;
	const char *wrong = judge_refusal(n, op, o, before, &after);
	uint64_t ended = 0;

	for (unsigned int i = 0; i < TURN_END_END; i++)
		ended += t->ended[i];
	if (op->tid > n->last_tid)
		n->last_tid = op->tid;
	if (wrong == NULL &&
		(t->made != after.allocations_total ||
			t->made + n->adopted - ended != after.allocations))
		wrong = "events of other allocations than exist";
	if (wrong == NULL && (after.moves != n->moves || t->roamed != n->moves))
		wrong = "counts or events of other moves than happened";
	if (wrong == NULL && after.allocations_total != before->allocations_total)
		wrong = judge_made(n, op, o, t);
	return wrong;
}

const char *naive_judge_end(const struct naive *n, const struct fixture_told *told)
{
	uint64_t ended = 0;

	for (unsigned int i = 0; i < TURN_END_END; i++)
		ended += told->ended[i];
	if (ended != told->made)
		return "an allocation without an event for its end";
	for (unsigned int refusal = 0; refusal < TURN_REFUSAL_END; refusal++) {
		const bool usual =
			refusal == TURN_REFUSED_CHALLENGE || refusal == TURN_REFUSED_NONCE_STALE;

		if (told->refused[refusal] < (usual ? 0 : n->fresh[refusal]) ||
			told->refused[refusal] > (usual ? 0 : n->refused[refusal]))
			return "events of refusals that do not add up";
	}
	return NULL;
}
