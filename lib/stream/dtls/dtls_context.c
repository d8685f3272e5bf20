// SPDX-License-Identifier: BSD-3-Clause
// The libssl contexts of DTLS listeners.
#include <stdio.h>

#include <openssl/err.h>

#include "dtls/dtls_context.h"
#include "tls.h"

#define CIPHERS_TEXT 4096

// Accepts any cookie: the worker has checked it before.
static int cookie_is_good(SSL *ssl, const unsigned char *cookie, unsigned int len)
{
	return 1;
}

// Keeps only the ciphers that sessions support.
static bool choose_ciphers(SSL_CTX *ctx, const char *asked, char *error, size_t len)
{
	STACK_OF(SSL_CIPHER) *all = SSL_CTX_get_ciphers(ctx);
	char text[CIPHERS_TEXT] = "";
	size_t n = 0;

	for (int i = 0; i < sk_SSL_CIPHER_num(all); i++) {
		const SSL_CIPHER *c = sk_SSL_CIPHER_value(all, i);

		if (dtls_supports(c) && strcmp(SSL_CIPHER_get_version(c), "TLSv1.3") != 0 &&
			n + strlen(SSL_CIPHER_get_name(c)) + 1 < sizeof(text))
			n += (size_t)sprintf(text + n, ":%s", SSL_CIPHER_get_name(c));
	}
	if (n > 0 && SSL_CTX_set_cipher_list(ctx, text + 1) == 1)
		return true;
	snprintf(error, len,
		"tls.ciphers: %s: DTLS needs one of AES-GCM or CHACHA20-POLY1305 among them",
		asked != NULL ? asked : "none");
	ERR_clear_error();
	return false;
}

struct ssl_ctx_st *dtls_load(
	const struct stream_tls *tls, const struct stream_dtls *c, char *error, size_t len)
{
	SSL_CTX *ctx = SSL_CTX_new(DTLS_server_method());

	if (ctx == NULL) {
		snprintf(error, len, "dtls: out of memory");
		return NULL;
	}
	// with these buffers a handshake needs 54 KB at its end, with the default ones 69
	if (!tls_fill(ctx, tls, error, len) || !choose_ciphers(ctx, tls->ciphers, error, len) ||
		SSL_CTX_set_min_proto_version(ctx, DTLS1_2_VERSION) != 1 ||
		SSL_CTX_set_max_send_fragment(ctx, c->message) != 1) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	// the default allows messages of 100 KB and buffers of ten at a time; this limits them to
	// 17 KB
	SSL_CTX_set_max_cert_list(ctx, 1);
	SSL_CTX_set_options(ctx, SSL_OP_NO_QUERY_MTU | SSL_OP_COOKIE_EXCHANGE);
	SSL_CTX_set_cookie_verify_cb(ctx, cookie_is_good);
	return ctx;
}
