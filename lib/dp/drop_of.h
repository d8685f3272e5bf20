// SPDX-License-Identifier: BSD-3-Clause
// Drop reasons as the files of lib/dp return them: those of lib/net and lib/turn in the numbering
// of dp.h.
#pragma once

#include "dp.h"
#include "net.h"

#define DP_OK DP_DROP_END // returned in place of a reason: no reason to drop

static inline unsigned int drop_of_net(enum net_drop r)
{
	return DP_DROP_NET + (unsigned int)r - 1;
}

static inline unsigned int drop_of_turn(unsigned int r)
{
	return DP_DROP_TURN + r - 1;
}
