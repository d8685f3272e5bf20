// SPDX-License-Identifier: BSD-3-Clause
// Aggregates refusals by source and reason, so that repeated refusals cause few events.
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

static void tell_refusal(struct thread *t, const struct stream_refused *r)
{
	const struct stream_config *conf = &t->s->conf;

	if (!conf->ops->refused(conf->ctx, t->index, r))
		stats_add(&t->stats.untold, r->more > 0 ? r->more : 1);
}

static void tell_more(void *ctx, uint16_t i, uint32_t more)
{
	struct thread *t = ctx;
	const struct refused_last *last = &t->refused.last[i];

	tell_refusal(t,
		&(struct stream_refused){.client = last->client,
			.listener = last->listener,
			.reason = last->reason,
			.offered = last->offered,
			.more = more});
}

void refused_init(struct thread *t)
{
	struct refused *r = &t->refused;

	fold_init(&r->fold, r->entry);
	r->fold.tell = tell_more;
	r->fold.ctx = t;
}

static void remember_client(struct refused_last *last, const struct stream_refused *r)
{
	last->client = r->client;
	last->listener = r->listener;
	last->reason = r->reason;
	snprintf(last->offered, sizeof(last->offered), "%s", r->offered);
}

void refused_note(struct thread *t, const struct stream_refused *r)
{
	const struct addr source = addr_source(&r->client.addr);
	// the key of the limiter is used here, too: no hash leaves the process
	const uint64_t key = hash_addr(&t->s->begun.key, &source, (uint64_t)r->reason + 1);
	const uint16_t first = (uint16_t)(key % (REFUSED_PLACES / REFUSED_WAYS) * REFUSED_WAYS);
	const uint16_t i = fold_find(&t->refused.fold, first, REFUSED_WAYS, key);
	struct stream_refused one = *r;

	one.more = 0;
	if (t->s->conf.ops->refused == NULL)
		return;
	if (!fold_has_room(&t->refused.fold, i, key, t->now_ms))
		stats_add(&t->stats.untold, 1);
	else if (fold_count(&t->refused.fold, i, key, t->now_ms))
		tell_refusal(t, &one);
	else
		remember_client(&t->refused.last[i], r);
}

void refused_by_counter(
	struct thread *t, const struct endpoint *client, uint8_t listener, const uint64_t *counter)
{
	const struct {
		const uint64_t *counter;
		enum stream_refusal reason;
	} rows[] = {
		{&t->stats.refused_denied, STREAM_REFUSED_DENIED},
		{&t->stats.refused_blocked, STREAM_REFUSED_BLOCKED},
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
	if (t->now_ms < t->refused.ticked_ms + TICK_MS)
		return;
	t->refused.ticked_ms = t->now_ms;
	while (fold_expire(&t->refused.fold, t->now_ms))
		;
}
