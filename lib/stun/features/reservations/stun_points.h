// SPDX-License-Identifier: BSD-3-Clause
// What reservations add to lib/stun (lib/features/meson.build).
#pragma once

#define RESERVATIONS_MORE_ATTRIBUTES(X) X(STUN_RESERVATION_TOKEN, 0x0022)
