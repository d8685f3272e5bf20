// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 of bytes.
#include <openssl/sha.h>

#include "digest.h"

void digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256_LEN])
{
	SHA256(data, len, out);
}
