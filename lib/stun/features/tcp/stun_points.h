// SPDX-License-Identifier: BSD-3-Clause
// What TCP to peers (RFC 6062) adds to lib/stun (lib/features/meson.build).
#pragma once

#define TCP_MORE_ATTRIBUTES(X) X(STUN_CONNECTION_ID, 0x002A)
