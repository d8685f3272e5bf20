// SPDX-License-Identifier: BSD-3-Clause
// auth/origin.c: web origins (RFC 6454) in the one form in which they compare. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TURN_ORIGIN_MAX 255 // bytes of an origin; a longer one is nobody's

// Writes the form in which an origin of len bytes compares to out, with a NUL: scheme and host in
// lower case, and the port only if it is not the usual one of http or https. A path behind it is
// left out. False when it is none, or too long. Any bytes may be in text. Any thread.
bool turn_origin_canonical(const void *text, size_t len, char out[TURN_ORIGIN_MAX + 1]);
