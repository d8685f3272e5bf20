// SPDX-License-Identifier: BSD-3-Clause
// Converts web origins (RFC 6454) to the canonical form that is compared. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define STUN_ORIGIN_MAX 255 // bytes of an origin; longer ones match no realm

// Writes the canonical form of an origin of len bytes to out, NUL-terminated: scheme and host in
// lower case, and the port only if it is not the default of http or https. A path is left out.
// False if text is malformed, or too long. text may have any bytes. Any thread.
bool stun_origin_canonical(const void *text, size_t len, char out[STUN_ORIGIN_MAX + 1]);
