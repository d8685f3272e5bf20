// SPDX-License-Identifier: BSD-3-Clause
// Counts DTLS handshakes by network, and gives up the oldest if there are too many.
#include "clients/half_open.h"

#include <rte_common.h>

#include "clients/sessions.h"
#include "see/event_rings.h"
#include "hash.h"
#include "invariant.h"
#include "stream_refusals.h"
#include "path/worker.h"

#define FAIR_MS 500 // minimum time for a handshake before it may be given up for another

void half_open_init(struct half_open *h, uint32_t max)
{
	h->max = max;
	h->by_age = ILIST_EMPTY;
}

// The counter of a client's /48, or NULL for an IPv4 client.
static uint16_t *network_of(struct sessions *s, const struct addr *client)
{
	const struct addr a = addr_network(client);

	if (addr_is_v4(client))
		return NULL;
	return &s->half_open.of_network[hash_addr(&s->key, &a, 0) % HALF_OPEN_NETWORKS];
}

// Gives up the oldest handshake, if it has had its minimum time. If network is not NULL it must
// also belong to that network.
static bool give_way(struct worker *w, const uint16_t *network)
{
	struct sessions *s = w->sessions;
	struct session *c = &s->session[s->half_open.by_age.first];

	ASSERT(s->half_open.by_age.first != ILIST_NONE && c->state == SESSION_HANDSHAKE);
	if (w->now_ms < c->heard_ms + FAIR_MS ||
		(network != NULL && network_of(s, &c->client) != network))
		return false;
	w->live.dtls.gave_way++;
	events_refused(w, &(struct endpoint){c->client, c->port}, c->listener,
		STREAM_REFUSED_DTLS_GAVE_WAY);
	sessions_give_up(w, c);
	return true;
}

bool half_open_room(struct worker *w, const struct addr *client)
{
	const struct half_open *h = &w->sessions->half_open;
	const uint16_t *network = network_of(w->sessions, client);

	if (network != NULL && *network >= RTE_MAX(h->max / 2, 1u))
		return give_way(w, network);
	return w->live.dtls.half_open < h->max || give_way(w, NULL);
}

void half_open_add(struct worker *w, struct session *c)
{
	struct sessions *s = w->sessions;
	uint16_t *network = network_of(s, &c->client);

	ilist_append(
		&s->half_open.by_age, ILIST_LINKS(s->session, by_age), (uint32_t)(c - s->session));
	if (network != NULL)
		++*network;
	w->live.dtls.half_open++;
	ASSERT(w->live.dtls.half_open <= s->max &&
		(network == NULL || *network <= w->live.dtls.half_open));
}

void half_open_drop(struct worker *w, const struct session *c)
{
	struct sessions *s = w->sessions;
	uint16_t *network = network_of(s, &c->client);

	ASSERT(w->live.dtls.half_open > 0 && (network == NULL || *network > 0));
	ilist_remove(
		&s->half_open.by_age, ILIST_LINKS(s->session, by_age), (uint32_t)(c - s->session));
	if (network != NULL)
		--*network;
	w->live.dtls.half_open--;
}
