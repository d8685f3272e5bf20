// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/stun for reservations (lib/features/meson.build).
#pragma once

#define RESERVATIONS_MORE_ATTRIBUTES(X) X(STUN_RESERVATION_TOKEN, 0x0022)
