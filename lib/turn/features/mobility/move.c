// SPDX-License-Identifier: BSD-3-Clause
// Requests with a MOBILITY-TICKET. All functions here run for signed requests only: no ticket is
// read before that.
#include "features/mobility/move.h"
#include "alloc.h"
#include "auth/cred.h"
#include "features/mobility/mobile.h"
#include "features/mobility/ticket.h"
#include "redirect.h"
#include "requests/request.h"
#include "shard.h"
#include "state/writer.h"

// --- Allocate ------------------------------------------------------------------------------------

enum turn_refusal move_wanted(const struct turn_request *r)
{
	if (r->s->mobile == NULL)
		return TURN_REFUSED_MOBILITY;
	return r->m.alen[STUN_MOBILITY_TICKET] == 0 ? TURN_GRANTED : TURN_REFUSED_MALFORMED;
}

void move_made(const struct turn_request *r, uint32_t slot)
{
	mobile_begin(r->s, slot, quota_source(&r->v->src));
	state_moved(r->s, slot);
}

void move_put_ticket(struct turn_request *r, uint32_t slot)
{
	const struct turn_shard *s = r->s;
	const struct mobile *m = mobile_of(s, slot);
	uint8_t text[TICKET_LEN];

	if (m != NULL &&
		ticket_seal(s->crypto, &s->policy->ticket, &(struct ticket){m->handle, m->serial},
			text))
		stun_put(&r->w, STUN_MOBILITY_TICKET, text, sizeof(text));
}

// --- Refresh: finding ----------------------------------------------------------------------------

// True if the 5-tuple has no allocation, or loses it now.
static bool is_free(struct turn_request *r)
{
	if (r->tuple_slot != TURN_NONE && mobile_leave(r->s, r->tuple_slot, r->v))
		r->tuple_slot = TURN_NONE;
	return r->tuple_slot == TURN_NONE;
}

// The home of the 5-tuple only leads the client to an allocation on another worker.
static enum turn_refusal lead_client(struct turn_request *r, uint8_t worker)
{
	struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	if (worker >= s->workers || r->v->via != TURN_NO_WORKER)
		return TURN_REFUSED_TICKET;
	if (!is_free(r))
		return TURN_REFUSED_ALLOCATED;
	if (!cred_quota_ident(r->policy, s->crypto, &r->m, &r->cred, ident))
		return TURN_REFUSED_INTERNAL;
	if (!redirect_lead(s, REDIRECT_MOVES, r->v, worker,
		    quota_user(s->quota, r->policy->number, ident)))
		return TURN_REFUSED_MOVES;
	r->handover = true;
	r->worker = worker;
	return TURN_GRANTED;
}

// Accepts the last ticket, and the previous one as long as the answer with the last one may be
// lost.
static bool is_good(const struct turn_shard *s, const struct mobile *m, uint32_t serial)
{
	return serial == m->serial || (serial == m->before && s->now_ms < m->until_ms);
}

enum turn_refusal move_find(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	struct turn_shard *s = r->s;
	struct ticket t;
	uint32_t slot;

	if (s->mobile == NULL)
		return TURN_REFUSED_MOBILITY;
	if (m->alen[STUN_MOBILITY_TICKET] == 0)
		return TURN_REFUSED_MALFORMED;
	if (m->alen[STUN_MOBILITY_TICKET] != TICKET_LEN ||
		!ticket_open(
			s->crypto, &s->policy->ticket, m->data + m->off[STUN_MOBILITY_TICKET], &t))
		return TURN_REFUSED_TICKET;
	r->tuple_slot = r->slot;
	if (alloc_id_worker(t.handle) != s->worker)
		return lead_client(r, alloc_id_worker(t.handle));
	slot = mobile_find(s, t.handle);
	if (slot != TURN_NONE)
		slot = alloc_sweep(s, slot);
	if (slot == TURN_NONE)
		return TURN_REFUSED_TICKET;
	if (!alloc_is_of_far(s, slot, &r->cred, r->policy->number))
		return TURN_REFUSED_OTHER_USER;
	if (!is_good(s, mobile_of(s, slot), t.serial))
		return TURN_REFUSED_TICKET;
	if (r->tuple_slot != slot && !is_free(r))
		return TURN_REFUSED_ALLOCATED;
	r->slot = slot;
	r->move.ticket = t.serial;
	return TURN_GRANTED;
}

// --- Refresh: moving -----------------------------------------------------------------------------

// Gives the allocation a new ticket in exchange for that of the request.
static void renew_ticket(struct turn_request *r, struct mobile *m)
{
	m->before = r->move.ticket;
	m->serial++;
	m->until_ms = r->s->now_ms + MOBILE_PATH_MS;
}

// The client comes from a new 5-tuple.
static enum turn_refusal start_path(struct turn_request *r, struct mobile *m)
{
	if (!mobile_path_make(r->s, r->slot, r->v))
		return TURN_REFUSED_MOVES;
	renew_ticket(r, m);
	if (m->lost_ms != 0) // its old connection is closed
		mobile_move(r->s, r->slot, r->v->stream);
	return TURN_GRANTED;
}

// A ticket in a retransmitted Refresh gets the same answer. The newest ticket shows that the client
// has received the answer that carried it: so the client has used the path that it comes by.
static void go_on(struct turn_request *r, struct mobile *m)
{
	const bool again = r->move.ticket != m->serial;

	if (!again)
		renew_ticket(r, m);
	if (!mobile_on_path(r->s, m, r->v))
		mobile_path_drop(r->s, m); // the client is at its old 5-tuple
	else if (!again)
		mobile_move(r->s, r->slot, r->v->stream);
}

enum turn_refusal move_begin(struct turn_request *r, bool ends)
{
	struct turn_shard *s = r->s;
	struct mobile *m = mobile_of(s, r->slot);
	enum turn_refusal refusal = TURN_GRANTED;

	if (ends) {
		if (r->tuple_slot == TURN_NONE)
			redirect_gone(s, r->v->via, r->v);
		return TURN_GRANTED;
	}
	if (r->tuple_slot == TURN_NONE)
		refusal = start_path(r, m);
	else
		go_on(r, m);
	if (refusal != TURN_GRANTED)
		return refusal;
	state_moved(s, r->slot);
	if (alloc_sibling(s, r->slot) != TURN_NONE)
		state_moved(s, alloc_sibling(s, r->slot));
	move_put_ticket(r, r->slot);
	return TURN_GRANTED;
}
