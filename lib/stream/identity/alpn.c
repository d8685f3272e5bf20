// SPDX-License-Identifier: BSD-3-Clause
// Chooses among the protocols that a client offers.
#include "identity/alpn.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ssl.h>

#include "stream.h"

// Names in the format of a ClientHello: each with its length in front.
struct names {
	unsigned int len;
	unsigned char wire[];
};

static int ex_index; // index of the names in an SSL_CTX
static pthread_once_t ex_index_once = PTHREAD_ONCE_INIT;

static void free_with(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int index, long argl, void *argp)
{
	free(ptr);
}

static void ex_index_make(void)
{
	ex_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_with);
}

// NULL without memory, or if a name does not fit.
static struct names *names_make(const struct stream_tls *tls)
{
	struct names *n = malloc(sizeof(*n) + (size_t)tls->nb_alpn * (UINT8_MAX + 1));

	if (n == NULL)
		return NULL;
	n->len = 0;
	for (unsigned int i = 0; i < tls->nb_alpn; i++) {
		const size_t len = strlen(tls->alpn[i]);

		if (len == 0 || len > UINT8_MAX) {
			free(n);
			return NULL;
		}
		n->wire[n->len++] = (unsigned char)len;
		memcpy(n->wire + n->len, tls->alpn[i], len);
		n->len += (unsigned int)len;
	}
	return n;
}

// A client that offers protocols, but no configured one, has reached the wrong server.
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
	const unsigned char *in, unsigned int in_len, void *ctx)
{
	const struct names *ours = ctx;
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, out_len, ours->wire, ours->len, in, in_len) !=
		OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

bool alpn_use(struct ssl_ctx_st *c, const struct stream_tls *tls)
{
	struct names *n;

	if (tls->nb_alpn == 0)
		return true;
	pthread_once(&ex_index_once, ex_index_make);
	n = names_make(tls);
	if (n == NULL || ex_index < 0 || SSL_CTX_set_ex_data(c, ex_index, n) != 1) {
		free(n);
		return false;
	}
	// an SSL holds a reference to its context, which holds the names
	SSL_CTX_set_alpn_select_cb(c, choose_protocol, n);
	return true;
}
