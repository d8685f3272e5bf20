// SPDX-License-Identifier: BSD-3-Clause
// SHA-256 of bytes, for libraries that may not use OpenSSL themselves.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SHA256_LEN 32

// The SHA-256 of len bytes. Any thread.
void digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_SHA256_LEN]);
