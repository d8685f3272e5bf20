// SPDX-License-Identifier: BSD-3-Clause
// Certificate and ALPN of each listener for lib/stream: from the listener's own keys, else from
// `tls`. Listeners with equal settings share one identity and its session tickets.
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "dp.h"
#include "stream.h"

_Static_assert(STREAM_LISTENERS_MAX == UINT8_MAX, "room for all listeners of a configuration");

static struct stream_tls tls_of(const struct conf *c, const struct turn_listener *l)
{
	const bool has_cert = l->tls.certificate != NULL, names = l->tls.alpn != NULL;
	struct stream_tls t = {.certificate = has_cert ? l->tls.certificate : c->tls.certificate,
		.key = has_cert ? l->tls.key : c->tls.key,
		.chain = has_cert ? NULL : c->tls.chain,
		.ciphers = c->tls.ciphers,
		.alpn = (const char *const *)(names ? l->tls.alpn : c->tls.alpn),
		.nb_alpn = names ? l->tls.nb_alpn : c->tls.nb_alpn,
		.only_13 = c->tls.min_version == CONF_TLS_1_3};

	if (has_cert)
		snprintf(t.section, sizeof(t.section), "listeners[%u].tls", l->entry);
	else
		snprintf(t.section, sizeof(t.section), "tls");
	return t;
}

// NULL is a possible text: a test's configuration may have no files.
static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_identity(const struct stream_tls *a, const struct stream_tls *b)
{
	if (!same_text(a->certificate, b->certificate) || !same_text(a->key, b->key) ||
		a->chain != b->chain || a->nb_alpn != b->nb_alpn)
		return false;
	for (unsigned int i = 0; i < a->nb_alpn; i++)
		if (strcmp(a->alpn[i], b->alpn[i]) != 0)
			return false;
	return true;
}

// The index of an identity in the list. It is added if it is new.
static unsigned int index_of(struct stream_identities *all, const struct stream_tls *tls)
{
	for (unsigned int i = 0; i < all->nb; i++)
		if (same_identity(&all->list[i], tls))
			return i;
	all->list[all->nb] = *tls;
	return all->nb++;
}

void dp_identities(const struct conf *c, struct stream_identities *out)
{
	*out = (struct stream_identities){.nb = 0};
	for (uint32_t i = 0; i < c->turn.nb_listeners; i++) {
		const struct turn_listener *l = &c->turn.listeners[i];
		const struct stream_tls tls = tls_of(c, l);
		struct stream_tls *identity;

		if (l->transport == TURN_OVER_UDP || l->transport == TURN_OVER_TCP)
			continue;
		out->by_listener[i] = (uint8_t)index_of(out, &tls);
		identity = &out->list[out->by_listener[i]];
		if (l->transport == TURN_OVER_DTLS)
			identity->for_dtls = true;
		else
			identity->for_tls = true;
	}
}
