// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/mgmt for access tokens (RFC 7635) (lib/features/meson.build).
#pragma once

#define TOKENS_NUMBERS(X) X("token_keys", first.oauth.nb_keys)
