// SPDX-License-Identifier: BSD-3-Clause
// What further realms add to lib/stun (lib/features/meson.build).
#pragma once

#define REALMS_MORE_ATTRIBUTES(X) X(STUN_ORIGIN, 0x802F)
