// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for mobility (lib/features/meson.build).
#pragma once

#include "features/mobility/mobile.h"
#include "features/mobility/move.h"
#include "features/mobility/ticket.h"

// Requests without a ticket, and shards without mobility, need no function call.
#define MOVE_HAS_TICKET(r) stun_has(&(r)->m, STUN_MOBILITY_TICKET)
#define MOVE_IS_NAMED(r) ((r)->m.method == STUN_REFRESH && MOVE_HAS_TICKET(r))
#define MOVE_WANTED(r) (MOVE_HAS_TICKET(r) ? move_wanted(r) : TURN_GRANTED)
#define MOVE_MADE(r, slot) (MOVE_HAS_TICKET(r) ? move_made(r, slot) : (void)0)
#define MOVE_PUT_TICKET(r, slot) ((r)->s->mobile != NULL ? move_put_ticket(r, slot) : (void)0)
#define MOVE_BEGIN(r, ends) ((r)->move.ticket != 0 ? move_begin(r, ends) : TURN_GRANTED)
#define MOBILE_USED(s, slot, v) ((s)->mobile != NULL ? mobile_used(s, slot, v) : (void)0)
#define MOBILE_COUNT(s, slot, ref) ((s)->mobile != NULL ? mobile_count(s, slot, ref) : (void)0)
#define MOBILE_END(s, slot) ((s)->mobile != NULL ? mobile_end(s, slot) : (void)0)

#define MOBILITY_POLICY_KEYS(X) X(struct ticket_keys, ticket, ticket_keys_make)
#define MOBILITY_POLICY_VALUES(X) X(uint32_t, grace_s, mobility.grace_s)
#define MOBILITY_ARRAYS(X) X(struct mobile, mobile, mobility.enabled)
#define MOBILITY_REDIRECTS(X) X(REDIRECT_MOVES, mobility.enabled, mobility.moves)
#define MOBILITY_LINES(X) X(ALLOC_PATH, mobile_path_slot, mobile_path_due)
#define MOBILITY_REQUEST(X) X(struct move_ask, move)
#define MOBILITY_ALLOCATE(X) X(MOVE_WANTED, MOVE_MADE, MOVE_PUT_TICKET)
#define MOBILITY_NAMED(X) X(MOVE_IS_NAMED, move_find, MOVE_BEGIN)
#define MOBILITY_TUPLES(X) X(mobile_moves, mobile_leave, MOBILE_USED)
#define MOBILITY_ALLOCATIONS(X) X(mobile_grace, MOBILE_COUNT, MOBILE_END, mobile_is_away)
#define MOBILITY_CONNECTIONS(X) X(mobile_lost, mobile_path_lost, mobile_path_left)
#define MOBILITY_RECORDS(X) X(mobile_write, mobile_count_record, mobile_restore)
