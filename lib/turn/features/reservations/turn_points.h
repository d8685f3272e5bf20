// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for reservations (lib/features/meson.build).
#pragma once

#include "features/reservations/reservation.h"
#include "features/reservations/reserve.h"

// Requests without these attributes need no function call.
#define RESERVE_HAS_TOKEN(r) stun_has(&(r)->m, STUN_RESERVATION_TOKEN)
#define RESERVE_WANTED(r) (RESERVE_HAS_TOKEN(r) ? reserve_wanted(r) : TURN_GRANTED)
#define RESERVE_MADE(r, slot) (stun_has(&(r)->m, STUN_EVEN_PORT) ? reserve_made(r, slot) : (void)0)
#define RESERVATIONS_ROUND(s) (void)0
#define RESERVATIONS_CHECK(s, taken) (void)0
#define RESERVE_PUT(r, slot) (cold_at((r)->s, slot)->has_token ? reserve_put(r, slot) : (void)0)

#define RESERVATIONS_PARTS(X)                                                      \
	X(struct reservations, reservations, reservations_size, reservations_init, \
		RESERVATIONS_ROUND, RESERVATIONS_CHECK)
#define RESERVATIONS_SLOTS(X) X(ALLOC_RESERVED, struct reserved, reserved, reservation_lapse)
#define RESERVATIONS_ALLOCATE(X) X(RESERVE_WANTED, RESERVE_MADE, RESERVE_PUT)
#define RESERVATIONS_PORTS(X) X(RESERVE_HAS_TOKEN, reserve_named, reserve_pair)
#define RESERVATIONS_RECORD_KINDS(X) X(STATE_RESERVATION, reservation_restore)
