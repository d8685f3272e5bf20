// SPDX-License-Identifier: BSD-3-Clause
// Reads ClientHellos and libssl's errors (tls_offer.h).
#include "identity/tls_offer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>

#include "bytes.h"
#include "conn.h"

#define ALERT(number) (SSL_AD_REASON_OFFSET + (number)) // libssl's reason for a received alert
#define VERSION_MAJOR 3
#define VERSIONS 5 // SSL 3.0 and TLS 1.0 to 1.3

struct text {
	char *buf;
	size_t len, room;
};

// --- the client's offer --------------------------------------------------------------------------

static void put_word(struct text *t, const char *word)
{
	const size_t n = strlen(word);

	if (t->len + n >= t->room)
		return;
	memcpy(t->buf + t->len, word, n + 1);
	t->len += n;
}

// Appends untrusted bytes, escaped. False if there is no room for all of them.
static bool put_bytes(struct text *t, const uint8_t *p, size_t n)
{
	static const char end[] = "...";

	for (size_t i = 0; i < n; i++) {
		const bool plain = p[i] > ' ' && p[i] < 0x7f && strchr("\\\"',=", p[i]) == NULL;
		char byte[8];

		snprintf(byte, sizeof(byte), plain ? "%c" : "\\x%02x", p[i]);
		if (t->len + strlen(byte) + sizeof(end) > t->room) {
			put_word(t, end);
			return false;
		}
		put_word(t, byte);
	}
	return true;
}

static void put_version(struct text *t, unsigned int version)
{
	static const char *const names[VERSIONS] = {"3.0", "1.0", "1.1", "1.2", "1.3"};

	put_word(t,
		version >> 8 == VERSION_MAJOR && (version & 0xff) < VERSIONS ? names[version & 0xff]
									     : "?");
}

// Appends the lowest and the highest version. Ignores values of the list that are not TLS versions
// (RFC 8701).
static void put_versions(struct text *t, SSL *ssl)
{
	unsigned int low = UINT32_MAX, high = 0;
	const unsigned char *p;
	size_t n;

	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_versions, &p, &n) == 1) {
		for (size_t i = 1; i + 1 < n; i += 2) {
			const unsigned int version = load_be16(p + i);

			if (version >> 8 != VERSION_MAJOR)
				continue;
			low = version < low ? version : low;
			high = version > high ? version : high;
		}
	}
	if (high == 0)
		low = high = SSL_client_hello_get0_legacy_version(ssl);
	put_version(t, low);
	if (low == high)
		return;
	put_word(t, "-");
	put_version(t, high);
}

static void put_alpn(struct text *t, SSL *ssl)
{
	const unsigned char *p;
	size_t n;

	if (SSL_client_hello_get0_ext(
		    ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &p, &n) != 1)
		return;
	put_word(t, " alpn=");
	for (size_t i = 2; i < n; i += 1 + (size_t)p[i]) {
		const size_t len = p[i] < n - i ? p[i] : n - i - 1;

		if (i > 2)
			put_word(t, ",");
		if (!put_bytes(t, p + i + 1, len))
			return;
	}
}

// Appends the server name. The extension is a list with one host name, after five bytes (RFC 6066
// 3).
static void put_name(struct text *t, SSL *ssl)
{
	const unsigned char *p;
	size_t n;

	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n) != 1 || n <= 5)
		return;
	put_word(t, " sni=");
	put_bytes(t, p + 5, n - 5);
}

int tls_offer_note(SSL *ssl, int *alert, void *arg)
{
	struct conn *c = SSL_get_app_data(ssl);
	struct text t = {.room = STREAM_OFFERED_LEN};

	if (c == NULL)
		return SSL_CLIENT_HELLO_SUCCESS;
	if (c->offered == NULL) // else it is the second one, after a HelloRetryRequest
		c->offered = malloc(STREAM_OFFERED_LEN);
	t.buf = c->offered;
	if (t.buf == NULL)
		return SSL_CLIENT_HELLO_SUCCESS; // refusals are reported without the offer
	put_versions(&t, ssl);
	put_alpn(&t, ssl);
	put_name(&t, ssl);
	return SSL_CLIENT_HELLO_SUCCESS;
}

// --- the reason ----------------------------------------------------------------------------------

enum stream_refusal tls_offer_why(bool left)
{
	switch (ERR_GET_REASON(ERR_peek_error())) {
	case ALERT(SSL_AD_BAD_CERTIFICATE):
		return STREAM_REFUSED_TLS_BAD;
	case ALERT(SSL_AD_CERTIFICATE_EXPIRED):
		return STREAM_REFUSED_TLS_EXPIRED;
	case ALERT(SSL_AD_UNSUPPORTED_CERTIFICATE):
	case ALERT(SSL_AD_CERTIFICATE_REVOKED):
	case ALERT(SSL_AD_CERTIFICATE_UNKNOWN):
		return STREAM_REFUSED_TLS_CERTIFICATE;
	case ALERT(SSL_AD_UNKNOWN_CA):
		return STREAM_REFUSED_TLS_CA;
	case ALERT(SSL_AD_PROTOCOL_VERSION):
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_VERSION_TOO_LOW:
	case SSL_R_VERSION_TOO_HIGH:
		return STREAM_REFUSED_TLS_VERSION;
	case SSL_R_NO_APPLICATION_PROTOCOL:
	case ALERT(SSL_AD_NO_APPLICATION_PROTOCOL):
		return STREAM_REFUSED_TLS_ALPN;
	case SSL_R_NO_SHARED_CIPHER:
	case SSL_R_NO_SUITABLE_KEY_SHARE:
	case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
	case ALERT(SSL_AD_HANDSHAKE_FAILURE):
		return STREAM_REFUSED_TLS_CIPHER;
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
		return STREAM_REFUSED_TLS_PLAIN;
	case SSL_R_UNEXPECTED_EOF_WHILE_READING:
		return STREAM_REFUSED_TLS_LEFT;
	case 0:
		return left || errno == ECONNRESET ? STREAM_REFUSED_TLS_LEFT
						   : STREAM_REFUSED_HANDSHAKE;
	default:
		return STREAM_REFUSED_HANDSHAKE;
	}
}
