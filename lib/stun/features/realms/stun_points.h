// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/stun for more than one realm (lib/features/meson.build).
#pragma once

#define REALMS_MORE_ATTRIBUTES(X) X(STUN_ORIGIN, 0x802F)
