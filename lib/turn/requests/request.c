// SPDX-License-Identifier: BSD-3-Clause
// Takes one STUN request from its checks to its answer: the prologue that all methods share (RFC
// 8489 6.3, 9.2.4; RFC 8656 5), the table of methods, and the three shapes of an answer.
#include "requests/request.h"
#include "auth/nonce.h"
#include "limits/stranger.h"
#include "requests/method.h"
#include "route.h"
#include "shard.h"

#define SOFTWARE "slipring"
#define SILENCE UINT32_MAX // stands in for an error code: send no answer at all

static const struct method {
	uint16_t method;
	bool authenticated; // demands long-term credentials
	bool allocation; // demands an allocation
	unsigned int (*handle)(struct turn_request *r);
} methods[] = {
	{STUN_BINDING, false, false, method_binding},
	{STUN_ALLOCATE, true, false, method_allocate},
	{STUN_REFRESH, true, true, method_refresh},
	{STUN_CREATE_PERMISSION, true, true, method_create_permission},
	{STUN_CHANNEL_BIND, true, true, method_channel_bind},
};

static const struct reason {
	unsigned int code;
	const char *text;
} reasons[] = {
	{400, "Bad Request"},
	{403, "Forbidden"},
	{420, "Unknown Attribute"},
	{437, "Allocation Mismatch"},
	{440, "Address Family not Supported"},
	{441, "Wrong Credentials"},
	{442, "Unsupported Transport Protocol"},
	{443, "Peer Address Family Mismatch"},
	{486, "Allocation Quota Reached"},
	{508, "Insufficient Capacity"},
};

static const char *reason_of(unsigned int code)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].code == code)
			return reasons[i].text;
	return "";
}

static const struct method *method_find(uint16_t method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].method == method)
			return &methods[i];
	return NULL;
}

static void put_unknown(struct turn_request *r)
{
	uint8_t list[TURN_SIDE_LEN / 2];
	uint16_t pos = 0, type;
	size_t len = 0;

	while (len + 2 <= sizeof(list) && stun_next_unknown(&r->m, &pos, &type)) {
		store_be16(list + len, type);
		len += 2;
	}
	stun_put(&r->w, STUN_UNKNOWN_ATTRIBUTES, list, len);
}

// Appends REALM, NONCE and PASSWORD-ALGORITHMS of a 401 or 438 (RFC 8489 9.2.4). Such an answer has
// no SOFTWARE and no reason phrase: what strangers can ask for stays small.
static bool put_challenge(struct turn_request *r)
{
	const struct turn_policy *p = r->s->policy;
	const struct endpoint client = {r->v->src, r->v->src_port};
	uint8_t nonce[NONCE_LEN];

	if (!nonce_make(p, r->s->crypto, &client, r->s->wall_s, nonce))
		return false;
	stun_put(&r->w, STUN_REALM, p->realm, strlen(p->realm));
	stun_put(&r->w, STUN_NONCE, nonce, NONCE_LEN);
	stun_put(&r->w, STUN_PASSWORD_ALGORITHMS, cred_algorithms, sizeof(cred_algorithms));
	return true;
}

// Begins an error response in the writer's buffer, over anything that is there.
static void begin_error(struct turn_request *r, unsigned int code, bool signed_)
{
	stun_begin(&r->w, r->w.buf, r->w.cap, STUN_ERROR, r->m.method, stun_tid(&r->m));
	stun_put_error(&r->w, code,
		!signed_                    ? ""
			: r->reason != NULL ? r->reason
					    : reason_of(code));
	if (code == 420)
		put_unknown(r);
}

// Appends integrity and fingerprint, and makes the plan.
static void finish(struct turn_request *r, bool signed_, struct turn_plan *plan)
{
	uint16_t len;

	if (signed_) {
		// Signs with the same kind that the request had: clients that answer
		// PASSWORD-ALGORITHMS and sign with SHA-1 look for no other kind (doc/protocol.md,
		// deviations).
		const bool sha256 = stun_has(&r->m, STUN_MESSAGE_INTEGRITY_SHA256);

		stun_put_integrity(
			&r->w, r->s->crypto, sha256 ? STUN_ALG_SHA256 : STUN_ALG_MD5, &r->cred.key);
	}
	if (stun_has(&r->m, STUN_FINGERPRINT))
		stun_put_fingerprint(&r->w);
	len = stun_end(&r->w);
	if (len == 0)
		return route_drop(plan, TURN_DROP_INTERNAL);
	*plan = (struct turn_plan){.verdict = TURN_REPLY, .front_len = len};
}

// Answers a request whose sender has not proved who they are, as far as the budgets allow; else
// stays silent.
static void answer_stranger(struct turn_request *r, unsigned int code, struct turn_plan *plan)
{
	if (code == SILENCE)
		return route_drop(plan, TURN_DROP_GUESS_RATE);
	if (code == 401 && stun_has(&r->m, STUN_NONCE))
		r->s->stats.auth_failures++;
	if (!stranger_answers(r))
		return route_drop(plan, TURN_DROP_UNAUTHENTICATED_RATE);
	begin_error(r, code, false);
	if ((code == 401 || code == 438) && !put_challenge(r))
		return route_drop(plan, TURN_DROP_INTERNAL);
	finish(r, false, plan);
}

// Calls cred_verify with what the allocation keeps of the REST name that made it.
static unsigned int verify(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	const struct stun_msg *m = &r->m;
	const size_t len = m->alen[STUN_USERNAME];
	struct turn_cred known;
	uint8_t userhash[32];
	bool has_known;
	unsigned int code;

	has_known = r->slot != TURN_NONE && cold_at(s, r->slot)->rest && len <= STUN_TEXT_MAX &&
		stun_userhash(s->crypto, m->data + m->off[STUN_USERNAME], len, s->policy->realm,
			userhash) &&
		alloc_cred(s, r->slot, userhash, &known);
	code = cred_verify(s->policy, s->crypto, m, s->wall_s, has_known ? &known : NULL, &r->cred);
	if (has_known)
		explicit_bzero(&known, sizeof(known));
	return code;
}

// Finds out what the NONCE of a request shows about its source address.
static enum nonce_state prove(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	const struct endpoint client = {r->v->src, r->v->src_port};
	enum nonce_state state;

	if (m->alen[STUN_NONCE] != NONCE_LEN)
		return NONCE_FOREIGN;
	state = nonce_check(
		r->s->policy, r->s->crypto, &client, r->s->wall_s, m->data + m->off[STUN_NONCE]);
	if (state == NONCE_VALID)
		r->proof = PROOF_ADDRESS;
	else if (state == NONCE_STALE && r->proof == PROOF_NONE)
		r->proof = PROOF_STALE;
	return state;
}

// Authenticates as RFC 8489 9.2.4 says, but checks the nonce first: a stale one is answered before
// any key is looked up or derived (doc/decisions/0002). Returns 0, the error code, or SILENCE.
static unsigned int authenticate(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	unsigned int code;

	if (!stun_has(m, STUN_MESSAGE_INTEGRITY) && !stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256))
		return 401;
	if ((!stun_has(m, STUN_USERNAME) && !stun_has(m, STUN_USERHASH)) ||
		!stun_has(m, STUN_REALM) || !stun_has(m, STUN_NONCE))
		return 400;
	if (prove(r) != NONCE_VALID)
		return 438;
	if (!stranger_may_guess(r))
		return SILENCE;
	code = verify(r);
	if (code == 401 && r->cred.guess)
		stranger_guessed(r);
	return code;
}

// Checks that every authenticated request has to pass before its handler (RFC 8489 6.3.1, RFC 8656
// 5).
static unsigned int admit(struct turn_request *r, const struct method *method)
{
	if (r->m.nb_unknown > 0)
		return 420;
	if (!method->allocation)
		return 0;
	if (r->slot == TURN_NONE)
		return 437;
	if (cold_at(r->s, r->slot)->who != alloc_who(r->s, r->cred.ident))
		return 441;
	return 0;
}

// If an Allocate that came by a redirect has failed, the redirect is ended.
static void drop_redirect(struct turn_request *r, const struct method *method)
{
	if (method->method == STUN_ALLOCATE && r->slot == TURN_NONE)
		redirect_note(r->s, r->v->via, r->v, 0);
}

static void handle_signed(
	struct turn_request *r, const struct method *method, struct turn_plan *plan)
{
	unsigned int code = admit(r, method);

	if (code == 0) {
		stun_begin(&r->w, r->w.buf, r->w.cap, STUN_SUCCESS, r->m.method, stun_tid(&r->m));
		code = method->handle(r);
	}
	if (r->handover) {
		*plan = (struct turn_plan){.verdict = TURN_HANDOVER, .flow = r->worker};
		return;
	}
	if (code != 0) {
		begin_error(r, code, true);
		drop_redirect(r, method);
	} else if (method->method == STUN_ALLOCATE || method->method == STUN_REFRESH) {
		stun_put(&r->w, STUN_SOFTWARE, SOFTWARE, strlen(SOFTWARE));
	}
	finish(r, true, plan);
}

// Binding is never authenticated (RFC 8489 12). Over UDP its answers have a budget of their own.
static void handle_binding(
	struct turn_request *r, const struct method *method, struct turn_plan *plan)
{
	struct turn_shard *s = r->s;

	if (r->proof != PROOF_ADDRESS &&
		!limiter_allow(s->binding, &s->policy->limits.binding, s->workers,
			limiter_source(s->binding, &r->v->src), s->now_ms))
		return route_drop(plan, TURN_DROP_BINDING_RATE);
	if (r->m.nb_unknown > 0) {
		begin_error(r, 420, false);
	} else {
		stun_begin(&r->w, r->w.buf, r->w.cap, STUN_SUCCESS, r->m.method, stun_tid(&r->m));
		method->handle(r);
	}
	finish(r, false, plan);
}

void turn_request(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side)
{
	struct turn_request r = {.s = s, .v = v, .m = *m, .slot = v->slot};
	const struct method *method = method_find(m->method);
	unsigned int code;

	if (method == NULL)
		return route_drop(plan, TURN_DROP_METHOD);
	r.w.buf = side->front;
	r.w.cap = sizeof(side->front);
	if (shard_handshakes(s, v->listener))
		r.proof = PROOF_ADDRESS;
	if (!method->authenticated)
		return handle_binding(&r, method, plan);
	// An allocation past its time that has not been swept yet counts as gone.
	if (r.slot != TURN_NONE && alloc_left(s, r.slot) == 0) {
		alloc_end(s, r.slot);
		r.slot = TURN_NONE;
	}
	code = authenticate(&r);
	if (code != 0)
		return answer_stranger(&r, code, plan);
	handle_signed(&r, method, plan);
}
