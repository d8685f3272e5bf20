// SPDX-License-Identifier: BSD-3-Clause
// Folds refusals by source and reason, so that whoever is refused often causes few events.
#include "refused.h"

#include <stdio.h>

#include "thread.h"

#define TICK_MS 1000

static const struct stream_refusal_info refusals[STREAM_REFUSAL_END] = {
#define X(id, name, text, advice) [id] = {name, text, advice},
	STREAM_REFUSALS(X)
#undef X
};

const struct stream_refusal_info *stream_refusal_info(unsigned int refusal)
{
	return refusal < STREAM_REFUSAL_END ? &refusals[refusal] : NULL;
}

static void tell_refusal(struct thread *t, const struct refused_place *p, uint32_t more)
{
	const struct stream_config *conf = &t->s->conf;
	const struct stream_refused r = {.client = p->client,
		.listener = p->listener,
		.reason = p->reason,
		.offered = p->offered,
		.more = more};

	if (!conf->ops->refused(conf->ctx, t->index, &r))
		stats_add(&t->stats.untold, more > 0 ? more : 1);
}

static void remember_client(struct refused_place *p, const struct stream_refused *r)
{
	p->client = r->client;
	p->listener = r->listener;
	snprintf(p->offered, sizeof(p->offered), "%s", r->offered);
}

static bool is_of(
	const struct refused_place *p, const struct addr *source, enum stream_refusal reason)
{
	const struct addr there = addr_source(&p->client.addr);

	return p->until_ms != 0 && p->reason == reason && addr_eq(&there, source);
}

// The place of a source and reason, or one whose period is over. NULL where neither is there.
static struct refused_place *place_of(
	struct thread *t, const struct addr *source, enum stream_refusal reason)
{
	// the key of the limiter serves here too: no hash leaves the process
	const uint64_t hash = hash_addr(&t->s->begun.key, source, (uint64_t)reason + 1);
	struct refused_place *over = NULL;

	for (unsigned int i = 0; i < REFUSED_WAYS; i++) {
		struct refused_place *p = &t->refused[(hash + i) % REFUSED_PLACES];

		if (is_of(p, source, reason))
			return p;
		if (over == NULL && t->now_ms >= p->until_ms)
			over = p;
	}
	return over;
}

void refused_note(struct thread *t, const struct stream_refused *r)
{
	const enum stream_refusal reason = r->reason;
	const struct addr source = addr_source(&r->client.addr);
	struct refused_place *p;
	bool same;
	uint32_t more;

	if (t->s->conf.ops->refused == NULL)
		return;
	p = place_of(t, &source, reason);
	if (p == NULL) {
		stats_add(&t->stats.untold, 1);
		return;
	}
	same = is_of(p, &source, reason);
	if (t->now_ms < p->until_ms) {
		p->more++;
		remember_client(p, r);
		return;
	}
	if (!same && p->more > 0)
		tell_refusal(t, p, p->more);
	more = same && p->more > 0 ? p->more + 1 : 0;
	*p = (struct refused_place){
		.until_ms = t->now_ms + REFUSED_PERIOD_MS, .reason = (uint8_t)reason};
	remember_client(p, r);
	tell_refusal(t, p, more);
}

void refused_by_counter(
	struct thread *t, const struct endpoint *client, uint8_t listener, const uint64_t *counter)
{
	const struct {
		const uint64_t *counter;
		enum stream_refusal reason;
	} rows[] = {
		{&t->stats.refused_total, STREAM_REFUSED_TOTAL},
		{&t->stats.refused_source, STREAM_REFUSED_SOURCE},
		{&t->stats.refused_network, STREAM_REFUSED_NETWORK},
		{&t->stats.refused_rate, STREAM_REFUSED_RATE},
		{&t->stats.refused_files, STREAM_REFUSED_FILES},
		{&t->stats.slow, STREAM_REFUSED_SLOW},
		{&t->stats.gave_way, STREAM_REFUSED_GAVE_WAY},
		{&t->stats.garbage, STREAM_REFUSED_GARBAGE},
		{&t->stats.refused_proxy, STREAM_REFUSED_PROXY_SOURCE},
		{&t->stats.proxy_none, STREAM_REFUSED_PROXY_NONE},
		{&t->stats.proxy_bad, STREAM_REFUSED_PROXY_BAD},
		{&t->stats.proxy_long, STREAM_REFUSED_PROXY_LONG},
		{&t->stats.proxy_slow, STREAM_REFUSED_PROXY_SLOW},
		{&t->stats.proxy_gave_way, STREAM_REFUSED_PROXY_GAVE_WAY},
		{&t->stats.proxy_taken, STREAM_REFUSED_PROXY_TAKEN},
		{&t->stats.dtls_refused_total, STREAM_REFUSED_DTLS_TOTAL},
		{&t->stats.dtls_refused_source, STREAM_REFUSED_DTLS_SOURCE},
		{&t->stats.dtls_refused_network, STREAM_REFUSED_DTLS_NETWORK},
		{&t->stats.dtls_failed, STREAM_REFUSED_DTLS_HANDSHAKE},
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].counter == counter)
			refused_note(t,
				&(struct stream_refused){.client = *client,
					.listener = listener,
					.reason = (uint8_t)rows[i].reason,
					.offered = ""});
}

void refused_tick(struct thread *t)
{
	if (t->now_ms < t->refused_ms + TICK_MS)
		return;
	t->refused_ms = t->now_ms;
	for (unsigned int i = 0; i < REFUSED_PLACES; i++) {
		struct refused_place *p = &t->refused[i];

		if (p->more == 0 || t->now_ms < p->until_ms)
			continue;
		tell_refusal(t, p, p->more);
		p->more = 0;
		p->until_ms = t->now_ms + REFUSED_PERIOD_MS;
	}
}
