// SPDX-License-Identifier: BSD-3-Clause
// Takes one STUN request from its checks to its answer: the checks that all methods share (RFC 8489
// 6.3, 9.2.4; RFC 8656 5), the table of methods, and the three kinds of answers.
#include "requests/request.h"
#include "auth/blocks.h"
#include "auth/nonce.h"
#include "events/tell.h"
#include "limits/stranger.h"
#include "requests/method.h"
#include "route.h"
#include "shard.h"

#define SOFTWARE "slipring"

static const struct method {
	uint16_t method;
	bool authenticated; // requires long-term credentials
	bool allocation; // requires an allocation
	bool (*is_on)(const struct turn_shard *s); // else it is unknown; NULL = always on
	enum turn_refusal (*handle)(struct turn_request *r);
} methods[] = {{STUN_BINDING, false, false, NULL, method_binding},
	{STUN_ALLOCATE, true, false, NULL, method_allocate},
	{STUN_REFRESH, true, true, NULL, method_refresh},
	{STUN_CREATE_PERMISSION, true, true, NULL, method_create_permission},
	{STUN_CHANNEL_BIND, true, true, NULL, method_channel_bind},
#define X(method, allocation, is_on, handle) {method, true, allocation, is_on, handle},
	TURN_METHODS(X)
#undef X
};

// The default phrases (RFC 8489 14.8, RFC 8656 19).
static const struct reason {
	unsigned int code;
	const char *text;
} reasons[] = {
	{300, "Try Alternate"},
	{400, "Bad Request"},
	{403, "Forbidden"},
	{420, "Unknown Attribute"},
	{437, "Allocation Mismatch"},
	{440, "Address Family not Supported"},
	{441, "Wrong Credentials"},
	{442, "Unsupported Transport Protocol"},
	{443, "Peer Address Family Mismatch"},
	{446, "Connection Already Exists"},
	{447, "Connection Timeout or Failure"},
	{486, "Allocation Quota Reached"},
	{508, "Insufficient Capacity"},
};

static const char *usual_phrase(unsigned int code)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].code == code)
			return reasons[i].text;
	return "";
}

static const char *phrase_of(const struct turn_refusal_info *info)
{
	return info->phrase[0] != '\0' ? info->phrase : usual_phrase(info->code);
}

static const struct method *method_find(const struct turn_shard *s, uint16_t method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].method == method &&
			(methods[i].is_on == NULL || methods[i].is_on(s)))
			return &methods[i];
	return NULL;
}

// True if a request has an attribute that the parser knows, but that this request may not have.
static bool is_odd(const struct turn_request *r)
{
	bool found = false;

#define X(type, is_unknown) found |= is_unknown(r->policy, &r->m);
	TURN_ATTRIBUTES(X)
#undef X
	return found;
}

// True if a feature knows an attribute of a request that the parser does not know.
static bool is_known(const struct turn_request *r, uint16_t type)
{
#define X(knows, read, put, plan) \
	if (knows(r, type))       \
		return true;
	TURN_BINDING(X)
#undef X
	return false;
}

static void put_unknown(struct turn_request *r)
{
	uint8_t list[TURN_SIDE_LEN / 2];
	uint16_t pos = 0, type;
	size_t len = 0;

#define X(number, is_unknown)                   \
	if (is_unknown(r->policy, &r->m)) {     \
		store_be16(list + len, number); \
		len += 2;                       \
	}
	TURN_ATTRIBUTES(X)
#undef X
	while (len + 2 <= sizeof(list) && stun_next_unknown(&r->m, &pos, &type)) {
		if (!is_known(r, type)) {
			store_be16(list + len, type);
			len += 2;
		}
	}
	stun_put(&r->w, STUN_UNKNOWN_ATTRIBUTES, list, len);
}

// Some clients reuse a nonce on another connection, and do not retry there: for ConnectionBind
// (pion), and for Allocate after a 300 to another server of the fleet (Chromium).
static struct nonce_client nonce_client_of(const struct turn_request *r)
{
	return (struct nonce_client){.endpoint = {r->v->src, r->v->src_port},
		.stream = turn_listener_is_stream(&r->s->listener[r->v->listener]),
		.any_port = r->m.method == STUN_CONNECTION_BIND ||
			(r->m.method == STUN_ALLOCATE && r->policy->nonces_shared)};
}

// Appends REALM, NONCE and PASSWORD-ALGORITHMS of a 401 or 438 (RFC 8489 9.2.4), and what features
// add. Such an answer has no SOFTWARE and no reason phrase: answers to strangers stay small.
static bool put_challenge(struct turn_request *r)
{
	const struct turn_policy *p = r->policy;
	const struct nonce_client client = nonce_client_of(r);
	const uint8_t *algorithms;
	size_t algorithms_len;
	uint8_t nonce[NONCE_LEN];

	if (!nonce_make(p, r->s->crypto, &client, r->s->wall_s, nonce))
		return false;
	stun_put(&r->w, STUN_REALM, p->realm, strlen(p->realm));
	stun_put(&r->w, STUN_NONCE, nonce, NONCE_LEN);
	algorithms_len = cred_algorithms(p, &algorithms);
	stun_put(&r->w, STUN_PASSWORD_ALGORITHMS, algorithms, algorithms_len);
#define X(put) put(r);
	TURN_CHALLENGE(X)
#undef X
	return true;
}

// Begins an answer in the writer's buffer, and discards its contents.
static void begin_answer(struct turn_request *r, enum stun_class cls)
{
	stun_begin(&r->w, r->w.buf, r->w.cap, cls, r->m.method, stun_tid(&r->m));
	if (stun_is_rfc3489(&r->m))
		stun_echo_rfc3489(&r->w, &r->m);
}

static void begin_error(struct turn_request *r, enum turn_refusal refusal, bool signed_)
{
	const struct turn_refusal_info *info = turn_refusal_info(refusal);

	begin_answer(r, STUN_ERROR);
	stun_put_error(&r->w, info->code, signed_ ? phrase_of(info) : "");
	if (refusal == TURN_REFUSED_ATTRIBUTE)
		put_unknown(r);
#define X(refuse, put)         \
	if (info->code == 300) \
		put(r);
	TURN_REFUSE_NEW(X)
#undef X
}

void request_begin_error(struct turn_request *r, unsigned int code)
{
	begin_answer(r, STUN_ERROR);
	stun_put_error(&r->w, code, usual_phrase(code));
}

uint16_t request_sign(struct turn_request *r, bool signed_)
{
	if (signed_) {
		// Signs with the kind that the request had: clients that echo PASSWORD-ALGORITHMS
		// and sign with SHA-1 accept no other kind (doc/protocol.md, deviations).
		const bool sha256 = stun_has(&r->m, STUN_MESSAGE_INTEGRITY_SHA256);

		stun_put_integrity(
			&r->w, r->s->crypto, sha256 ? STUN_ALG_SHA256 : STUN_ALG_MD5, &r->cred.key);
	}
	if (stun_has(&r->m, STUN_FINGERPRINT))
		stun_put_fingerprint(&r->w);
	return stun_end(&r->w);
}

// Signs the answer and makes the plan. Returns refusal, or TURN_REFUSED_INTERNAL if there is no
// answer.
static enum turn_refusal finish_answer(
	struct turn_request *r, enum turn_refusal refusal, bool signed_, struct turn_plan *plan)
{
	const uint16_t len = request_sign(r, signed_);

	if (len == 0)
		return TURN_REFUSED_INTERNAL;
	*plan = (struct turn_plan){.verdict = TURN_REPLY, .front_len = len};
	return refusal;
}

// Answers a request whose sender is not authenticated, within the budgets; else stays silent.
// Returns the resulting refusal.
static enum turn_refusal answer_stranger(
	struct turn_request *r, enum turn_refusal refusal, struct turn_plan *plan)
{
	const unsigned int code = turn_refusal_info(refusal)->code;

	if (code == 0)
		return refusal;
	if (!stranger_answers(r))
		return TURN_REFUSED_UNANSWERED;
	begin_error(r, refusal, false);
	if ((code == 401 || code == 438) && !put_challenge(r))
		return TURN_REFUSED_INTERNAL;
	return finish_answer(r, refusal, false, plan);
}

// While a client moves, either 5-tuple may be another client's: an Allocate does not use it.
static bool may_be_other(const struct turn_request *r)
{
#define X(may_move, leave, used)                                     \
	if (r->m.method == STUN_ALLOCATE && may_move(r->s, r->slot)) \
		return true;
	TURN_TUPLES(X)
#undef X
	return false;
}

// Calls cred_verify with what the allocation stores of its user's credentials.
static enum turn_refusal verify_request(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	const struct stun_msg *m = &r->m;
	const size_t len = m->alen[STUN_USERNAME];
	struct turn_cred known;
	uint8_t userhash[32];
	enum turn_refusal refusal;
	bool has_known;

	has_known = r->slot != TURN_NONE &&
		((alloc_has_key(s, r->slot) && !may_be_other(r)) || alloc_by_token(s, r->slot)) &&
		len <= STUN_TEXT_MAX &&
		stun_userhash(s->crypto, m->data + m->off[STUN_USERNAME], len, r->policy->realm,
			userhash) &&
		alloc_cred(s, r->slot, userhash, &known);
	refusal = cred_verify(
		r->policy, s->crypto, m, s->wall_s, has_known ? &known : NULL, &r->cred);
#define X(verify, waits)             \
	if (refusal != TURN_GRANTED) \
		refusal = verify(r, refusal, has_known ? &known : NULL);
	TURN_ELSEWHERE(X)
#undef X
	if (has_known)
		explicit_bzero(&known, sizeof(known));
	return refusal;
}

// Checks the NONCE of a request, and records what it proves about the source address.
static enum nonce_state prove_source(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	const struct nonce_client client = nonce_client_of(r);
	enum nonce_state state;

	if (m->alen[STUN_NONCE] != NONCE_LEN)
		return NONCE_FOREIGN;
	state = nonce_check(
		r->policy, r->s->crypto, &client, r->s->wall_s, m->data + m->off[STUN_NONCE]);
	if (state == NONCE_VALID)
		r->proof = PROOF_ADDRESS;
	else if (state == NONCE_STALE && r->proof == PROOF_NONE)
		r->proof = PROOF_STALE;
	return state;
}

// Authenticates as in RFC 8489 9.2.4, but checks the nonce first: a stale one is answered before
// any key is looked up or derived (doc/decisions/0002).
static enum turn_refusal authenticate_request(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	enum nonce_state nonce;
	enum turn_refusal refusal;
	struct guess guess;

	if (!stun_has(m, STUN_MESSAGE_INTEGRITY) && !stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256))
		return TURN_REFUSED_CHALLENGE;
	if ((!stun_has(m, STUN_USERNAME) && !stun_has(m, STUN_USERHASH)) ||
		!stun_has(m, STUN_REALM) || !stun_has(m, STUN_NONCE))
		return TURN_REFUSED_INCOMPLETE;
	nonce = prove_source(r);
	if (nonce != NONCE_VALID)
		return nonce == NONCE_STALE ? TURN_REFUSED_NONCE_STALE : TURN_REFUSED_NONCE_FOREIGN;
	guess = stranger_guess(r);
	if (!stranger_may_guess(r, &guess))
		return TURN_REFUSED_GUESSES;
	refusal = verify_request(r);
	if (refusal != TURN_GRANTED && refusal != TURN_REFUSED_INTERNAL && r->cred.guess)
		stranger_guessed(r, &guess);
	else if (refusal == TURN_GRANTED && r->slot == TURN_NONE)
		stranger_passed(r, &guess);
	// a client that has only a token will never sign in another way
	return refusal != TURN_GRANTED && is_odd(r) ? TURN_REFUSED_ATTRIBUTE : refusal;
}

// Checks that every authenticated request must pass before its handler runs (RFC 8489 6.3.1, RFC
// 8656 5).
static enum turn_refusal admit_request(struct turn_request *r, const struct method *method)
{
	if (r->m.nb_unknown > 0 || is_odd(r))
		return TURN_REFUSED_ATTRIBUTE;
	if (blocks_signer(r))
		return TURN_REFUSED_USER_BLOCKED;
	if (!method->allocation)
		return TURN_GRANTED;
#define X(is_named, find, begin) \
	if (is_named(r))         \
		return find(r);
	TURN_NAMED(X)
#undef X
	if (r->slot == TURN_NONE)
		return TURN_REFUSED_NO_ALLOCATION;
	if (!alloc_is_of(r->s, r->slot, &r->cred, r->policy->number))
		return TURN_REFUSED_OTHER_USER;
#define X(may_move, leave, used) used(r->s, r->slot, r->v);
	TURN_TUPLES(X)
#undef X
	return TURN_GRANTED;
}

// Ends the redirect if a redirected Allocate has failed, or a request for an allocation that the
// 5-tuple does not have.
static void drop_redirect(struct turn_request *r, const struct method *method)
{
	bool ends = method->method == STUN_ALLOCATE && r->slot == TURN_NONE;

#define X(is_named, find, begin) ends = ends || (is_named(r) && r->tuple_slot == TURN_NONE);
	TURN_NAMED(X)
#undef X
	if (ends)
		redirect_gone(r->s, r->v->via, r->v);
}

static enum turn_refusal handle_signed(
	struct turn_request *r, const struct method *method, struct turn_plan *plan)
{
	enum turn_refusal refusal = admit_request(r, method);

	if (refusal == TURN_GRANTED && !r->handover) {
		begin_answer(r, STUN_SUCCESS);
		refusal = method->handle(r);
	}
	if (r->handover) {
		*plan = (struct turn_plan){.verdict = TURN_HANDOVER, .flow = r->worker};
		return TURN_GRANTED;
	}
	if (refusal != TURN_GRANTED) {
		drop_redirect(r, method);
		if (turn_refusal_info(refusal)->code == 0)
			return refusal;
		begin_error(r, refusal, true);
	} else if (method->method == STUN_ALLOCATE || method->method == STUN_REFRESH) {
		stun_put(&r->w, STUN_SOFTWARE, SOFTWARE, strlen(SOFTWARE));
	}
#define X(is_many, answer)                         \
	if (refusal == TURN_GRANTED && is_many(r)) \
		return answer(r, plan);
	TURN_ANSWERS(X)
#undef X
	return finish_answer(r, refusal, true, plan);
}

// True if the listener answers Binding requests of this kind.
static bool is_answered(const struct turn_request *r)
{
	const uint8_t binding = r->s->listener[r->v->listener].binding;

	return binding == TURN_BINDING_ALL ||
		(binding == TURN_BINDING_RFC8489 && !stun_is_rfc3489(&r->m));
}

// Has the features read the attributes that the parser does not know.
static enum turn_refusal read_binding(struct turn_request *r)
{
	uint16_t pos = 0, type;

	while (stun_next_unknown(&r->m, &pos, &type))
		if (!is_known(r, type))
			return TURN_REFUSED_ATTRIBUTE;
#define X(knows, read, put, plan) \
	if (!read(r))             \
		return TURN_REFUSED_MALFORMED;
	TURN_BINDING(X)
#undef X
	return TURN_GRANTED;
}

// Binding is never authenticated (RFC 8489 12). Over UDP its answers have their own budget.
static enum turn_refusal handle_binding(
	struct turn_request *r, const struct method *method, struct turn_plan *plan)
{
	struct turn_shard *s = r->s;
	enum turn_refusal refusal;

	if (r->proof != PROOF_ADDRESS &&
		!limiter_take(&s->limiter[TURN_LIMIT_BINDING], &s->policy->limits.binding,
			&r->v->src, s->now_ms))
		return TURN_REFUSED_BINDING_RATE;
	refusal = r->m.nb_unknown > 0 ? read_binding(r) : TURN_GRANTED;
	if (is_odd(r))
		refusal = TURN_REFUSED_ATTRIBUTE;
	if (refusal != TURN_GRANTED) {
		begin_error(r, refusal, false);
		return finish_answer(r, refusal, false, plan);
	}
	begin_answer(r, STUN_SUCCESS);
	refusal = finish_answer(r, method->handle(r), false, plan);
#define X(knows, read, put, plan_answer) \
	if (refusal == TURN_GRANTED)     \
		plan_answer(r, plan);
	TURN_BINDING(X)
#undef X
	return refusal;
}

static enum turn_refusal handle_method(
	struct turn_request *r, const struct method *method, struct turn_plan *plan)
{
	enum turn_refusal refusal;

	if (!method->authenticated)
		return handle_binding(r, method, plan);
	// An expired allocation that the timer has not ended yet counts as ended.
	if (r->slot != TURN_NONE)
		r->slot = alloc_sweep(r->s, r->slot);
#define X(nb, nth, numbered, serves, choose) r->policy = choose(r);
	TURN_REALMS(X)
#undef X
	refusal = authenticate_request(r);
	if (refusal != TURN_GRANTED)
		return answer_stranger(r, refusal, plan);
	return handle_signed(r, method, plan);
}

// The drop reason of a request that is refused without an answer.
static enum turn_drop drop_of(enum turn_refusal refusal)
{
	switch (refusal) {
	case TURN_REFUSED_GUESSES:
		return TURN_DROP_GUESS_RATE;
	case TURN_REFUSED_UNANSWERED:
		return TURN_DROP_UNAUTHENTICATED_RATE;
	case TURN_REFUSED_BINDING_RATE:
		return TURN_DROP_BINDING_RATE;
	case TURN_REFUSED_LOOKUP:
	case TURN_REFUSED_LOOKUP_FULL:
		return TURN_DROP_LOOKUP;
	default:
		return TURN_DROP_INTERNAL;
	}
}

void turn_request(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side)
{
	struct turn_request r = {.s = s,
		.v = v,
		.m = *m,
		.policy = s->policy,
		.slot = v->slot,
		.tuple_slot = v->slot,
		.side = side};
	const struct method *method = method_find(s, m->method);
	enum turn_refusal refusal;

	if (method == NULL)
		return route_drop(plan, TURN_DROP_METHOD);
	if (method->method == STUN_BINDING && !is_answered(&r))
		return route_drop(plan, TURN_DROP_BINDING_OFF);
	if (turn_view_is_back(v)) // this is the home of its client
		v->via = TURN_NO_WORKER;
	r.w.buf = side->front;
	r.w.cap = sizeof(side->front);
	if (shard_handshakes(s, v->listener))
		r.proof = PROOF_ADDRESS;
	refusal = handle_method(&r, method, plan);
	if (refusal == TURN_GRANTED)
		return;
#define X(verify, waits)     \
	if (waits(&r, plan)) \
		return;
	TURN_ELSEWHERE(X)
#undef X
	if (turn_refusal_info(refusal)->code == 0)
		route_drop(plan, drop_of(refusal));
	tell_refused(&r, refusal);
}
