// SPDX-License-Identifier: BSD-3-Clause
// Changes limits, timeouts and DSCPs while threads run: each is a number that threads read at every
// use, or has its own lock.
#include "stream_change.h"

#include <stdio.h>
#include <stdlib.h>

#include "identity/identities.h"
#include "listen.h"
#include "proxy/proxy.h"
#include "thread.h"

struct stream_renewal {
	struct identities *identities;
};

static void store_number(uint32_t *number, uint32_t value)
{
	__atomic_store_n(number, value, __ATOMIC_RELAXED);
}

static void set_times(struct stream_config *live, const struct stream_config *c)
{
	store_number(&live->idle_s, c->idle_s);
	store_number(&live->handshake_s, c->handshake_s);
	store_number(&live->dtls.handshake_s, c->dtls.handshake_s);
	store_number(&live->nap_us, c->nap_us);
}

void stream_review_clients(struct streams *s)
{
	__atomic_fetch_add(&s->reviews, 1, __ATOMIC_RELEASE);
}

void stream_change(struct streams *s, const struct stream_config *c)
{
	set_times(&s->conf, c);
	conn_limits_set(&s->caps, c->per_source, c->per_network);
	conn_limits_trust(&s->caps, c->trusted, c->nb_trusted);
	conn_limits_set(&s->sessions, c->dtls.per_source, c->dtls.per_network);
	pthread_mutex_lock(&s->begun_lock);
	s->conf.handshakes = c->handshakes;
	pthread_mutex_unlock(&s->begun_lock);
	for (unsigned int i = 0; i < s->conf.nb_listeners; i++) {
		__atomic_store_n(&s->listener[i].tos, c->listeners[i].tos, __ATOMIC_RELAXED);
		__atomic_store_n(&s->listener[i].marked, c->listeners[i].marked, __ATOMIC_RELAXED);
	}
	proxies_change(s, c);
#define X(type, field, make, end, files, changed) changed(s);
	STREAM_COMMON(X)
#undef X
	for (unsigned int i = 0; i < s->nb_threads; i++)
		listen_mark(s->thread[i]);
	stream_review_clients(s);
}

int stream_move(struct streams *s, const struct stream_config *c, char *error, size_t len)
{
	int rc = 0;

	for (unsigned int i = 0; i < s->conf.nb_listeners; i++) {
		if (addr_eq(&s->listener[i].endpoint.addr, &c->listeners[i].endpoint.addr))
			continue;
		s->listener[i].endpoint.addr = c->listeners[i].endpoint.addr;
		for (unsigned int k = 0; k < s->nb_threads; k++)
			if (listen_move(s->thread[k], i, &s->listener[i], error, len) != 0)
				rc = -1;
	}
	return rc;
}

struct stream_renewal *stream_renewal_load(const struct stream_config *c, char *error, size_t len)
{
	struct stream_renewal *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		snprintf(error, len, "tls: out of memory");
		return NULL;
	}
	r->identities = identities_load(c->identities, &c->dtls, error, len);
	if (r->identities != NULL)
		return r;
	free(r);
	return NULL;
}

void stream_renewal_free(struct stream_renewal *r)
{
	if (r == NULL)
		return;
	identities_free(r->identities);
	free(r);
}

void stream_renew(struct streams *s, struct stream_renewal *r)
{
	struct identities *old;

	pthread_mutex_lock(&s->swap_lock);
	pthread_mutex_lock(&s->tls_lock);
	old = s->identities;
	s->identities = r->identities;
	pthread_mutex_unlock(&s->tls_lock);
	pthread_mutex_unlock(&s->swap_lock);
	r->identities = old; // open connections hold references to its contexts
	stream_renewal_free(r);
}
