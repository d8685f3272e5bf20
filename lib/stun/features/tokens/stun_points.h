// SPDX-License-Identifier: BSD-3-Clause
// What access tokens (RFC 7635) add to lib/stun (lib/features/meson.build).
#pragma once

#define TOKENS_MORE_ATTRIBUTES(X)    \
	X(STUN_ACCESS_TOKEN, 0x001B) \
	X(STUN_THIRD_PARTY_AUTHORIZATION, 0x802E)
