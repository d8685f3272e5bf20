// SPDX-License-Identifier: BSD-3-Clause
// The stateless nonce: the server's state of a challenge is signed and left with the client. So
// clients cannot use up memory by asking for nonces.
#include "auth/nonce.h"
#include "auth/policy.h"
#include "text/base64.h"

#define COOKIE_LEN 13 // "obMatJos2" and 4 characters of features (RFC 8489 9.2)
#define STAMP_LEN 4
#define MAC_LEN 10
#define PORT_LEN 2
#define TEXT_LEN (STAMP_LEN + 16 + PORT_LEN) // stamp, address, port
#define BODY_LEN (STAMP_LEN + MAC_LEN)
#define STAMP_CHARS 6 // base64 characters that cover the stamp and the first 4 bits of the MAC
#define PORT_CHARS 3 // base64 characters that cover the last 16 bits of the MAC
#define AHEAD_S 5 // tolerated advance of another server's clock in the fleet

_Static_assert(NONCE_LEN == COOKIE_LEN + (BODY_LEN * 8 + 5) / 6, "cookie, stamp and MAC");

// RFC 8489 18.1: bit 0 (password algorithms) is the most significant of 24, bit 1 is username
// anonymity. Bit 1 obliges clients to send USERHASH (9.2.5), which does not reveal a REST name; and
// the key of an access token is identified by USERNAME. So if any realm has REST secrets or token
// keys, the bit is not set, and a nonce is valid in all realms. USERHASH is still understood.
static const char *cookie_of(const struct turn_policy *p)
{
	return p->needs_names ? "obMatJos2gAAA" : "obMatJos2wAAA";
}

static bool stamp_read(const uint8_t *nonce, uint32_t *stamp)
{
	uint64_t acc = 0;

	for (size_t i = 0; i < STAMP_CHARS; i++) {
		const int v = base64_value(nonce[COOKIE_LEN + i]);

		if (v < 0)
			return false;
		acc = acc << 6 | (uint64_t)v;
	}
	*stamp = (uint32_t)(acc >> (STAMP_CHARS * 6 - STAMP_LEN * 8));
	return true;
}

// RFC 8489 9.2.4: two source addresses or ports never get the same nonce.
static bool nonce_stamped(const struct turn_policy *p, struct stun_crypto *c,
	const struct nonce_client *client, uint32_t stamp, uint8_t out[NONCE_LEN])
{
	uint8_t text[TEXT_LEN + 1] = {0}, mac[32], body[BODY_LEN];
	uint8_t *const port =
		client->stream ? mac + MAC_LEN - PORT_LEN : text + TEXT_LEN - PORT_LEN;

	store_be32(text, stamp);
	memcpy(text + STAMP_LEN, client->endpoint.addr.b, 16);
	if (!client->stream)
		store_be16(port, client->endpoint.port);
	if (!stun_hmac_sha256(
		    c, p->nonce_key, sizeof(p->nonce_key), text, TEXT_LEN + client->stream, mac))
		return false;
	if (client->stream)
		store_be16(port, (uint16_t)(load_be16(port) + client->endpoint.port));
	memcpy(body, text, STAMP_LEN);
	memcpy(body + STAMP_LEN, mac, MAC_LEN);
	memcpy(out, cookie_of(p), COOKIE_LEN);
	base64_encode(body, sizeof(body), out + COOKIE_LEN);
	return true;
}

bool nonce_make(const struct turn_policy *p, struct stun_crypto *c,
	const struct nonce_client *client, uint64_t wall_s, uint8_t out[NONCE_LEN])
{
	return nonce_stamped(p, c, client, (uint32_t)wall_s, out);
}

enum nonce_state nonce_check(const struct turn_policy *p, struct stun_crypto *c,
	const struct nonce_client *client, uint64_t wall_s, const uint8_t nonce[NONCE_LEN])
{
	const size_t len = NONCE_LEN - (client->stream && client->any_port ? PORT_CHARS : 0);
	uint8_t expected[NONCE_LEN];
	uint32_t stamp;

	// The whole nonce is compared, except a port that does not matter, so the feature bits are
	// signed as well. A nonce whose bits were changed on the path (RFC 8489 9.2.1) is not ours.
	if (!stamp_read(nonce, &stamp) || !nonce_stamped(p, c, client, stamp, expected) ||
		!stun_equal(expected, nonce, len))
		return NONCE_FOREIGN;
	// A stamp from beyond AHEAD_S gives almost 2^32.
	return (uint32_t)wall_s + AHEAD_S - stamp <= p->nonce_lifetime_s + AHEAD_S ? NONCE_VALID
										   : NONCE_STALE;
}
