// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for more than one realm (lib/features/meson.build).
#pragma once

#include "features/realms/realms.h"
#include "features/realms/tallies.h"

// With a single realm they need no function call.
#define REALMS_NB(p) ((p)->realms != NULL ? (p)->realms->nb : 0)
#define REALMS_NTH(p, i) ((p)->realms->list[i])
#define REALMS_NUMBERED(p, number) ((p)->realms == NULL ? (p) : (p)->realms->by_number[number])
#define REALMS_CHOOSE(r) ((r)->s->policy->realms != NULL ? realms_choose(r) : (r)->policy)

#define REALMS_POLICY_LAST(X) X(struct realms *, realms, realms_make, realms_move, realms_free)
#define REALMS_REALMS(X) X(REALMS_NB, REALMS_NTH, REALMS_NUMBERED, realms_serves, REALMS_CHOOSE)
#define REALMS_TALLIES(X) X(TALLIES_OF)
