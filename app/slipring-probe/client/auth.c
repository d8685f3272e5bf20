// SPDX-License-Identifier: BSD-3-Clause
// Credentials: REST names, challenges, integrity.
#include "client/auth.h"

#include <inttypes.h>
#include <stdio.h>

#define REST_LIFETIME_S 3600

// RFC 8489 14.12: SHA-256, which takes no parameters.
static const uint8_t sha256[4] = {0, STUN_ALG_SHA256, 0, 0};

bool auth_init(
	struct auth *a, const char *user, const char *password, const char *secret, uint64_t now_s)
{
	*a = (struct auth){.crypto = stun_crypto_create(), .from_secret = secret != NULL};
	if (a->crypto == NULL)
		return false;
	if (secret != NULL) {
		snprintf(a->user, sizeof(a->user), "%" PRIu64 "%s%s", now_s + REST_LIFETIME_S,
			user != NULL ? ":" : "", user != NULL ? user : "");
		return stun_rest_password(a->crypto, secret, a->user, strlen(a->user), a->password);
	}
	snprintf(a->user, sizeof(a->user), "%s", user != NULL ? user : "");
	snprintf(a->password, sizeof(a->password), "%s", password != NULL ? password : "");
	return true;
}

void auth_free(struct auth *a)
{
	stun_crypto_free(a->crypto);
	a->crypto = NULL;
}

// Finds out if the server wants SHA-256: its list has that and not MD5 (RFC 8489 14.11).
static bool wants_sha256(const uint8_t *list, size_t len)
{
	bool found = false;

	for (size_t pos = 0; pos + 4 <= len;) {
		if (load_be16(list + pos) == STUN_ALG_MD5)
			return false;
		found = found || load_be16(list + pos) == STUN_ALG_SHA256;
		pos += 4 + ((load_be16(list + pos + 2) + 3u) & ~3u);
	}
	return found;
}

static void keep_algorithms(struct auth *a, const struct stun_msg *m)
{
	const uint8_t *list = m->data + m->off[STUN_PASSWORD_ALGORITHMS];
	const uint16_t len = m->alen[STUN_PASSWORD_ALGORITHMS];

	a->algorithms_len = 0;
	a->alg = STUN_ALG_MD5;
	if (!stun_has(m, STUN_PASSWORD_ALGORITHMS) || len > sizeof(a->algorithms) ||
		!wants_sha256(list, len))
		return;
	memcpy(a->algorithms, list, len);
	a->algorithms_len = len;
	a->alg = STUN_ALG_SHA256;
}

enum fault auth_challenge(struct auth *a, const struct stun_msg *m)
{
	const uint16_t realm_len = m->alen[STUN_REALM], nonce_len = m->alen[STUN_NONCE];
	const char *realm = (const char *)m->data + m->off[STUN_REALM];
	struct stun_credential cred = {.user = a->user,
		.user_len = strlen(a->user),
		.realm = a->realm,
		.password = a->password,
		.password_len = strlen(a->password)};

	if (nonce_len == 0 || nonce_len > STUN_TEXT_MAX || realm_len > STUN_TEXT_MAX)
		return FAULT_BAD_ANSWER;
	if (realm_len == 0 && !a->challenged) // a 438 need not repeat it
		return FAULT_BAD_ANSWER;
	if (realm_len > 0) {
		if (memchr(realm, '\0', realm_len) != NULL)
			return FAULT_BAD_ANSWER;
		memcpy(a->realm, realm, realm_len);
		a->realm[realm_len] = '\0';
		keep_algorithms(a, m);
	}
	memcpy(a->nonce, m->data + m->off[STUN_NONCE], nonce_len);
	a->nonce_len = nonce_len;
	a->challenged = true;
	return stun_key_make(a->crypto, a->alg, &cred, &a->key) ? FAULT_NONE : FAULT_SYSTEM;
}

void auth_sign(const struct auth *a, struct stun_writer *w)
{
	if (!a->challenged)
		return;
	stun_put(w, STUN_USERNAME, a->user, strlen(a->user));
	stun_put(w, STUN_REALM, a->realm, strlen(a->realm));
	stun_put(w, STUN_NONCE, a->nonce, a->nonce_len);
	if (a->algorithms_len > 0) {
		stun_put(w, STUN_PASSWORD_ALGORITHMS, a->algorithms, a->algorithms_len);
		stun_put(w, STUN_PASSWORD_ALGORITHM, sha256, sizeof(sha256));
	}
	stun_put_integrity(w, a->crypto, a->alg, &a->key);
}

bool auth_verify(const struct auth *a, const struct stun_msg *m)
{
	if (m->cls == STUN_ERROR && !stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256) &&
		!stun_has(m, STUN_MESSAGE_INTEGRITY))
		return true;
	return stun_integrity_ok(a->crypto, m, &a->key);
}
