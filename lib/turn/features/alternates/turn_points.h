// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for the redirection of clients to other servers (lib/features/meson.build).
#pragma once

#include "features/alternates/alternates.h"

// A shard that sends no client away needs no function call.
#define ALTERNATES_REFUSE(r, is_named) \
	((r)->s->intake.alternates != NULL ? alternates_refuse(r, is_named) : TURN_GRANTED)

#define ALTERNATES_REFUSE_NEW(X) X(ALTERNATES_REFUSE, alternates_put)
