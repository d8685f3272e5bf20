// SPDX-License-Identifier: BSD-3-Clause
// Opens access tokens (RFC 7635): nonce length, nonce, and a block sealed by AES-GCM: length of a
// MAC key, MAC key, time stamp, lifetime. The length of the token determines both length fields,
// and is checked before any of its bytes is trusted.
#include "features/tokens/token.h"

#include <openssl/crypto.h>
#include <string.h>

#include "text/base64.h"
#include "gcm.h"
#include "text/hex.h"
#include "stun_int.h"

#define MAC_SHORT 20 // bytes of a MAC key for HMAC-SHA1
#define MAC_LONG 32 // bytes of a MAC key for HMAC-SHA256
#define FRONT (2 + GCM_NONCE_LEN)
// Length of the sealed block.
#define SEALED(mac_len) (2 + (mac_len) + 8 + 4)
#define TOKEN(mac_len) (FRONT + SEALED(mac_len) + GCM_TAG_LEN)

_Static_assert(TOKEN(MAC_LONG) == STUN_TOKEN_LEN_MAX, "the longest token");

// Length of the MAC key in a token of len bytes, or 0 if no valid token has that length.
static size_t mac_len_of(size_t len)
{
	if (len == TOKEN(MAC_SHORT))
		return MAC_SHORT;
	return len == TOKEN(MAC_LONG) ? MAC_LONG : 0;
}

static bool block_read(const uint8_t *block, size_t mac_len, struct stun_token *out)
{
	if (load_be16(block) != mac_len)
		return false;
	memcpy(out->mac.bytes, block + 2, mac_len);
	out->mac.len = (uint8_t)mac_len;
	out->made_s = load_be64(block + 2 + mac_len) >> 16;
	out->lifetime_s = load_be32(block + 2 + mac_len + 8);
	return true;
}

enum stun_token_state stun_token_open(
	struct stun_crypto *c, const struct stun_token_sealed *t, struct stun_token *out)
{
	const size_t mac_len = mac_len_of(t->len);
	struct gcm *gcm = stun_crypto_gcm(c);
	uint8_t block[SEALED(MAC_LONG)];
	struct gcm_sealed s;
	bool good;

	memset(out, 0, sizeof(*out));
	if (mac_len == 0 || load_be16(t->data) != GCM_NONCE_LEN)
		return STUN_TOKEN_MALFORMED;
	if (gcm == NULL)
		return STUN_TOKEN_FAILED;
	s = (struct gcm_sealed){.key = t->key->bytes,
		.nonce = t->data + 2,
		.aad = t->name,
		.aad_len = strlen(t->name),
		.data = t->data + FRONT,
		.len = SEALED(mac_len)};
	if (!gcm_open(gcm, t->key->alg == STUN_TOKEN_A128GCM ? GCM_AES_128 : GCM_AES_256, &s,
		    block)) {
		OPENSSL_cleanse(block, sizeof(block));
		return STUN_TOKEN_FORGED;
	}
	good = block_read(block, mac_len, out);
	OPENSSL_cleanse(block, sizeof(block));
	return good ? STUN_TOKEN_GOOD : STUN_TOKEN_MALFORMED;
}

// --- keys as text --------------------------------------------------------------------------------

static bool hex_read(const char *text, size_t len, uint8_t *out)
{
	if (strlen(text) != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		const int hi = hex_digit(text[2 * i]), lo = hex_digit(text[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

// Decodes base64 and returns the number of decoded bytes, of which at most max are written, or -1
// if the text is not base64. Unused bits of the last character must be zero.
static int base64_read(const char *text, uint8_t *out, size_t max)
{
	const size_t chars = strcspn(text, "="), pad = strspn(text + chars, "=");
	uint32_t acc = 0;
	unsigned int bits = 0;
	size_t n = 0;

	if (text[chars + pad] != '\0' || chars % 4 == 1 || (pad != 0 && (chars + pad) % 4 != 0))
		return -1;
	for (size_t i = 0; i < chars; i++) {
		const int v = base64_value((uint8_t)text[i]);

		if (v < 0)
			return -1;
		acc = acc << 6 | (uint32_t)v;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (n < max)
			out[n] = (uint8_t)(acc >> bits);
		n++;
	}
	return (acc & ((1u << bits) - 1)) == 0 ? (int)n : -1;
}

int stun_token_key_read(const char *text, struct stun_token_key *out)
{
	const size_t len = stun_token_key_len(out->alg);

	if (hex_read(text, len, out->bytes))
		return (int)len;
	return base64_read(text, out->bytes, len);
}
