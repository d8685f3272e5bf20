// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/stun for access tokens (RFC 7635) (lib/features/meson.build).
#pragma once

#define TOKENS_MORE_ATTRIBUTES(X)    \
	X(STUN_ACCESS_TOKEN, 0x001B) \
	X(STUN_THIRD_PARTY_AUTHORIZATION, 0x802E)
