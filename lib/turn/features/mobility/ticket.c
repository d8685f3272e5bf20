// SPDX-License-Identifier: BSD-3-Clause
// Seals tickets: a synthetic IV, as in RFC 5297, is made by HMAC-SHA256 over box and ticket; the
// ticket is encrypted with a key stream derived from the IV. So one text of 24 bytes is encrypted
// and authenticated, with a tag of 96 bits, and needs no nonce.
#include "features/mobility/ticket.h"

#include <string.h>

#include "text/base64.h"
#include "bytes.h"
#include "stun.h"

#define TAG_LEN 12
#define BODY_LEN 12
#define BOX_LEN 32

_Static_assert(BASE64_CHARS(TAG_LEN + BODY_LEN) == TICKET_LEN, "no character is left over");

static bool derive_key(
	struct stun_crypto *c, const void *secret, size_t len, const char *label, uint8_t out[32])
{
	return stun_hmac_sha256(c, secret, len, label, strlen(label), out);
}

bool ticket_keys_make(struct stun_crypto *c, const void *secret, size_t len,
	const uint8_t boot_key[32], struct ticket_keys *out)
{
	return derive_key(c, secret, len, "turn mobility ticket tag", out->tag) &&
		derive_key(c, secret, len, "turn mobility ticket seal", out->seal) &&
		derive_key(c, boot_key, 32, "turn mobility ticket box", out->box);
}

static bool tag_make(struct stun_crypto *c, const struct ticket_keys *k,
	const uint8_t body[BODY_LEN], uint8_t tag[TAG_LEN])
{
	uint8_t text[BOX_LEN + BODY_LEN], mac[32];

	memcpy(text, k->box, BOX_LEN);
	memcpy(text + BOX_LEN, body, BODY_LEN);
	if (!stun_hmac_sha256(c, k->tag, sizeof(k->tag), text, sizeof(text), mac))
		return false;
	memcpy(tag, mac, TAG_LEN);
	return true;
}

// Encrypts or decrypts.
static bool crypt_body(struct stun_crypto *c, const struct ticket_keys *k,
	const uint8_t tag[TAG_LEN], uint8_t body[BODY_LEN])
{
	uint8_t stream[32];

	if (!stun_hmac_sha256(c, k->seal, sizeof(k->seal), tag, TAG_LEN, stream))
		return false;
	for (size_t i = 0; i < BODY_LEN; i++)
		body[i] ^= stream[i];
	return true;
}

bool ticket_seal(struct stun_crypto *c, const struct ticket_keys *k, const struct ticket *t,
	uint8_t out[TICKET_LEN])
{
	uint8_t raw[TAG_LEN + BODY_LEN], *body = raw + TAG_LEN;

	store_be32(body, (uint32_t)(t->handle >> 32));
	store_be32(body + 4, (uint32_t)t->handle);
	store_be32(body + 8, t->serial);
	if (!tag_make(c, k, body, raw) || !crypt_body(c, k, raw, body))
		return false;
	base64_encode(raw, sizeof(raw), out);
	return true;
}

static bool decode_text(const uint8_t text[TICKET_LEN], uint8_t raw[TAG_LEN + BODY_LEN])
{
	for (size_t i = 0; i < TICKET_LEN / 4; i++) {
		uint32_t acc = 0;

		for (size_t j = 0; j < 4; j++) {
			const int value = base64_value(text[4 * i + j]);

			if (value < 0)
				return false;
			acc = acc << 6 | (uint32_t)value;
		}
		raw[3 * i] = (uint8_t)(acc >> 16);
		raw[3 * i + 1] = (uint8_t)(acc >> 8);
		raw[3 * i + 2] = (uint8_t)acc;
	}
	return true;
}

bool ticket_open(struct stun_crypto *c, const struct ticket_keys *k, const uint8_t text[TICKET_LEN],
	struct ticket *out)
{
	uint8_t raw[TAG_LEN + BODY_LEN], *body = raw + TAG_LEN, tag[TAG_LEN];

	if (!decode_text(text, raw) || !crypt_body(c, k, raw, body) || !tag_make(c, k, body, tag) ||
		!stun_equal(tag, raw, TAG_LEN))
		return false;
	out->handle = (uint64_t)load_be32(body) << 32 | load_be32(body + 4);
	out->serial = load_be32(body + 8);
	return true;
}
