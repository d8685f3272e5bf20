// SPDX-License-Identifier: BSD-3-Clause
// A relay port belongs to a worker, and so does a client. If the client's worker has no port left,
// another worker makes the allocation, and the client's worker keeps a redirect to it. So any free
// port can serve any client.
#include "requests/elsewhere.h"
#include "redirect.h"
#include "relayed/relay_map.h"
#include "relayed/vacancy.h"
#include "shard.h"

_Static_assert(TURN_WORKERS_MAX <= 64, "one bit per worker");

bool elsewhere_may_help(enum turn_refusal refusal)
{
	return refusal == TURN_REFUSED_NO_PORT || refusal == TURN_REFUSED_RELAY_LOST ||
		refusal == TURN_REFUSED_PORT_SHARE || refusal == TURN_REFUSED_NO_MEMORY;
}

enum turn_refusal elsewhere_lead(struct turn_request *r, uint8_t worker)
{
	struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	if (!cred_quota_ident(r->policy, s->crypto, &r->m, &r->cred, ident))
		return TURN_REFUSED_INTERNAL;
	if (!redirect_lead(s, REDIRECT_LEADS, r->v, worker,
		    quota_user(s->quota, r->policy->number, ident)))
		return TURN_REFUSED_REDIRECTS;
	r->handover = true;
	r->worker = worker;
	return TURN_GRANTED;
}

// The workers that still have an address of each wanted family.
static uint64_t workers_with(const struct turn_shard *s, const struct elsewhere_want *want)
{
	uint64_t workers = 0;

	for (unsigned int w = 0; w < s->workers; w++)
		if ((!want->family[0] || relay_map_living(s->map, w, false)) &&
			(!want->family[1] || relay_map_living(s->map, w, true)))
			workers |= UINT64_C(1) << w;
	return workers;
}

static int choose_worker(const struct turn_request *r, const struct elsewhere_want *want)
{
	const struct turn_shard *s = r->s;
	struct vacancy_want v = {.family = {want->family[0], want->family[1]},
		.is_tcp = want->is_tcp,
		.kind = want->kind,
		.now_ms = s->now_ms,
		.workers = workers_with(s, want) & ~(UINT64_C(1) << s->worker)};

	if (r->v->tried != 0)
		v.workers &= ~(UINT64_C(1) << (r->v->tried - 1));
	return vacancy_choose(relay_map_vacancies(s->map), &v, s->rng);
}

enum turn_refusal elsewhere_allocate(
	struct turn_request *r, const struct elsewhere_want *want, enum turn_refusal refusal)
{
	const bool is_home = r->v->via == TURN_NO_WORKER;
	int worker;

	if (!elsewhere_may_help(refusal) || (!is_home && r->v->tried != 0))
		return refusal;
	worker = choose_worker(r, want);
	if (worker < 0)
		return refusal;
	if (is_home)
		return elsewhere_lead(r, (uint8_t)worker);
	r->v->tried = (uint8_t)(r->s->worker + 1);
	r->handover = true;
	r->worker = r->v->via;
	return TURN_GRANTED;
}
