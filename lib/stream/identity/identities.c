// SPDX-License-Identifier: BSD-3-Clause
// Contexts of libssl for each identity, and which listener has which.
#include "identity/identities.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/ssl.h>

#include "dtls/dtls.h"
#include "identity/tls_copy.h"
#include "stream.h"
#include "tls.h"

struct identities {
	struct stream_identities from; // with strings of its own
	SSL_CTX *tls[STREAM_LISTENERS_MAX], *dtls[STREAM_LISTENERS_MAX]; // NULL: nobody needs it
};

static bool load_one(struct identities *i, const struct stream_dtls *dtls, char *error, size_t len)
{
	const unsigned int n = i->from.nb;
	struct stream_tls *tls = &i->from.list[n];

	if (!tls_copy_own(tls)) {
		snprintf(error, len, "tls: out of memory");
		return false;
	}
	i->from.nb++;
	if (tls->for_tls)
		i->tls[n] = tls_load(tls, error, len);
	if (tls->for_tls && i->tls[n] == NULL)
		return false;
	if (tls->for_dtls)
		i->dtls[n] = dtls_load(tls, dtls, error, len);
	return !tls->for_dtls || i->dtls[n] != NULL;
}

struct identities *identities_load(const struct stream_identities *from,
	const struct stream_dtls *dtls, char *error, size_t len)
{
	const unsigned int nb = from != NULL ? from->nb : 0;
	struct identities *i = calloc(1, sizeof(*i));

	if (i == NULL) {
		snprintf(error, len, "tls: out of memory");
		return NULL;
	}
	if (from != NULL)
		i->from = *from;
	i->from.nb = 0;
	while (i->from.nb < nb) {
		if (!load_one(i, dtls, error, len)) {
			identities_free(i);
			return NULL;
		}
	}
	return i;
}

void identities_free(struct identities *i)
{
	if (i == NULL)
		return;
	for (unsigned int n = 0; n < i->from.nb; n++) {
		SSL_CTX_free(i->tls[n]);
		SSL_CTX_free(i->dtls[n]);
		tls_copy_free(&i->from.list[n]);
	}
	free(i);
}

const struct stream_identities *identities_from(const struct identities *i)
{
	return &i->from;
}

struct ssl_ctx_st *identities_tls(const struct identities *i, uint8_t listener)
{
	return i->tls[i->from.of[listener]];
}

struct ssl_ctx_st *identities_dtls(const struct identities *i, uint8_t listener)
{
	return i->dtls[i->from.of[listener]];
}
