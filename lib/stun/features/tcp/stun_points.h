// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/stun for TCP to peers (RFC 6062) (lib/features/meson.build).
#pragma once

#define TCP_MORE_ATTRIBUTES(X) X(STUN_CONNECTION_ID, 0x002A)
