// SPDX-License-Identifier: BSD-3-Clause
// Reads an old state area: finds the valid records, and maps their addresses to the new
// configuration.
#include "state/adopt.h"

#include <stdlib.h>

#include "relayed/relay_map.h"
#include "shard.h"

static const struct {
	const char *name, *text;
} losses[] = {
#define X(id, n, t) [id] = {n, t},
	TURN_STATE_LOSSES(X)
#undef X
};

const char *turn_state_loss_name(unsigned int loss)
{
	return loss < TURN_STATE_LOST_END ? losses[loss].name : NULL;
}

const char *turn_state_loss_text(unsigned int loss)
{
	return loss < TURN_STATE_LOST_END ? losses[loss].text : NULL;
}

// --- records ------------------------------------------------------------------------------------

void adopt_lost(struct adopt *d, enum turn_state_loss loss)
{
	d->out->lost[loss]++;
}

enum adopt_word adopt_word(struct adopt *d, uint64_t word, uint64_t digest, uint64_t index)
{
	const uint64_t time = state_time(word);

	if (word == STATE_EMPTY)
		return ADOPT_NONE;
	if (word == STATE_WRITING) {
		adopt_lost(d, TURN_STATE_LOST_HALF);
		return ADOPT_NONE;
	}
	if (state_word(&d->h->record_key, digest, index, time) != word) {
		adopt_lost(d, TURN_STATE_LOST_DAMAGED);
		return ADOPT_NONE;
	}
	return (time & STATE_ENDED) != 0 ? ADOPT_ENDED : ADOPT_GOOD;
}

uint32_t adopt_left(const struct adopt *d, uint64_t word, uint64_t most_ms)
{
	const uint64_t until_ms = state_time(word), now_ms = d->a->boot_ms;

	if (until_ms <= now_ms)
		return 0;
	return (uint32_t)(until_ms - now_ms < most_ms ? until_ms - now_ms : most_ms);
}

enum adopt_word adopt_read(struct adopt *d, uint32_t slot, struct state_alloc *r)
{
	const struct state_alloc *record =
		(const struct state_alloc *)state_at(d->h, d->part->alloc_at) + slot;
	enum adopt_word word;

	if (record->word == STATE_EMPTY)
		return ADOPT_NONE;
	*r = *record;
	word = adopt_word(d, r->word, r->digest, STATE_ARRAY_ALLOC | slot);
	if (word == ADOPT_NONE)
		return ADOPT_NONE;
	if (state_digest_alloc(&d->h->record_key, r) == r->digest && r->relay < d->h->nb_relay &&
		r->name_len <= TURN_NAME_LEN && r->alg <= CRED_TOKEN &&
		((r->kind == STATE_ALLOCATION && r->listener < d->h->nb_listeners &&
			 r->client_port != 0) ||
			r->kind == STATE_RESERVATION))
		return word;
	adopt_lost(d, TURN_STATE_LOST_DAMAGED);
	return ADOPT_NONE;
}

bool adopt_home(const struct adopt *d, const struct state_alloc *r, struct adopt_home *out)
{
	const bool shared = relay_map_shares(d->a->map);
	const int relay = d->relay[r->relay];

	return relay >= 0 && shared == (d->h->shared != 0) &&
		turn_relay_map_home(
			d->a->map, (unsigned int)relay, r->relay_port, &out->worker, &out->index);
}

const struct turn_policy *adopt_policy(const struct adopt *d, const struct state_alloc *r)
{
	const struct turn_policy *first = d->a->shards[0]->policy;

	for (uint32_t i = 0; i < policy_nb_realms(first); i++)
		if (d->tag[i] == r->realm_tag)
			return policy_nth_realm(first, i);
	return NULL;
}

// --- tables -------------------------------------------------------------------------------------

static int listener_find(const struct turn_config *c, const struct state_listener *l)
{
	for (uint32_t i = 0; i < c->nb_listeners; i++) {
		const struct turn_listener *n = &c->listeners[i];

		if (n->endpoint.port == l->port && n->transport == l->transport &&
			addr_eq(&n->endpoint.addr, &l->addr))
			return (int)i;
	}
	return -1;
}

bool adopt_open(struct adopt *d)
{
	uint32_t most = 0;

	for (unsigned int w = 0; w < d->h->workers; w++)
		most = state_part(d->h, w)->nb_slots > most ? state_part(d->h, w)->nb_slots : most;
	d->listener = calloc(UINT8_MAX + 1, sizeof(*d->listener));
	d->relay = calloc(d->h->nb_relay + 1, sizeof(*d->relay));
	d->alloc = calloc((size_t)most + 1, sizeof(*d->alloc));
	if (d->listener == NULL || d->relay == NULL || d->alloc == NULL)
		return false;
	for (uint32_t i = 0; i < d->h->nb_listeners; i++)
		d->listener[i] = listener_find(d->a->config, state_listener(d->h, i));
	for (uint32_t i = 0; i < d->h->nb_relay; i++)
		d->relay[i] = turn_relay_map_find(d->a->map, state_relay(d->h, i));
	return true;
}

void adopt_realms(struct adopt *d)
{
	const struct turn_policy *first = d->a->shards[0]->policy;

	for (uint32_t i = 0; i < policy_nb_realms(first); i++) {
		const struct turn_policy *p = policy_nth_realm(first, i);

		d->tag[i] = state_realm_tag(&d->h->record_key, p->number, p->realm);
	}
}

void adopt_close(struct adopt *d)
{
	free(d->listener);
	free(d->relay);
	free(d->alloc);
}

void adopt_worker(struct adopt *d, unsigned int worker)
{
	d->worker = worker;
	d->part = state_part(d->h, worker);
	memset(d->alloc, 0, sizeof(*d->alloc) * d->part->nb_slots);
}

// --- redirects ----------------------------------------------------------------------------------

// The worker that will need a redirect for the allocation of a slot, or TURN_WORKERS_MAX.
static unsigned int needs_redirect(struct adopt *d, uint32_t slot)
{
	struct state_alloc r;
	struct endpoint client;
	struct adopt_home owner;
	unsigned int home;

	if (adopt_read(d, slot, &r) != ADOPT_GOOD || r.kind != STATE_ALLOCATION ||
		d->listener[r.listener] < 0 || !adopt_home(d, &r, &owner))
		return TURN_WORKERS_MAX;
	client = (struct endpoint){r.client, r.client_port};
	home = d->a->home(d->a->ctx, &client, (uint8_t)d->listener[r.listener]);
	return home != owner.worker ? home : TURN_WORKERS_MAX;
}

void turn_state_redirects(const struct turn_state_adoption *a, uint32_t nb[TURN_WORKERS_MAX])
{
	struct turn_state_adopted ignored = {0};
	struct adopt d = {.a = a, .out = &ignored, .h = a->area};
	const bool open = adopt_open(&d);

	memset(nb, 0, sizeof(*nb) * TURN_WORKERS_MAX);
	for (unsigned int w = 0; open && w < d.h->workers; w++) {
		adopt_worker(&d, w);
		for (uint32_t slot = 0; slot < d.part->nb_slots; slot++) {
			const unsigned int home = needs_redirect(&d, slot);

			if (home < TURN_WORKERS_MAX)
				nb[home]++;
		}
	}
	adopt_close(&d);
}
