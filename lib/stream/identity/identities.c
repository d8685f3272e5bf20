// SPDX-License-Identifier: BSD-3-Clause
// Contexts of libssl for each identity, and the listeners that use them.
#include "identity/identities.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ssl.h>

#include "dtls/dtls_context.h"
#include "identity/tls_copy.h"
#include "stream.h"
#include "tls.h"

struct identities {
	struct stream_identities conf; // with copies of the strings
	SSL_CTX *tls[STREAM_LISTENERS_MAX], *dtls[STREAM_LISTENERS_MAX]; // NULL: not needed
};

static bool load_one(struct identities *i, const struct stream_dtls *dtls, char *error, size_t len)
{
	const unsigned int n = i->conf.nb;
	struct stream_tls *tls = &i->conf.list[n];

	if (!tls_copy_own(tls)) {
		snprintf(error, len, "tls: out of memory");
		return false;
	}
	i->conf.nb++;
	if (tls->for_tls)
		i->tls[n] = tls_load(tls, error, len);
	if (tls->for_tls && i->tls[n] == NULL)
		return false;
	if (tls->for_dtls)
		i->dtls[n] = dtls_load(tls, dtls, error, len);
	return !tls->for_dtls || i->dtls[n] != NULL;
}

struct identities *identities_load(const struct stream_identities *conf,
	const struct stream_dtls *dtls, char *error, size_t len)
{
	const unsigned int nb = conf != NULL ? conf->nb : 0;
	struct identities *i = calloc(1, sizeof(*i));

	if (i == NULL) {
		snprintf(error, len, "tls: out of memory");
		return NULL;
	}
	if (conf != NULL)
		i->conf = *conf;
	i->conf.nb = 0;
	while (i->conf.nb < nb) {
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
	for (unsigned int n = 0; n < i->conf.nb; n++) {
		SSL_CTX_free(i->tls[n]);
		SSL_CTX_free(i->dtls[n]);
		tls_copy_free(&i->conf.list[n]);
	}
	free(i);
}

const struct stream_identities *identities_from(const struct identities *i)
{
	return &i->conf;
}

struct ssl_ctx_st *identities_tls(const struct identities *i, uint8_t listener)
{
	return i->tls[i->conf.by_listener[listener]];
}

struct ssl_ctx_st *identities_dtls(const struct identities *i, uint8_t listener)
{
	return i->dtls[i->conf.by_listener[listener]];
}

static bool is_first(const struct stream_identities *all, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++)
		if (strcmp(all->list[k].certificate, all->list[n].certificate) == 0)
			return false;
	return true;
}

static void validity_of(SSL_CTX *c, struct stream_validity *out)
{
	STACK_OF(X509) *chain = NULL;
	struct stream_validity first;

	SSL_CTX_get0_chain_certs(c, &chain);
	*out = (struct stream_validity){0};
	if (!stream_expiry_read(SSL_CTX_get0_certificate(c), NULL, &first))
		return; // the certificate is reported as expired
	*out = first;
	for (int k = 0; k < sk_X509_num(chain); k++) {
		const X509 *x = sk_X509_value(chain, k);
		struct stream_validity v;

		if (stream_expiry_read(x, &first, &v) && v.until < out->until) {
			out->until = v.until;
			out->renew = v.renew;
		}
	}
}

bool identities_certificate(
	const struct identities *i, unsigned int index, struct stream_certificate *out)
{
	for (unsigned int n = 0; n < i->conf.nb; n++) {
		const char *path = i->conf.list[n].certificate;
		const size_t len = strlen(path);

		if (!is_first(&i->conf, n) || index-- > 0)
			continue;
		snprintf(out->path, sizeof(out->path), "%s",
			len < sizeof(out->path) ? path : path + len - sizeof(out->path) + 1);
		validity_of(i->tls[n] != NULL ? i->tls[n] : i->dtls[n], &out->validity);
		return true;
	}
	return false;
}
