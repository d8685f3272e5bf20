// SPDX-License-Identifier: BSD-3-Clause
// The long-term credentials of clients (RFC 8489 9.2.3, 9.2.5): user names and keys, the contents
// of a challenge, and the check that an answer came from the server.
#include "client/auth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/population.h"

#define DAY_S 86400
#define REST_PASSWORD_SIZE 29

// RFC 8489 14.12: SHA-256, which takes no parameters.
static const uint8_t algorithm_sha256[4] = {0, STUN_ALG_SHA256, 0, 0};

bool auth_init(struct clients *p, uint64_t wall_s)
{
	const struct config *c = p->config;
	const uint64_t expiry_s = wall_s + DAY_S + c->lifetime_s;
	const size_t n = p->count > 0 ? p->count : 1;

	if (c->secret[0] != '\0')
		snprintf(p->name, sizeof(p->name), "%" PRIu64 "%s%s", expiry_s,
			c->user[0] != '\0' || c->user_per_client ? ":" : "", c->user);
	else
		snprintf(p->name, sizeof(p->name), "%s", c->user);
	p->named = p->name[0] != '\0' || c->user_per_client;
	p->alg = c->integrity == INTEGRITY_SHA256 ? STUN_ALG_SHA256 : STUN_ALG_MD5;
	p->nonce_slot = NONCE_SLOT_MIN;
	p->nonces = calloc(n, NONCE_SLOT_MAX);
	if (c->user_per_client)
		p->keys = calloc(n, sizeof(*p->keys));
	return p->nonces != NULL && (!c->user_per_client || p->keys != NULL);
}

void auth_free(struct clients *p)
{
	free(p->nonces);
	free(p->keys);
}

// Writes the USERNAME of client i to name; returns its length.
static size_t name_of(const struct clients *p, uint32_t i, char name[NAME_SIZE + 16])
{
	int len;

	if (p->config->user_per_client)
		len = snprintf(name, NAME_SIZE + 16, "%s%" PRIu32, p->name, client_number(p, i));
	else
		len = snprintf(name, NAME_SIZE + 16, "%s", p->name);
	return (size_t)len;
}

// Makes and stores the key of client i: one key for the population, or one for each client.
static bool key_of(const struct clients *p, uint32_t i, struct stun_key *key)
{
	if (p->keys == NULL) {
		*key = p->key;
		return key->len > 0;
	}
	key->len = p->alg == STUN_ALG_SHA256 ? 32 : 16;
	memcpy(key->bytes, p->keys[i], STUN_KEY_MAX);
	return p->client[i].keyed;
}

static bool key_make(struct clients *p, uint32_t i)
{
	char name[NAME_SIZE + 16], rest[REST_PASSWORD_SIZE];
	struct stun_credential cred = {
		.user = name, .realm = p->realm, .password = p->config->password};
	struct stun_key key;

	if (key_of(p, i, &key))
		return true;
	cred.user_len = name_of(p, i, name);
	if (p->config->secret[0] != '\0') {
		if (!stun_rest_password(p->crypto, p->config->secret, name, cred.user_len, rest))
			return false;
		cred.password = rest;
	}
	cred.password_len = strlen(cred.password);
	if (!stun_key_make(p->crypto, p->alg, &cred, &key))
		return false;
	if (p->keys == NULL) {
		p->key = key;
	} else {
		memcpy(p->keys[i], key.bytes, STUN_KEY_MAX);
		p->client[i].keyed = true;
	}
	return true;
}

bool auth_ready(const struct clients *p, uint32_t i)
{
	return p->client[i].nonce_len > 0;
}

// --- challenges ----------------------------------------------------------------------------------

// Makes every slot at least len bytes wide. Goes from the last to the first, because a slot only
// ever moves towards the end.
static void nonces_widen(struct clients *p, size_t len)
{
	size_t slot = p->nonce_slot;

	while (slot < len)
		slot *= 2;
	if (slot > NONCE_SLOT_MAX)
		slot = NONCE_SLOT_MAX;
	if (slot == p->nonce_slot)
		return;
	for (size_t i = p->count; i-- > 0;)
		memmove(p->nonces + i * slot, p->nonces + i * p->nonce_slot,
			p->client[i].nonce_len);
	p->nonce_slot = slot;
}

static void nonce_keep(struct clients *p, uint32_t i, const void *nonce, uint16_t len)
{
	nonces_widen(p, len);
	memcpy(p->nonces + i * p->nonce_slot, nonce, len);
	p->client[i].nonce_len = len;
}

// True if PASSWORD-ALGORITHMS offers SHA-256. An entry is a number, the length of its parameters,
// and the parameters padded to 4 bytes (RFC 8489 14.11).
static bool list_has_sha256(const uint8_t *list, size_t len)
{
	size_t pos = 0;

	while (pos + 4 <= len) {
		if (memcmp(list + pos, algorithm_sha256, 4) == 0)
			return true;
		pos += 4 + ((load_be16(list + pos + 2) + 3u) & ~3u);
	}
	return false;
}

// True if REALM and NONCE can be used: at most 763 bytes each (RFC 8489 14.9 and 14.10). A NUL
// inside a realm is refused, since client and server might make different keys of it.
static bool texts_ok(const struct clients *p, const struct stun_msg *m, unsigned int code)
{
	const char *realm = (const char *)m->data + m->off[STUN_REALM];
	const size_t len = m->alen[STUN_REALM];

	if (m->alen[STUN_NONCE] == 0 || m->alen[STUN_NONCE] > STUN_TEXT_MAX)
		return false;
	if (!stun_has(m, STUN_REALM)) // servers of RFC 5389 need not repeat it in a 438
		return code == 438 && p->realm_len > 0;
	return len > 0 && len <= STUN_TEXT_MAX && memchr(realm, '\0', len) == NULL;
}

// Checks PASSWORD-ALGORITHMS, for clients that use SHA-256. Once known, the list must not change:
// a server compares the list that clients send back with the one it has sent.
static enum client_fault list_check(
	const struct clients *p, const struct stun_msg *m, unsigned int code)
{
	const uint8_t *list = m->data + m->off[STUN_PASSWORD_ALGORITHMS];
	const size_t len = m->alen[STUN_PASSWORD_ALGORITHMS];

	if (p->alg != STUN_ALG_SHA256)
		return CLIENT_NB_FAULTS;
	if (!stun_has(m, STUN_PASSWORD_ALGORITHMS) && code == 438 && p->algorithms_len > 0)
		return CLIENT_NB_FAULTS;
	if (!stun_has(m, STUN_PASSWORD_ALGORITHMS) || !list_has_sha256(list, len))
		return CLIENT_FAULT_NO_SHA256;
	if (len > ALGORITHMS_MAX)
		return CLIENT_FAULT_BAD_ANSWER;
	if (p->algorithms_len > 0 &&
		(p->algorithms_len != len || memcmp(p->algorithms, list, len) != 0))
		return CLIENT_FAULT_REALM;
	return CLIENT_NB_FAULTS;
}

// Stores the contents of the first challenge: realm and algorithms hold for all clients.
static void server_keep(struct clients *p, const struct stun_msg *m)
{
	if (p->realm_len == 0) {
		p->realm_len = m->alen[STUN_REALM];
		memcpy(p->realm, m->data + m->off[STUN_REALM], p->realm_len);
	}
	if (p->alg == STUN_ALG_SHA256 && p->algorithms_len == 0) {
		p->algorithms_len = m->alen[STUN_PASSWORD_ALGORITHMS];
		memcpy(p->algorithms, m->data + m->off[STUN_PASSWORD_ALGORITHMS],
			p->algorithms_len);
	}
}

enum client_fault auth_challenge(
	struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code)
{
	enum client_fault fault;

	if (!texts_ok(p, m, code))
		return CLIENT_FAULT_BAD_ANSWER;
	if (p->realm_len > 0 && stun_has(m, STUN_REALM) &&
		(p->realm_len != m->alen[STUN_REALM] ||
			memcmp(p->realm, m->data + m->off[STUN_REALM], p->realm_len) != 0))
		return CLIENT_FAULT_REALM;
	fault = list_check(p, m, code);
	if (fault != CLIENT_NB_FAULTS)
		return fault;
	server_keep(p, m);
	if (!key_make(p, i))
		return CLIENT_FAULT_REQUEST;
	nonce_keep(p, i, m->data + m->off[STUN_NONCE], m->alen[STUN_NONCE]);
	return CLIENT_NB_FAULTS;
}

// --- signing and verifying -----------------------------------------------------------------------

void auth_sign(struct clients *p, uint32_t i, struct stun_writer *w)
{
	char name[NAME_SIZE + 16];
	struct stun_key key;

	stun_put(w, STUN_USERNAME, name, name_of(p, i, name));
	stun_put(w, STUN_REALM, p->realm, p->realm_len);
	stun_put(w, STUN_NONCE, p->nonces + i * p->nonce_slot, p->client[i].nonce_len);
	if (p->alg == STUN_ALG_SHA256) {
		stun_put(w, STUN_PASSWORD_ALGORITHMS, p->algorithms, p->algorithms_len);
		stun_put(w, STUN_PASSWORD_ALGORITHM, algorithm_sha256, sizeof(algorithm_sha256));
	}
	key_of(p, i, &key);
	stun_put_integrity(w, p->crypto, p->alg, &key);
}

bool auth_verify(const struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code)
{
	const bool sha256 = stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256);
	struct stun_key key;

	// A server may sign 401 and 438 with the previous key or nonce (RFC 8489 9.2.4). These
	// answers prove nothing, and at worst they make the client ask once more.
	if (p->client[i].bare || code == 401 || code == 438)
		return true;
	if (m->cls == STUN_ERROR && !sha256 && !stun_has(m, STUN_MESSAGE_INTEGRITY))
		return true;
	// RFC 8489 9.2.4: the answer to a request with PASSWORD-ALGORITHM has SHA-256
	if (p->alg == STUN_ALG_SHA256 && !sha256)
		return false;
	key_of(p, i, &key);
	return stun_integrity_ok(p->crypto, m, &key);
}
