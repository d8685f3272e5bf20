// SPDX-License-Identifier: BSD-3-Clause
// What access tokens (RFC 7635) add to lib/mgmt (lib/features/meson.build).
#pragma once

#define TOKENS_NUMBERS(X) X("token_keys", first.oauth.nb_keys)
