// SPDX-License-Identifier: BSD-3-Clause
// Derives the key by HMAC-SHA256 over the purpose, the port's name and a block number, for each
// block of the key.
#include "steering/rss_secret.h"

#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define BLOCK 32 // bytes of a SHA-256 hash

_Static_assert(PORT_RSS_KEY_MAX % BLOCK == 0, "the key consists of whole blocks");

bool rss_secret_key(
	const uint8_t secret[RSS_SECRET_LEN], const char *port, uint8_t key[PORT_RSS_KEY_MAX])
{
	char text[320];

	for (unsigned int i = 0; i < PORT_RSS_KEY_MAX / BLOCK; i++) {
		const int len = snprintf(text, sizeof(text), "slipring rss %u %s", i, port);

		if (len < 0 || (size_t)len >= sizeof(text) ||
			HMAC(EVP_sha256(), secret, RSS_SECRET_LEN, (const uint8_t *)text,
				(size_t)len, key + (size_t)i * BLOCK, NULL) == NULL)
			return false;
	}
	return true;
}
